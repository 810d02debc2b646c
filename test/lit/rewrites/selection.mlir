// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @clamp(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG5]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG5]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG4]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.clamp %[[V2]], %[[V4]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.divide %[[V7]], %[[V8]] : tensor<3x4xf32>
// CHECK: return %[[V9]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @clamp(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>, %2: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.clamp"(%0, %1, %2) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @clamp_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG5]] : tensor<f32>
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
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG4]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG5]], %[[V0]] : tensor<f32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V12]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V11]], %[[V13]] : tensor<3x4xf32>
// CHECK: %[[V15:[A-Za-z_0-9]+]] = stablehlo.convert %[[V14]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V16:[A-Za-z_0-9]+]] = stablehlo.clamp %[[V5]], %[[V10]], %[[V15]] : tensor<3x4xf16>
// CHECK: return %[[V16]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @clamp_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>, %2: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.clamp"(%0, %1, %2) : (tensor<3x4xf16>, tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @clamp_between_constants(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<3x4xf32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<-5.000000e-01> : tensor<3x4xf32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.minimum %[[VCST_1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.clamp %[[VCST_0]], %[[V2]], %[[VCST]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.divide %[[V3]], %[[V4]] : tensor<3x4xf32>
// CHECK: return %[[V5]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @clamp_between_constants(%1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %0 = stablehlo.constant dense<-0.5> : tensor<3x4xf32>
    %2 = stablehlo.constant dense<0.5> : tensor<3x4xf32>
    %r = "stablehlo.clamp"(%0, %1, %2) : (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @clamp_between_constants_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<3x4xf16>
// CHECK: %[[VCST_2:[A-Za-z_0-9]+]] = stablehlo.constant dense<-1.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.minimum %[[VCST_0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[V5]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V8]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V7]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_1]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V12]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.convert %[[V13]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V15:[A-Za-z_0-9]+]] = stablehlo.clamp %[[V6]], %[[V11]], %[[V14]] : tensor<3x4xf16>
// CHECK: return %[[V15]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @clamp_between_constants_f16(%1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %0 = stablehlo.constant dense<-0.5> : tensor<3x4xf16>
    %2 = stablehlo.constant dense<0.5> : tensor<3x4xf16>
    %r = "stablehlo.clamp"(%0, %1, %2) : (tensor<3x4xf16>, tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @clamp_between_scalars(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "data"}, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG5]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG4]], %[[VARG5]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.clamp %[[V1]], %[[V3]], %[[V4]] : (tensor<f32>, tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @clamp_between_scalars(%0: tensor<f32>, %1: tensor<3x4xf32>, %2: tensor<f32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.clamp"(%0, %1, %2) : (tensor<f32>, tensor<3x4xf32>, tensor<f32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @clamp_between_scalars_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<f16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f16> {scalify.role = "data"}, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG5]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<f16>) -> tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V2]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.convert %[[V3]] : (tensor<f32>) -> tensor<f16>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V6]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.convert %[[V8]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG4]] : (tensor<f16>) -> tensor<f32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG5]], %[[V0]] : tensor<f32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V10]], %[[V11]] : tensor<f32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.convert %[[V12]] : (tensor<f32>) -> tensor<f16>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.clamp %[[V4]], %[[V9]], %[[V13]] : (tensor<f16>, tensor<3x4xf16>, tensor<f16>) -> tensor<3x4xf16>
// CHECK: return %[[V14]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @clamp_between_scalars_f16(%0: tensor<f16>, %1: tensor<3x4xf16>, %2: tensor<f16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.clamp"(%0, %1, %2) : (tensor<f16>, tensor<3x4xf16>, tensor<f16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @concatenate(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x3xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<1x3xf32> {scalify.role = "data"}, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<7x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VARG5]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<2x3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<2x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V4]] : tensor<4x3xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG5]], dims = [] : (tensor<f32>) -> tensor<1x3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG4]], %[[V6]] : tensor<1x3xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.concatenate %[[V3]], %[[V5]], %[[V7]], dim = 0 : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<7x3xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<7x3xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.divide %[[V8]], %[[V9]] : tensor<7x3xf32>
// CHECK: return %[[V10]], %[[V1]] : tensor<7x3xf32>, tensor<f32>
func.func public @concatenate(%0: tensor<2x3xf32>, %1: tensor<4x3xf32>, %2: tensor<1x3xf32>) -> (tensor<7x3xf32>) {
    %r = "stablehlo.concatenate"(%0, %1, %2) {dimension = 0 : i64} : (tensor<2x3xf32>, tensor<4x3xf32>, tensor<1x3xf32>) -> (tensor<7x3xf32>)
    return %r : tensor<7x3xf32>
}

// -----

// CHECK-LABEL: func.func public @concatenate_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x3xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<1x3xf16> {scalify.role = "data"}, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<7x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VARG5]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<2x3xf16>) -> tensor<2x3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V3]], dims = [] : (tensor<f32>) -> tensor<2x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V4]] : tensor<2x3xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[V5]] : (tensor<2x3xf32>) -> tensor<2x3xf16>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<4x3xf16>) -> tensor<4x3xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V1]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V8]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V7]], %[[V9]] : tensor<4x3xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<4x3xf32>) -> tensor<4x3xf16>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG4]] : (tensor<1x3xf16>) -> tensor<1x3xf32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG5]], %[[V1]] : tensor<f32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V13]], dims = [] : (tensor<f32>) -> tensor<1x3xf32>
// CHECK: %[[V15:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V12]], %[[V14]] : tensor<1x3xf32>
// CHECK: %[[V16:[A-Za-z_0-9]+]] = stablehlo.convert %[[V15]] : (tensor<1x3xf32>) -> tensor<1x3xf16>
// CHECK: %[[V17:[A-Za-z_0-9]+]] = stablehlo.concatenate %[[V6]], %[[V11]], %[[V16]], dim = 0 : (tensor<2x3xf16>, tensor<4x3xf16>, tensor<1x3xf16>) -> tensor<7x3xf16>
// CHECK: return %[[V17]], %[[V1]] : tensor<7x3xf16>, tensor<f32>
func.func public @concatenate_f16(%0: tensor<2x3xf16>, %1: tensor<4x3xf16>, %2: tensor<1x3xf16>) -> (tensor<7x3xf16>) {
    %r = "stablehlo.concatenate"(%0, %1, %2) {dimension = 0 : i64} : (tensor<2x3xf16>, tensor<4x3xf16>, tensor<1x3xf16>) -> (tensor<7x3xf16>)
    return %r : tensor<7x3xf16>
}

// -----

// CHECK-LABEL: func.func public @dynamic_pad(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<7xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<1xi64>
// CHECK: %[[VC_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<1xi64>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<1xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.dynamic_pad %[[V2]], %[[V3]], %[[VC]], %[[VC_0]], %[[VC_1]] : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<7xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<7xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[V4]], %[[V5]] : tensor<7xf32>
// CHECK: return %[[V6]], %[[V0]] : tensor<7xf32>, tensor<f32>
func.func public @dynamic_pad(%0: tensor<3xf32>, %1: tensor<f32>) -> (tensor<7xf32>) {
%low = stablehlo.constant dense<[1]> : tensor<1xi64>
%high = stablehlo.constant dense<[1]> : tensor<1xi64>
%interior = stablehlo.constant dense<[1]> : tensor<1xi64>

    %r = stablehlo.dynamic_pad %0, %1, %low, %high, %interior
      : (tensor<3xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<7xf32>
    return %r : tensor<7xf32>
}

// -----

// CHECK-LABEL: func.func public @dynamic_pad_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<7xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<1xi64>
// CHECK: %[[VC_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<1xi64>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<1xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3xf16>) -> tensor<3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3xf32>) -> tensor<3xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<f16>) -> tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V7]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.convert %[[V8]] : (tensor<f32>) -> tensor<f16>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.dynamic_pad %[[V5]], %[[V9]], %[[VC]], %[[VC_0]], %[[VC_1]] : (tensor<3xf16>, tensor<f16>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<7xf16>
// CHECK: return %[[V10]], %[[V0]] : tensor<7xf16>, tensor<f32>
func.func public @dynamic_pad_f16(%0: tensor<3xf16>, %1: tensor<f16>) -> (tensor<7xf16>) {
%low = stablehlo.constant dense<[1]> : tensor<1xi64>
%high = stablehlo.constant dense<[1]> : tensor<1xi64>
%interior = stablehlo.constant dense<[1]> : tensor<1xi64>

    %r = stablehlo.dynamic_pad %0, %1, %low, %high, %interior
      : (tensor<3xf16>, tensor<f16>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<7xf16>
    return %r : tensor<7xf16>
}

// -----

// CHECK-LABEL: func.func public @dynamic_update_slice(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x3xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<i32>, %[[VARG5:[A-Za-z_0-9]+]]: tensor<i32>) -> (tensor<4x6xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<4x6xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<4x6xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<2x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V3]] : tensor<2x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.dynamic_update_slice %[[V2]], %[[V4]], %[[VARG4]], %[[VARG5]] : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<4x6xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<4x6xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<4x6xf32>, tensor<f32>
func.func public @dynamic_update_slice(%0: tensor<4x6xf32>, %1: tensor<2x3xf32>, %2: tensor<i32>, %3: tensor<i32>) -> (tensor<4x6xf32>) {
    %r = "stablehlo.dynamic_update_slice"(%0, %1, %2, %3) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> (tensor<4x6xf32>)
    return %r : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: func.func public @dynamic_update_slice_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x3xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<i32>, %[[VARG5:[A-Za-z_0-9]+]]: tensor<i32>) -> (tensor<4x6xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<4x6xf16>) -> tensor<4x6xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<4x6xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<4x6xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<4x6xf32>) -> tensor<4x6xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<2x3xf16>) -> tensor<2x3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<2x3xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<2x3xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<2x3xf32>) -> tensor<2x3xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.dynamic_update_slice %[[V5]], %[[V10]], %[[VARG4]], %[[VARG5]] : (tensor<4x6xf16>, tensor<2x3xf16>, tensor<i32>, tensor<i32>) -> tensor<4x6xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<4x6xf16>, tensor<f32>
func.func public @dynamic_update_slice_f16(%0: tensor<4x6xf16>, %1: tensor<2x3xf16>, %2: tensor<i32>, %3: tensor<i32>) -> (tensor<4x6xf16>) {
    %r = "stablehlo.dynamic_update_slice"(%0, %1, %2, %3) : (tensor<4x6xf16>, tensor<2x3xf16>, tensor<i32>, tensor<i32>) -> (tensor<4x6xf16>)
    return %r : tensor<4x6xf16>
}

// -----

// CHECK-LABEL: func.func public @dynamic_update_slice_one_row(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<1x6xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<i32>) -> (tensor<4x6xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<4x6xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<4x6xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<1x6xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V3]] : tensor<1x6xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.dynamic_update_slice %[[V2]], %[[V4]], %[[VARG4]], %[[VC]] : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<4x6xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<4x6xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<4x6xf32>, tensor<f32>
func.func public @dynamic_update_slice_one_row(%0: tensor<4x6xf32>, %1: tensor<1x6xf32>, %2: tensor<i32>) -> (tensor<4x6xf32>) {
    %3 = stablehlo.constant dense<0> : tensor<i32>
    %r = "stablehlo.dynamic_update_slice"(%0, %1, %2, %3) : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> (tensor<4x6xf32>)
    return %r : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: func.func public @dynamic_update_slice_one_row_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<1x6xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<i32>) -> (tensor<4x6xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<4x6xf16>) -> tensor<4x6xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<4x6xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<4x6xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<4x6xf32>) -> tensor<4x6xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<1x6xf16>) -> tensor<1x6xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<1x6xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<1x6xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<1x6xf32>) -> tensor<1x6xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.dynamic_update_slice %[[V5]], %[[V10]], %[[VARG4]], %[[VC]] : (tensor<4x6xf16>, tensor<1x6xf16>, tensor<i32>, tensor<i32>) -> tensor<4x6xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<4x6xf16>, tensor<f32>
