// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @add(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.add %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @add(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.add"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @add_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.add %[[V5]], %[[V10]] : tensor<3x4xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @add_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.add"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @add_of_a_constant(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<7.500000e-01> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.add %[[V2]], %[[VCST_0]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.divide %[[V3]], %[[V4]] : tensor<3x4xf32>
// CHECK: return %[[V5]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @add_of_a_constant(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<0.75> : tensor<3x4xf32>
    %r = "stablehlo.add"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @add_of_a_constant_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<7.500000e-01> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST_0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_1]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.add %[[V5]], %[[V10]] : tensor<3x4xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @add_of_a_constant_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<0.75> : tensor<3x4xf16>
    %r = "stablehlo.add"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @add_of_a_guard(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<9.765625E-4> : tensor<3x4xf32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<9.765625E-4> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST_0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.add %[[V2]], %[[VCST]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.divide %[[V3]], %[[V4]] : tensor<3x4xf32>
// CHECK: return %[[V5]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @add_of_a_guard(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<9.765625E-4> : tensor<3x4xf32>
    %r = "stablehlo.add"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @add_of_a_guard_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<9.765625E-4> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST_0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_1]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V7]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V8]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.add %[[V5]], %[[V11]] : tensor<3x4xf16>
// CHECK: return %[[V12]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @add_of_a_guard_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<9.765625E-4> : tensor<3x4xf16>
    %r = "stablehlo.add"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @add_of_a_large_constant(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+03> : tensor<3x4xf32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.120000e+02> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST_0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.add %[[V2]], %[[VCST]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.divide %[[V3]], %[[V4]] : tensor<3x4xf32>
// CHECK: return %[[V5]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @add_of_a_large_constant(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<1000.0> : tensor<3x4xf32>
    %r = "stablehlo.add"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @add_of_a_large_constant_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.024000e+03> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<9.765620e-01> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST_0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_1]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V7]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V8]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.add %[[V5]], %[[V11]] : tensor<3x4xf16>
// CHECK: return %[[V12]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @add_of_a_large_constant_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<1000.0> : tensor<3x4xf16>
    %r = "stablehlo.add"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @add_of_complex_numbers(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.complex %[[V3]], %[[V6]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.add %[[V7]], %[[V7]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.real %[[V8]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: return %[[V9]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @add_of_complex_numbers(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
%z = stablehlo.complex %0, %1 : tensor<3x4xcomplex<f32>> %w = stablehlo.add %z, %z : tensor<3x4xcomplex<f32>> %r = stablehlo.real %w : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32> return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @add_of_itself(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG0]], %[[VARG0]] : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @add_of_itself(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
%r = stablehlo.add %0, %0 : tensor<3x4xf32> return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @add_of_itself_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG0]], %[[VARG0]] : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
func.func public @add_of_itself_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
%r = stablehlo.add %0, %0 : tensor<3x4xf16> return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @remainder(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.remainder %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @remainder(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.remainder"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @remainder_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.minimum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.remainder %[[V5]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.divide %[[V1]], %[[V0]] : tensor<f32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V11]], %[[VCST]] : tensor<f32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V12]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.divide %[[V10]], %[[V13]] : tensor<3x4xf32>
// CHECK: %[[V15:[A-Za-z_0-9]+]] = stablehlo.convert %[[V14]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: return %[[V15]], %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @remainder_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.remainder"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @subtract(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.subtract %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @subtract(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.subtract"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @subtract_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.subtract %[[V5]], %[[V10]] : tensor<3x4xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @subtract_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.subtract"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @subtract_from_one(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.subtract %[[VCST_0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.divide %[[V3]], %[[V4]] : tensor<3x4xf32>
// CHECK: return %[[V5]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @subtract_from_one(%1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %0 = stablehlo.constant dense<1.0> : tensor<3x4xf32>
    %r = "stablehlo.subtract"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @subtract_from_one_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.subtract %[[V5]], %[[V10]] : tensor<3x4xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @subtract_from_one_f16(%1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %0 = stablehlo.constant dense<1.0> : tensor<3x4xf16>
    %r = "stablehlo.subtract"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}
