// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @chlo_is_inf(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = chlo.is_inf %[[VARG0]] : tensor<3x4xf32> -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @chlo_is_inf(%0: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %r = "chlo.is_inf"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @chlo_is_inf_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = chlo.is_inf %[[VARG0]] : tensor<3x4xf16> -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @chlo_is_inf_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %r = "chlo.is_inf"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @chlo_is_neg_inf(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = chlo.is_neg_inf %[[VARG0]] : tensor<3x4xf32> -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @chlo_is_neg_inf(%0: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %r = "chlo.is_neg_inf"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @chlo_is_neg_inf_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = chlo.is_neg_inf %[[VARG0]] : tensor<3x4xf16> -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @chlo_is_neg_inf_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %r = "chlo.is_neg_inf"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @chlo_is_pos_inf(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = chlo.is_pos_inf %[[VARG0]] : tensor<3x4xf32> -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @chlo_is_pos_inf(%0: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %r = "chlo.is_pos_inf"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @chlo_is_pos_inf_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = chlo.is_pos_inf %[[VARG0]] : tensor<3x4xf16> -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @chlo_is_pos_inf_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %r = "chlo.is_pos_inf"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_eq(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.compare EQ, %[[V1]], %[[V3]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V4]] : tensor<3x4xi1>
func.func public @compare_eq(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_eq_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V6]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.compare EQ, %[[V4]], %[[V8]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V9]] : tensor<3x4xi1>
func.func public @compare_eq_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction EQ>} : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_ge(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.compare GE, %[[V1]], %[[V3]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V4]] : tensor<3x4xi1>
func.func public @compare_ge(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_ge_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V6]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.compare GE, %[[V4]], %[[V8]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V9]] : tensor<3x4xi1>
func.func public @compare_ge_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_gt(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[V1]], %[[V3]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V4]] : tensor<3x4xi1>
func.func public @compare_gt(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_gt_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V6]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[V4]], %[[V8]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V9]] : tensor<3x4xi1>
func.func public @compare_gt_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_le(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.compare LE, %[[V1]], %[[V3]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V4]] : tensor<3x4xi1>
func.func public @compare_le(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction LE>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_le_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V6]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.compare LE, %[[V4]], %[[V8]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V9]] : tensor<3x4xi1>
func.func public @compare_le_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction LE>} : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_lt(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[V1]], %[[V3]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V4]] : tensor<3x4xi1>
func.func public @compare_lt(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_lt_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V6]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[V4]], %[[V8]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V9]] : tensor<3x4xi1>
func.func public @compare_lt_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_ne(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.compare NE, %[[V1]], %[[V3]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V4]] : tensor<3x4xi1>
func.func public @compare_ne(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction NE>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_ne_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V6]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.compare NE, %[[V4]], %[[V8]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V9]] : tensor<3x4xi1>
func.func public @compare_ne_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction NE>} : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_with_a_constant(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[V1]], %[[VCST]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V2]] : tensor<3x4xi1>
func.func public @compare_with_a_constant(%0: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %1 = stablehlo.constant dense<0.5> : tensor<3x4xf32>
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_with_a_constant_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST_0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_1]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST]], %[[V0]] : tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[V4]], %[[V9]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V10]] : tensor<3x4xi1>
func.func public @compare_with_a_constant_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %1 = stablehlo.constant dense<0.5> : tensor<3x4xf16>
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_with_zero(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[VARG0]], %[[VCST]] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @compare_with_zero(%0: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %1 = stablehlo.constant dense<0.0> : tensor<3x4xf32>
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @compare_with_zero_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[VARG0]], %[[VCST]] : (tensor<3x4xf16>, tensor<3x4xf16>) -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @compare_with_zero_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %1 = stablehlo.constant dense<0.0> : tensor<3x4xf16>
    %r = "stablehlo.compare"(%0, %1) {comparison_direction = #stablehlo<comparison_direction GT>} : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @get_dimension_size(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<i32> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.get_dimension_size %[[VARG0]], dim = 1 : (tensor<3x4xf32>) -> tensor<i32>
// CHECK: return %[[V0]] : tensor<i32>
func.func public @get_dimension_size(%0: tensor<3x4xf32>) -> (tensor<i32>) {
    %r = "stablehlo.get_dimension_size"(%0) {dimension = 1 : i64} : (tensor<3x4xf32>) -> (tensor<i32>)
    return %r : tensor<i32>
}

// -----

// CHECK-LABEL: func.func public @get_dimension_size_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<i32> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.get_dimension_size %[[VARG0]], dim = 1 : (tensor<3x4xf16>) -> tensor<i32>
// CHECK: return %[[V0]] : tensor<i32>
func.func public @get_dimension_size_f16(%0: tensor<3x4xf16>) -> (tensor<i32>) {
    %r = "stablehlo.get_dimension_size"(%0) {dimension = 1 : i64} : (tensor<3x4xf16>) -> (tensor<i32>)
    return %r : tensor<i32>
}

// -----

// CHECK-LABEL: func.func public @is_finite(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.is_finite %[[VARG0]] : (tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @is_finite(%0: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.is_finite"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @is_finite_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.is_finite %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @is_finite_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.is_finite"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @sign(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.sign %[[VARG0]] : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @sign(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.sign"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @sign_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.sign %[[VARG0]] : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VCST]] : tensor<3x4xf16>, tensor<f32>
func.func public @sign_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.sign"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}
