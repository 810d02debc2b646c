// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @bitcast_convert(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi32> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.bitcast_convert %[[V1]] : (tensor<3x4xf32>) -> tensor<3x4xi32>
// CHECK: return %[[V2]] : tensor<3x4xi32>
func.func public @bitcast_convert(%0: tensor<3x4xf32>) -> (tensor<3x4xi32>) {
    %r = "stablehlo.bitcast_convert"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xi32>)
    return %r : tensor<3x4xi32>
}

// -----

// CHECK-LABEL: func.func public @bitcast_convert_from_integers(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi32>) -> tensor<3x4xf32> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.bitcast_convert %[[VARG0]] : (tensor<3x4xi32>) -> tensor<3x4xf32>
// CHECK: return %[[V0]] : tensor<3x4xf32>
func.func public @bitcast_convert_from_integers(%0: tensor<3x4xi32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.bitcast_convert"(%0) : (tensor<3x4xi32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @rng(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<4x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<4> : tensor<2xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.rng %[[V0]], %[[V1]], %[[VC]], distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x4xf32>
// CHECK: return %[[V2]], %[[VCST]] : tensor<4x4xf32>, tensor<f32>
func.func public @rng(%0: tensor<f32>, %1: tensor<f32>) -> (tensor<4x4xf32>) {
    %2 = stablehlo.constant dense<4> : tensor<2xi64>
    %r = "stablehlo.rng"(%0, %1, %2) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> (tensor<4x4xf32>)
    return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func public @rng_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<f16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<4x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<4> : tensor<2xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<f16>) -> tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<f16>) -> tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V3]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.rng %[[V2]], %[[V4]], %[[VC]], distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<4x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<4x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.convert %[[V7]] : (tensor<4x4xf32>) -> tensor<4x4xf16>
// CHECK: return %[[V8]], %[[V0]] : tensor<4x4xf16>, tensor<f32>
func.func public @rng_f16(%0: tensor<f16>, %1: tensor<f16>) -> (tensor<4x4xf16>) {
    %2 = stablehlo.constant dense<4> : tensor<2xi64>
    %r = "stablehlo.rng"(%0, %1, %2) {rng_distribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f16>, tensor<f16>, tensor<2xi64>) -> (tensor<4x4xf16>)
    return %r : tensor<4x4xf16>
}

// -----

// CHECK-LABEL: func.func public @rng_bit_generator(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>) {
// CHECK: %[[VOUTPUT_STATE:[A-Za-z_0-9]+]], %[[VOUTPUT:[A-Za-z_0-9]+]] = stablehlo.rng_bit_generator %[[VARG0]], algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
// CHECK: return %[[VOUTPUT_STATE]], %[[VOUTPUT]] : tensor<2xui64>, tensor<4xui32>
func.func public @rng_bit_generator(%0: tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>) {
    %r:2 = "stablehlo.rng_bit_generator"(%0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    return %r#0, %r#1 : tensor<2xui64>, tensor<4xui32>
}

// -----

// CHECK-LABEL: func.func public @rng_bit_generator_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>) {
// CHECK: %[[VOUTPUT_STATE:[A-Za-z_0-9]+]], %[[VOUTPUT:[A-Za-z_0-9]+]] = stablehlo.rng_bit_generator %[[VARG0]], algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
// CHECK: return %[[VOUTPUT_STATE]], %[[VOUTPUT]] : tensor<2xui64>, tensor<4xui32>
func.func public @rng_bit_generator_f16(%0: tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>) {
    %r:2 = "stablehlo.rng_bit_generator"(%0) {rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>} : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    return %r#0, %r#1 : tensor<2xui64>, tensor<4xui32>
}