func.func public @dynamic_update_slice_one_row_f16(%0: tensor<4x6xf16>, %1: tensor<1x6xf16>, %2: tensor<i32>) -> (tensor<4x6xf16>) {
    %3 = stablehlo.constant dense<0> : tensor<i32>
    %r = "stablehlo.dynamic_update_slice"(%0, %1, %2, %3) : (tensor<4x6xf16>, tensor<1x6xf16>, tensor<i32>, tensor<i32>) -> (tensor<4x6xf16>)
    return %r : tensor<4x6xf16>
}

// -----

// CHECK-LABEL: func.func public @maximum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @maximum(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.maximum"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @maximum_f16(
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
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V5]], %[[V10]] : tensor<3x4xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @maximum_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.maximum"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @maximum_with_zero(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG0]], %[[VCST]] : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @maximum_with_zero(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<0.0> : tensor<3x4xf32>
    %r = "stablehlo.maximum"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @maximum_with_zero_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG0]], %[[VCST]] : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
func.func public @maximum_with_zero_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<0.0> : tensor<3x4xf16>
    %r = "stablehlo.maximum"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @minimum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.minimum %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @minimum(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.minimum"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @minimum_f16(
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
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.minimum %[[V5]], %[[V10]] : tensor<3x4xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @minimum_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.minimum"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @pad(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<6x6xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.pad %[[V2]], %[[V3]], low = [1, 0], high = [0, 2], interior = [1, 0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<6x6xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<6x6xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[V4]], %[[V5]] : tensor<6x6xf32>
// CHECK: return %[[V6]], %[[V0]] : tensor<6x6xf32>, tensor<f32>
func.func public @pad(%0: tensor<3x4xf32>, %1: tensor<f32>) -> (tensor<6x6xf32>) {
    %r = "stablehlo.pad"(%0, %1) {edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 0, 2>, interior_padding = array<i64: 1, 0>} : (tensor<3x4xf32>, tensor<f32>) -> (tensor<6x6xf32>)
    return %r : tensor<6x6xf32>
}

// -----

// CHECK-LABEL: func.func public @pad_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<6x6xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<f16>) -> tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V7]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.convert %[[V8]] : (tensor<f32>) -> tensor<f16>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.pad %[[V5]], %[[V9]], low = [1, 0], high = [0, 2], interior = [1, 0] : (tensor<3x4xf16>, tensor<f16>) -> tensor<6x6xf16>
// CHECK: return %[[V10]], %[[V0]] : tensor<6x6xf16>, tensor<f32>
func.func public @pad_f16(%0: tensor<3x4xf16>, %1: tensor<f16>) -> (tensor<6x6xf16>) {
    %r = "stablehlo.pad"(%0, %1) {edge_padding_low = array<i64: 1, 0>, edge_padding_high = array<i64: 0, 2>, interior_padding = array<i64: 1, 0>} : (tensor<3x4xf16>, tensor<f16>) -> (tensor<6x6xf16>)
    return %r : tensor<6x6xf16>
}

// -----

// CHECK-LABEL: func.func public @select(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG3]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.select %[[VARG0]], %[[V2]], %[[V4]] : tensor<3x4xi1>, tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @select(%0: tensor<3x4xi1>, %1: tensor<3x4xf32>, %2: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.select"(%0, %1, %2) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @select_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG1]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG2]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG3]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG4]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.select %[[VARG0]], %[[V5]], %[[V10]] : tensor<3x4xi1>, tensor<3x4xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @select_f16(%0: tensor<3x4xi1>, %1: tensor<3x4xf16>, %2: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.select"(%0, %1, %2) : (tensor<3x4xi1>, tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @select_by_a_scalar(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<i1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG3]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.select %[[VARG0]], %[[V2]], %[[V4]] : tensor<i1>, tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @select_by_a_scalar(%0: tensor<i1>, %1: tensor<3x4xf32>, %2: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.select"(%0, %1, %2) : (tensor<i1>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @select_by_a_scalar_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<i1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG1]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG2]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG3]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG4]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.select %[[VARG0]], %[[V5]], %[[V10]] : tensor<i1>, tensor<3x4xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @select_by_a_scalar_f16(%0: tensor<i1>, %1: tensor<3x4xf16>, %2: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.select"(%0, %1, %2) : (tensor<i1>, tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @select_of_a_constant(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<7.500000e-01> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST]], %[[VARG2]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.select %[[VARG0]], %[[V2]], %[[VCST_0]] : tensor<3x4xi1>, tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.divide %[[V3]], %[[V4]] : tensor<3x4xf32>
// CHECK: return %[[V5]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @select_of_a_constant(%0: tensor<3x4xi1>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %2 = stablehlo.constant dense<0.75> : tensor<3x4xf32>
    %r = "stablehlo.select"(%0, %1, %2) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @select_of_a_constant_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<7.500000e-01> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST_0]], %[[VARG2]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG1]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG2]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_1]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.select %[[VARG0]], %[[V5]], %[[V10]] : tensor<3x4xi1>, tensor<3x4xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @select_of_a_constant_f16(%0: tensor<3x4xi1>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %2 = stablehlo.constant dense<0.75> : tensor<3x4xf16>
    %r = "stablehlo.select"(%0, %1, %2) : (tensor<3x4xi1>, tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @select_of_a_mask(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<3.000000e+38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<-3.000000e+38> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
// CHECK: %[[VCST_2:[A-Za-z_0-9]+]] = stablehlo.constant dense<9.31322574E-10> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST_2]], %[[VARG2]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST_1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.clamp %[[VCST_0]], %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG2]], %[[V0]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.select %[[VARG0]], %[[V6]], %[[V3]] : tensor<3x4xi1>, tensor<3x4xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @select_of_a_mask(%0: tensor<3x4xi1>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %2 = stablehlo.constant dense<-1.0E+9> : tensor<3x4xf32>
    %r = "stablehlo.select"(%0, %1, %2) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @select_of_zero(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.select %[[VARG0]], %[[VARG1]], %[[VCST]] : tensor<3x4xi1>, tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG2]] : tensor<3x4xf32>, tensor<f32>
func.func public @select_of_zero(%0: tensor<3x4xi1>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %2 = stablehlo.constant dense<0.0> : tensor<3x4xf32>
    %r = "stablehlo.select"(%0, %1, %2) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @select_of_zero_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.select %[[VARG0]], %[[VARG1]], %[[VCST]] : tensor<3x4xi1>, tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG2]] : tensor<3x4xf16>, tensor<f32>
func.func public @select_of_zero_f16(%0: tensor<3x4xi1>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %2 = stablehlo.constant dense<0.0> : tensor<3x4xf16>
    %r = "stablehlo.select"(%0, %1, %2) : (tensor<3x4xi1>, tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}
