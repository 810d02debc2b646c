// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @chlo_broadcast_add(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.add %[[V3]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[V6]], %[[V7]] : tensor<3x4xf32>
// CHECK: return %[[V8]], %[[V1]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_add(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_add"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_add_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[V5]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V1]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V8]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V7]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.add %[[V6]], %[[V11]] : tensor<3x4xf16>
// CHECK: return %[[V12]], %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_add_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_add"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_atan2(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.atan2 %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: return %[[V5]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_atan2(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_atan2"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_atan2_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V1]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.atan2 %[[V5]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: return %[[V11]], %[[VCST]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_atan2_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_atan2"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_compare(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[V2]], %[[V4]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V5]] : tensor<3x4xi1>
func.func public @chlo_broadcast_compare(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xi1>) {
    %r = "chlo.broadcast_compare"(%0, %1) {comparison_direction = #chlo<comparison_direction GT>} : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_compare_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V1]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[V5]], %[[V9]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V10]] : tensor<3x4xi1>
func.func public @chlo_broadcast_compare_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xi1>) {
    %r = "chlo.broadcast_compare"(%0, %1) {comparison_direction = #chlo<comparison_direction GT>} : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_complex(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xcomplex<f32>> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V1]] : tensor<f32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V5]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.complex %[[V4]], %[[V7]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.real %[[V8]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.imag %[[V8]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V9]], %[[V11]] : tensor<3x4xf32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V10]], %[[V11]] : tensor<3x4xf32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.complex %[[V12]], %[[V13]] : tensor<3x4xcomplex<f32>>
// CHECK: return %[[V14]] : tensor<3x4xcomplex<f32>>
func.func public @chlo_broadcast_complex(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xcomplex<f32>>) {
    %r = "chlo.broadcast_complex"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xcomplex<f32>>)
    return %r : tensor<3x4xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_divide(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V2]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V3]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_divide(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_divide"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_divide_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG0]], %[[V0]] : tensor<3x4xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V2]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V3]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_divide_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_divide"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_maximum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V3]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[V6]], %[[V7]] : tensor<3x4xf32>
// CHECK: return %[[V8]], %[[V1]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_maximum(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_maximum"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_maximum_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[V5]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V1]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V8]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V7]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V6]], %[[V11]] : tensor<3x4xf16>
// CHECK: return %[[V12]], %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_maximum_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_maximum"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_minimum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.minimum %[[V3]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[V6]], %[[V7]] : tensor<3x4xf32>
// CHECK: return %[[V8]], %[[V1]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_minimum(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_minimum"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_minimum_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[V5]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V1]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V8]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V7]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.minimum %[[V6]], %[[V11]] : tensor<3x4xf16>
// CHECK: return %[[V12]], %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_minimum_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_minimum"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_multiply(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V2]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V3]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_multiply(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_multiply"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_multiply_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V2]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V3]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_multiply_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_multiply"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_multiply_by_a_scalar(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V2]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V3]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_multiply_by_a_scalar(%0: tensor<3x4xf32>, %1: tensor<f32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_multiply"(%0, %1) : (tensor<3x4xf32>, tensor<f32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_multiply_by_a_scalar_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [] : (tensor<f16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V2]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V3]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_multiply_by_a_scalar_f16(%0: tensor<3x4xf16>, %1: tensor<f16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_multiply"(%0, %1) : (tensor<3x4xf16>, tensor<f16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_next_after(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = chlo.next_after %[[V2]], %[[V4]] : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK: return %[[V5]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_next_after(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_next_after"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_next_after_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.convert %[[V3]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.convert %[[V7]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = chlo.next_after %[[V4]], %[[V8]] : tensor<3x4xf16>, tensor<3x4xf16> -> tensor<3x4xf16>
// CHECK: return %[[V9]], %[[VCST]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_next_after_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_next_after"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_polygamma(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = chlo.polygamma %[[V2]], %[[V4]] : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK: return %[[V5]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_polygamma(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_polygamma"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_polygamma_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V4]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = chlo.polygamma %[[V3]], %[[V6]] : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.convert %[[V7]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: return %[[V8]], %[[VCST]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_polygamma_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_polygamma"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_power(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.power %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: return %[[V5]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_power(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_power"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_power_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V4]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.power %[[V3]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.convert %[[V7]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: return %[[V8]], %[[VCST]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_power_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_power"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_remainder(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.remainder %[[V3]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[V6]], %[[V7]] : tensor<3x4xf32>
// CHECK: return %[[V8]], %[[V1]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_remainder(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_remainder"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_remainder_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.minimum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V3]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V1]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V8]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V7]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.remainder %[[V6]], %[[V10]] : tensor<3x4xf32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.divide %[[V2]], %[[V1]] : tensor<f32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V12]], %[[VCST]] : tensor<f32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V13]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V15:[A-Za-z_0-9]+]] = stablehlo.divide %[[V11]], %[[V14]] : tensor<3x4xf32>
// CHECK: %[[V16:[A-Za-z_0-9]+]] = stablehlo.convert %[[V15]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: return %[[V16]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_remainder_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_remainder"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_select(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG3]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.select %[[VARG0]], %[[V3]], %[[V5]] : tensor<3x4xi1>, tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[V6]], %[[V7]] : tensor<3x4xf32>
// CHECK: return %[[V8]], %[[V1]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_select(%0: tensor<3x4xi1>, %1: tensor<4xf32>, %2: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_select"(%0, %1, %2) : (tensor<3x4xi1>, tensor<4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_select_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG2]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[V5]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG3]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG4]], %[[V1]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V8]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V7]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.select %[[VARG0]], %[[V6]], %[[V11]] : tensor<3x4xi1>, tensor<3x4xf16>
// CHECK: return %[[V12]], %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_select_f16(%0: tensor<3x4xi1>, %1: tensor<4xf16>, %2: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_select"(%0, %1, %2) : (tensor<3x4xi1>, tensor<4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_subtract(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.subtract %[[V3]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[V6]], %[[V7]] : tensor<3x4xf32>
// CHECK: return %[[V8]], %[[V1]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_subtract(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_subtract"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_subtract_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[V5]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V1]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V8]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V7]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.subtract %[[V6]], %[[V11]] : tensor<3x4xf16>
// CHECK: return %[[V12]], %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_subtract_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_subtract"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_zeta(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = chlo.zeta %[[V2]], %[[V4]] : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK: return %[[V5]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_broadcast_zeta(%0: tensor<3x4xf32>, %1: tensor<4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.broadcast_zeta"(%0, %1) : (tensor<3x4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_broadcast_zeta_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG2]], dims = [1] : (tensor<4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.convert %[[V0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V4]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = chlo.zeta %[[V3]], %[[V6]] : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.convert %[[V7]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: return %[[V8]], %[[VCST]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_broadcast_zeta_f16(%0: tensor<3x4xf16>, %1: tensor<4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.broadcast_zeta"(%0, %1) : (tensor<3x4xf16>, tensor<4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}
