// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @chlo_ragged_dot(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<6x8xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x8x3xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<2xi32>) -> (tensor<6x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = "chlo.ragged_dot"(%[[VARG0]], %[[VARG2]], %[[VARG4]]) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x8xf32>, tensor<2x8x3xf32>, tensor<2xi32>) -> tensor<6x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<6x3xf32>, tensor<f32>
func.func public @chlo_ragged_dot(%0: tensor<6x8xf32>, %1: tensor<2x8x3xf32>, %2: tensor<2xi32>) -> (tensor<6x3xf32>) {
    %r = "chlo.ragged_dot"(%0, %1, %2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<6x8xf32>, tensor<2x8x3xf32>, tensor<2xi32>) -> (tensor<6x3xf32>)
    return %r : tensor<6x3xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_ragged_dot_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<6x8xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x8x3xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<2xi32>) -> (tensor<6x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<4.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.500000e-01> : tensor<6x8xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VCST_1]] : tensor<6x8xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = "chlo.ragged_dot"(%[[V1]], %[[VARG2]], %[[VARG4]]) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x8xf16>, tensor<2x8x3xf16>, tensor<2xi32>) -> tensor<6x3xf16>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V3]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V2]], %[[V4]] : tensor<6x3xf16>, tensor<f32>
func.func public @chlo_ragged_dot_f16(%0: tensor<6x8xf16>, %1: tensor<2x8x3xf16>, %2: tensor<2xi32>) -> (tensor<6x3xf16>) {
    %r = "chlo.ragged_dot"(%0, %1, %2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<6x8xf16>, tensor<2x8x3xf16>, tensor<2xi32>) -> (tensor<6x3xf16>)
    return %r : tensor<6x3xf16>
}

// -----

// CHECK-LABEL: func.func public @convolution(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2x6x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x5x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convolution(%[[VARG0]], %[[VARG2]]) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x3xf32>, tensor<2x3x4xf32>) -> tensor<2x5x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<2x5x4xf32>, tensor<f32>
func.func public @convolution(%0: tensor<2x6x3xf32>, %1: tensor<2x3x4xf32>) -> (tensor<2x5x4xf32>) {
    %r = "stablehlo.convolution"(%0, %1) {dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x3xf32>, tensor<2x3x4xf32>) -> (tensor<2x5x4xf32>)
    return %r : tensor<2x5x4xf32>
}

// -----

// CHECK-LABEL: func.func public @convolution_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2x6x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x5x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<2x3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[VCST_1]] : tensor<2x3x4xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convolution(%[[VARG0]], %[[V1]]) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x3xf16>, tensor<2x3x4xf16>) -> tensor<2x5x4xf16>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V3]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V2]], %[[V4]] : tensor<2x5x4xf16>, tensor<f32>
func.func public @convolution_f16(%0: tensor<2x6x3xf16>, %1: tensor<2x3x4xf16>) -> (tensor<2x5x4xf16>) {
    %r = "stablehlo.convolution"(%0, %1) {dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x3xf16>, tensor<2x3x4xf16>) -> (tensor<2x5x4xf16>)
    return %r : tensor<2x5x4xf16>
}

// -----

// CHECK-LABEL: func.func public @convolution_of_feature_groups(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2x6x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x2x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x5x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convolution(%[[VARG0]], %[[VARG2]]) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x4xf32>, tensor<2x2x4xf32>) -> tensor<2x5x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<2x5x4xf32>, tensor<f32>
func.func public @convolution_of_feature_groups(%0: tensor<2x6x4xf32>, %1: tensor<2x2x4xf32>) -> (tensor<2x5x4xf32>) {
    %r = "stablehlo.convolution"(%0, %1) {dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x4xf32>, tensor<2x2x4xf32>) -> (tensor<2x5x4xf32>)
    return %r : tensor<2x5x4xf32>
}

// -----

// CHECK-LABEL: func.func public @convolution_of_feature_groups_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2x6x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x2x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x5x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<2x2x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[VCST_1]] : tensor<2x2x4xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convolution(%[[VARG0]], %[[V1]]) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x4xf16>, tensor<2x2x4xf16>) -> tensor<2x5x4xf16>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V3]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V2]], %[[V4]] : tensor<2x5x4xf16>, tensor<f32>
func.func public @convolution_of_feature_groups_f16(%0: tensor<2x6x4xf16>, %1: tensor<2x2x4xf16>) -> (tensor<2x5x4xf16>) {
    %r = "stablehlo.convolution"(%0, %1) {dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x6x4xf16>, tensor<2x2x4xf16>) -> (tensor<2x5x4xf16>)
    return %r : tensor<2x5x4xf16>
}

// -----

// CHECK-LABEL: func.func public @dot(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x8xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<8x2xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.dot %[[VARG0]], %[[VARG2]] : (tensor<3x8xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<3x2xf32>, tensor<f32>
func.func public @dot(%0: tensor<3x8xf32>, %1: tensor<8x2xf32>) -> (tensor<3x2xf32>) {
    %r = "stablehlo.dot"(%0, %1) : (tensor<3x8xf32>, tensor<8x2xf32>) -> (tensor<3x2xf32>)
    return %r : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: func.func public @dot_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x8xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<8x2xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<4.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.500000e-01> : tensor<8x2xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[VCST_1]] : tensor<8x2xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.dot %[[VARG0]], %[[V1]] : (tensor<3x8xf16>, tensor<8x2xf16>) -> tensor<3x2xf16>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V3]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V2]], %[[V4]] : tensor<3x2xf16>, tensor<f32>
func.func public @dot_f16(%0: tensor<3x8xf16>, %1: tensor<8x2xf16>) -> (tensor<3x2xf16>) {
    %r = "stablehlo.dot"(%0, %1) : (tensor<3x8xf16>, tensor<8x2xf16>) -> (tensor<3x2xf16>)
    return %r : tensor<3x2xf16>
}

// -----

// CHECK-LABEL: func.func public @dot_general(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x8xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<8x2xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.dot_general %[[VARG0]], %[[VARG2]], contracting_dims = [1] x [0] : (tensor<3x8xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<3x2xf32>, tensor<f32>
func.func public @dot_general(%0: tensor<3x8xf32>, %1: tensor<8x2xf32>) -> (tensor<3x2xf32>) {
    %r = "stablehlo.dot_general"(%0, %1) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x8xf32>, tensor<8x2xf32>) -> (tensor<3x2xf32>)
    return %r : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: func.func public @dot_general_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x8xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<8x2xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<4.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.500000e-01> : tensor<8x2xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[VCST_1]] : tensor<8x2xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.dot_general %[[VARG0]], %[[V1]], contracting_dims = [1] x [0] : (tensor<3x8xf16>, tensor<8x2xf16>) -> tensor<3x2xf16>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V3]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V2]], %[[V4]] : tensor<3x2xf16>, tensor<f32>
func.func public @dot_general_f16(%0: tensor<3x8xf16>, %1: tensor<8x2xf16>) -> (tensor<3x2xf16>) {
    %r = "stablehlo.dot_general"(%0, %1) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<3x8xf16>, tensor<8x2xf16>) -> (tensor<3x2xf16>)
    return %r : tensor<3x2xf16>
}

// -----

// CHECK-LABEL: func.func public @dot_general_of_a_batch(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2x3x8xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x4x8xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.dot_general %[[VARG0]], %[[VARG2]], batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x8xf32>, tensor<2x4x8xf32>) -> tensor<2x3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<2x3x4xf32>, tensor<f32>
func.func public @dot_general_of_a_batch(%0: tensor<2x3x8xf32>, %1: tensor<2x4x8xf32>) -> (tensor<2x3x4xf32>) {
    %r = "stablehlo.dot_general"(%0, %1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>} : (tensor<2x3x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x3x4xf32>)
    return %r : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @dot_general_of_a_batch_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2x3x8xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x4x8xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<4.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.500000e-01> : tensor<2x3x8xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VCST_1]] : tensor<2x3x8xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.dot_general %[[V1]], %[[VARG2]], batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x8xf16>, tensor<2x4x8xf16>) -> tensor<2x3x4xf16>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V3]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V2]], %[[V4]] : tensor<2x3x4xf16>, tensor<f32>
func.func public @dot_general_of_a_batch_f16(%0: tensor<2x3x8xf16>, %1: tensor<2x4x8xf16>) -> (tensor<2x3x4xf16>) {
    %r = "stablehlo.dot_general"(%0, %1) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>} : (tensor<2x3x8xf16>, tensor<2x4x8xf16>) -> (tensor<2x3x4xf16>)
    return %r : tensor<2x3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @dot_general_outer_product(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.dot_general %[[VARG0]], %[[VARG2]], contracting_dims = [] x [] : (tensor<3xf32>, tensor<2xf32>) -> tensor<3x2xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<3x2xf32>, tensor<f32>
func.func public @dot_general_outer_product(%0: tensor<3xf32>, %1: tensor<2xf32>) -> (tensor<3x2xf32>) {
    %r = "stablehlo.dot_general"(%0, %1) {dot_dimension_numbers = #stablehlo.dot<>} : (tensor<3xf32>, tensor<2xf32>) -> (tensor<3x2xf32>)
    return %r : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: func.func public @dot_general_outer_product_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.dot_general %[[VARG0]], %[[VARG2]], contracting_dims = [] x [] : (tensor<3xf16>, tensor<2xf16>) -> tensor<3x2xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<3x2xf16>, tensor<f32>
func.func public @dot_general_outer_product_f16(%0: tensor<3xf16>, %1: tensor<2xf16>) -> (tensor<3x2xf16>) {
    %r = "stablehlo.dot_general"(%0, %1) {dot_dimension_numbers = #stablehlo.dot<>} : (tensor<3xf16>, tensor<2xf16>) -> (tensor<3x2xf16>)
    return %r : tensor<3x2xf16>
}

// -----

// CHECK-LABEL: func.func public @dynamic_conv(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2x6x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x5x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<1x2xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = "stablehlo.dynamic_conv"(%[[VARG0]], %[[VARG2]], %[[VC]]) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<2x6x3xf32>, tensor<2x3x4xf32>, tensor<1x2xi64>) -> tensor<2x5x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<2x5x4xf32>, tensor<f32>
func.func public @dynamic_conv(%0: tensor<2x6x3xf32>, %1: tensor<2x3x4xf32>) -> (tensor<2x5x4xf32>) {

    %p = stablehlo.constant dense<0> : tensor<1x2xi64>
    %r = "stablehlo.dynamic_conv"(%0, %1, %p) {
      dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64,
      feature_group_count = 1 : i64
    } : (tensor<2x6x3xf32>, tensor<2x3x4xf32>, tensor<1x2xi64>) -> tensor<2x5x4xf32>
    return %r : tensor<2x5x4xf32>
}

// -----

// CHECK-LABEL: func.func public @dynamic_conv_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<2x6x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2x3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x5x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<2x3x4xf16>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<1x2xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[VCST_1]] : tensor<2x3x4xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = "stablehlo.dynamic_conv"(%[[VARG0]], %[[V1]], %[[VC]]) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<2x6x3xf16>, tensor<2x3x4xf16>, tensor<1x2xi64>) -> tensor<2x5x4xf16>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V3]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V2]], %[[V4]] : tensor<2x5x4xf16>, tensor<f32>
func.func public @dynamic_conv_f16(%0: tensor<2x6x3xf16>, %1: tensor<2x3x4xf16>) -> (tensor<2x5x4xf16>) {

    %p = stablehlo.constant dense<0> : tensor<1x2xi64>
    %r = "stablehlo.dynamic_conv"(%0, %1, %p) {
      dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64,
      feature_group_count = 1 : i64
    } : (tensor<2x6x3xf16>, tensor<2x3x4xf16>, tensor<1x2xi64>) -> tensor<2x5x4xf16>
    return %r : tensor<2x5x4xf16>
}

// -----

// CHECK-LABEL: func.func public @einsum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x8xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<8x2xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.einsum %[[VARG0]], %[[VARG2]], config = "ab,bc->ac" : (tensor<3x8xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<3x2xf32>, tensor<f32>
func.func public @einsum(%0: tensor<3x8xf32>, %1: tensor<8x2xf32>) -> (tensor<3x2xf32>) {
    %r = "stablehlo.einsum"(%0, %1) {einsum_config = "ab,bc->ac"} : (tensor<3x8xf32>, tensor<8x2xf32>) -> (tensor<3x2xf32>)
    return %r : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: func.func public @einsum_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x8xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<8x2xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<4.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.500000e-01> : tensor<3x2xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x8xf16>) -> tensor<3x8xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<8x2xf16>) -> tensor<8x2xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.einsum %[[V0]], %[[V1]], config = "ab,bc->ac" : (tensor<3x8xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V3]], %[[VCST_1]] : tensor<3x2xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x2xf32>) -> tensor<3x2xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V6]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V5]], %[[V7]] : tensor<3x2xf16>, tensor<f32>
func.func public @einsum_f16(%0: tensor<3x8xf16>, %1: tensor<8x2xf16>) -> (tensor<3x2xf16>) {
    %r = "stablehlo.einsum"(%0, %1) {einsum_config = "ab,bc->ac"} : (tensor<3x8xf16>, tensor<8x2xf16>) -> (tensor<3x2xf16>)
    return %r : tensor<3x2xf16>
}

// -----

// CHECK-LABEL: func.func public @fft_of_reals(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<8xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<5xcomplex<f32>> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.fft %[[VARG0]], type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.real %[[V0]] : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.imag %[[V0]] : (tensor<5xcomplex<f32>>) -> tensor<5xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<5xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<5xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V3]] : tensor<5xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.complex %[[V4]], %[[V5]] : tensor<5xcomplex<f32>>
// CHECK: return %[[V6]] : tensor<5xcomplex<f32>>
func.func public @fft_of_reals(%0: tensor<8xf32>) -> (tensor<5xcomplex<f32>>) {
    %r = "stablehlo.fft"(%0) {fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 8>} : (tensor<8xf32>) -> (tensor<5xcomplex<f32>>)
    return %r : tensor<5xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func public @unary_einsum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x8xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.unary_einsum %[[VARG0]], config = "ab->a" : (tensor<3x8xf32>) -> tensor<3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3xf32>, tensor<f32>
func.func public @unary_einsum(%0: tensor<3x8xf32>) -> (tensor<3xf32>) {
    %r = "stablehlo.unary_einsum"(%0) {einsum_config = "ab->a"} : (tensor<3x8xf32>) -> (tensor<3xf32>)
    return %r : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @unary_einsum_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x8xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<4.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.500000e-01> : tensor<3xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x8xf16>) -> tensor<3x8xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.unary_einsum %[[V0]], config = "ab->a" : (tensor<3x8xf32>) -> tensor<3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[VCST_0]] : tensor<3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.convert %[[V2]] : (tensor<3xf32>) -> tensor<3xf16>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V3]], %[[V4]] : tensor<3xf16>, tensor<f32>
func.func public @unary_einsum_f16(%0: tensor<3x8xf16>) -> (tensor<3xf16>) {
    %r = "stablehlo.unary_einsum"(%0) {einsum_config = "ab->a"} : (tensor<3x8xf16>) -> (tensor<3xf16>)
    return %r : tensor<3xf16>
}
