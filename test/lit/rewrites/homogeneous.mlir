// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @abs(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.abs %[[VARG0]] : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @abs(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.abs"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @abs_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.abs %[[VARG0]] : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
func.func public @abs_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.abs"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @abs_of_complex_numbers(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.complex %[[V3]], %[[V6]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.abs %[[V7]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: return %[[V8]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @abs_of_complex_numbers(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
%z = stablehlo.complex %0, %1 : tensor<3x4xcomplex<f32>> %r = stablehlo.abs %z : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32> return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @broadcast(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast %[[VARG0]], sizes = [2] : (tensor<3xf32>) -> tensor<2x3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf32>, tensor<f32>
func.func public @broadcast(%0: tensor<3xf32>) -> (tensor<2x3xf32>) {
    %r = "stablehlo.broadcast"(%0) {broadcast_sizes = array<i64: 2>} : (tensor<3xf32>) -> (tensor<2x3xf32>)
    return %r : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func public @broadcast_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast %[[VARG0]], sizes = [2] : (tensor<3xf16>) -> tensor<2x3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf16>, tensor<f32>
func.func public @broadcast_f16(%0: tensor<3xf16>) -> (tensor<2x3xf16>) {
    %r = "stablehlo.broadcast"(%0) {broadcast_sizes = array<i64: 2>} : (tensor<3xf16>) -> (tensor<2x3xf16>)
    return %r : tensor<2x3xf16>
}

// -----

// CHECK-LABEL: func.func public @broadcast_in_dim(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG0]], dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf32>, tensor<f32>
func.func public @broadcast_in_dim(%0: tensor<3xf32>) -> (tensor<2x3xf32>) {
    %r = "stablehlo.broadcast_in_dim"(%0) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf32>) -> (tensor<2x3xf32>)
    return %r : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func public @broadcast_in_dim_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG0]], dims = [1] : (tensor<3xf16>) -> tensor<2x3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf16>, tensor<f32>
func.func public @broadcast_in_dim_f16(%0: tensor<3xf16>) -> (tensor<2x3xf16>) {
    %r = "stablehlo.broadcast_in_dim"(%0) {broadcast_dimensions = array<i64: 1>} : (tensor<3xf16>) -> (tensor<2x3xf16>)
    return %r : tensor<2x3xf16>
}

// -----

// CHECK-LABEL: func.func public @broadcast_in_dim_of_a_scalar(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG0]], dims = [] : (tensor<f32>) -> tensor<2x3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf32>, tensor<f32>
func.func public @broadcast_in_dim_of_a_scalar(%0: tensor<f32>) -> (tensor<2x3xf32>) {
    %r = "stablehlo.broadcast_in_dim"(%0) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> (tensor<2x3xf32>)
    return %r : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func public @broadcast_in_dim_of_a_scalar_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<f16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG0]], dims = [] : (tensor<f16>) -> tensor<2x3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf16>, tensor<f32>
func.func public @broadcast_in_dim_of_a_scalar_f16(%0: tensor<f16>) -> (tensor<2x3xf16>) {
    %r = "stablehlo.broadcast_in_dim"(%0) {broadcast_dimensions = array<i64>} : (tensor<f16>) -> (tensor<2x3xf16>)
    return %r : tensor<2x3xf16>
}

// -----

// CHECK-LABEL: func.func public @convert_of_integers(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi32>) -> tensor<3x4xf32> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xi32>) -> tensor<3x4xf32>
// CHECK: return %[[V0]] : tensor<3x4xf32>
func.func public @convert_of_integers(%0: tensor<3x4xi32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.convert"(%0) : (tensor<3x4xi32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @convert_of_integers_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xi32>) -> tensor<3x4xf16> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xi32>) -> tensor<3x4xf16>
// CHECK: return %[[V0]] : tensor<3x4xf16>
func.func public @convert_of_integers_f16(%0: tensor<3x4xi32>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.convert"(%0) : (tensor<3x4xi32>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @convert_to_bf16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xbf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf32>) -> tensor<3x4xbf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xbf16>, tensor<f32>
func.func public @convert_to_bf16(%0: tensor<3x4xf32>) -> (tensor<3x4xbf16>) {
    %r = "stablehlo.convert"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xbf16>)
    return %r : tensor<3x4xbf16>
}

// -----

// CHECK-LABEL: func.func public @convert_to_bf16_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xbf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xbf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xbf16>, tensor<f32>
func.func public @convert_to_bf16_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xbf16>) {
    %r = "stablehlo.convert"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xbf16>)
    return %r : tensor<3x4xbf16>
}

// -----

// CHECK-LABEL: func.func public @convert_to_booleans(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf32>) -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @convert_to_booleans(%0: tensor<3x4xf32>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.convert"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @convert_to_booleans_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi1> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xi1>
// CHECK: return %[[V0]] : tensor<3x4xi1>
func.func public @convert_to_booleans_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xi1>) {
    %r = "stablehlo.convert"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xi1>)
    return %r : tensor<3x4xi1>
}

// -----

// CHECK-LABEL: func.func public @convert_to_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
func.func public @convert_to_f16(%0: tensor<3x4xf32>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.convert"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @convert_to_f32(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: return %[[VARG0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @convert_to_f32(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.convert"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @convert_to_f32_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @convert_to_f32_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.convert"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @convert_to_integers(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi32> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[V1]] : (tensor<3x4xf32>) -> tensor<3x4xi32>
// CHECK: return %[[V2]] : tensor<3x4xi32>
func.func public @convert_to_integers(%0: tensor<3x4xf32>) -> (tensor<3x4xi32>) {
    %r = "stablehlo.convert"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xi32>)
    return %r : tensor<3x4xi32>
}

// -----

// CHECK-LABEL: func.func public @convert_to_integers_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xi32> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.convert %[[V2]] : (tensor<3x4xf32>) -> tensor<3x4xi32>
// CHECK: return %[[V3]] : tensor<3x4xi32>
func.func public @convert_to_integers_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xi32>) {
    %r = "stablehlo.convert"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xi32>)
    return %r : tensor<3x4xi32>
}

// -----

// CHECK-LABEL: func.func public @dynamic_broadcast_in_dim(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.dynamic_broadcast_in_dim %[[VARG0]], %[[VC]], dims = [1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf32>, tensor<f32>
func.func public @dynamic_broadcast_in_dim(%0: tensor<3xf32>) -> (tensor<2x3xf32>) {
%shape = stablehlo.constant dense<[2, 3]> : tensor<2xi64>

    %r = stablehlo.dynamic_broadcast_in_dim %0, %shape, dims = [1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    return %r : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func public @dynamic_broadcast_in_dim_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.dynamic_broadcast_in_dim %[[VARG0]], %[[VC]], dims = [1] : (tensor<3xf16>, tensor<2xi64>) -> tensor<2x3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf16>, tensor<f32>
func.func public @dynamic_broadcast_in_dim_f16(%0: tensor<3xf16>) -> (tensor<2x3xf16>) {
%shape = stablehlo.constant dense<[2, 3]> : tensor<2xi64>

    %r = stablehlo.dynamic_broadcast_in_dim %0, %shape, dims = [1] : (tensor<3xf16>, tensor<2xi64>) -> tensor<2x3xf16>
    return %r : tensor<2x3xf16>
}

// -----

// CHECK-LABEL: func.func public @dynamic_gather(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>) -> (tensor<4x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.dynamic_gather"(%[[VARG0]], %[[VARG2]], %[[VC]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<2xi64>) -> tensor<4x3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<4x3xf32>, tensor<f32>
func.func public @dynamic_gather(%0: tensor<5x3xf32>, %1: tensor<4x1xi32>) -> (tensor<4x3xf32>) {
%sizes = stablehlo.constant dense<[1, 3]> : tensor<2xi64>

    %r = "stablehlo.dynamic_gather"(%0, %1, %sizes) {
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
                                            index_vector_dim = 1>
    } : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<2xi64>) -> tensor<4x3xf32>
    return %r : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func public @dynamic_gather_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>) -> (tensor<4x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.dynamic_gather"(%[[VARG0]], %[[VARG2]], %[[VC]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<5x3xf16>, tensor<4x1xi32>, tensor<2xi64>) -> tensor<4x3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<4x3xf16>, tensor<f32>
func.func public @dynamic_gather_f16(%0: tensor<5x3xf16>, %1: tensor<4x1xi32>) -> (tensor<4x3xf16>) {
%sizes = stablehlo.constant dense<[1, 3]> : tensor<2xi64>

    %r = "stablehlo.dynamic_gather"(%0, %1, %sizes) {
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
                                            index_vector_dim = 1>
    } : (tensor<5x3xf16>, tensor<4x1xi32>, tensor<2xi64>) -> tensor<4x3xf16>
    return %r : tensor<4x3xf16>
}

// -----

// CHECK-LABEL: func.func public @dynamic_reshape(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x6xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<[2, 6]> : tensor<2xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.dynamic_reshape %[[VARG0]], %[[VC]] : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x6xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x6xf32>, tensor<f32>
func.func public @dynamic_reshape(%0: tensor<3x4xf32>) -> (tensor<2x6xf32>) {
%shape = stablehlo.constant dense<[2, 6]> : tensor<2xi64>

    %r = stablehlo.dynamic_reshape %0, %shape : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x6xf32>
    return %r : tensor<2x6xf32>
}

// -----

// CHECK-LABEL: func.func public @dynamic_reshape_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x6xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<[2, 6]> : tensor<2xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.dynamic_reshape %[[VARG0]], %[[VC]] : (tensor<3x4xf16>, tensor<2xi64>) -> tensor<2x6xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x6xf16>, tensor<f32>
func.func public @dynamic_reshape_f16(%0: tensor<3x4xf16>) -> (tensor<2x6xf16>) {
%shape = stablehlo.constant dense<[2, 6]> : tensor<2xi64>

    %r = stablehlo.dynamic_reshape %0, %shape : (tensor<3x4xf16>, tensor<2xi64>) -> tensor<2x6xf16>
    return %r : tensor<2x6xf16>
}

// -----

// CHECK-LABEL: func.func public @dynamic_slice(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<i32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<i32>) -> (tensor<2x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.dynamic_slice %[[VARG0]], %[[VARG2]], %[[VARG3]], sizes = [2, 3] : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf32>, tensor<f32>
func.func public @dynamic_slice(%0: tensor<4x6xf32>, %1: tensor<i32>, %2: tensor<i32>) -> (tensor<2x3xf32>) {
    %r = "stablehlo.dynamic_slice"(%0, %1, %2) {slice_sizes = array<i64: 2, 3>} : (tensor<4x6xf32>, tensor<i32>, tensor<i32>) -> (tensor<2x3xf32>)
    return %r : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func public @dynamic_slice_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<i32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<i32>) -> (tensor<2x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.dynamic_slice %[[VARG0]], %[[VARG2]], %[[VARG3]], sizes = [2, 3] : (tensor<4x6xf16>, tensor<i32>, tensor<i32>) -> tensor<2x3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf16>, tensor<f32>
func.func public @dynamic_slice_f16(%0: tensor<4x6xf16>, %1: tensor<i32>, %2: tensor<i32>) -> (tensor<2x3xf16>) {
    %r = "stablehlo.dynamic_slice"(%0, %1, %2) {slice_sizes = array<i64: 2, 3>} : (tensor<4x6xf16>, tensor<i32>, tensor<i32>) -> (tensor<2x3xf16>)
    return %r : tensor<2x3xf16>
}

// -----

// CHECK-LABEL: func.func public @gather(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>) -> (tensor<4x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.gather"(%[[VARG0]], %[[VARG2]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<4x3xf32>, tensor<f32>
func.func public @gather(%0: tensor<5x3xf32>, %1: tensor<4x1xi32>) -> (tensor<4x3xf32>) {
    %r = "stablehlo.gather"(%0, %1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf32>, tensor<4x1xi32>) -> (tensor<4x3xf32>)
    return %r : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func public @gather_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>) -> (tensor<4x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.gather"(%[[VARG0]], %[[VARG2]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf16>, tensor<4x1xi32>) -> tensor<4x3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<4x3xf16>, tensor<f32>
func.func public @gather_f16(%0: tensor<5x3xf16>, %1: tensor<4x1xi32>) -> (tensor<4x3xf16>) {
    %r = "stablehlo.gather"(%0, %1) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>} : (tensor<5x3xf16>, tensor<4x1xi32>) -> (tensor<4x3xf16>)
    return %r : tensor<4x3xf16>
}

// -----

// CHECK-LABEL: func.func public @negate(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.negate %[[VARG0]] : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @negate(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.negate"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @negate_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.negate %[[VARG0]] : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
func.func public @negate_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.negate"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @optimization_barrier(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<3xi32>) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<2xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3xi32>) {
// CHECK: %[[V0:[A-Za-z_0-9]+]]:3 = stablehlo.optimization_barrier %[[VARG0]], %[[VARG2]], %[[VARG4]] : tensor<3x4xf32>, tensor<2xf32>, tensor<3xi32>
// CHECK: return %[[V0]]#0, %[[VARG1]], %[[V0]]#1, %[[VARG3]], %[[V0]]#2 : tensor<3x4xf32>, tensor<f32>, tensor<2xf32>, tensor<f32>, tensor<3xi32>
func.func public @optimization_barrier(%0: tensor<3x4xf32>, %1: tensor<2xf32>, %2: tensor<3xi32>) -> (tensor<3x4xf32>, tensor<2xf32>, tensor<3xi32>) {
    %r:3 = "stablehlo.optimization_barrier"(%0, %1, %2) : (tensor<3x4xf32>, tensor<2xf32>, tensor<3xi32>) -> (tensor<3x4xf32>, tensor<2xf32>, tensor<3xi32>)
    return %r#0, %r#1, %r#2 : tensor<3x4xf32>, tensor<2xf32>, tensor<3xi32>
}

// -----

// CHECK-LABEL: func.func public @optimization_barrier_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<3xi32>) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<2xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3xi32>) {
// CHECK: %[[V0:[A-Za-z_0-9]+]]:3 = stablehlo.optimization_barrier %[[VARG0]], %[[VARG2]], %[[VARG4]] : tensor<3x4xf16>, tensor<2xf16>, tensor<3xi32>
// CHECK: return %[[V0]]#0, %[[VARG1]], %[[V0]]#1, %[[VARG3]], %[[V0]]#2 : tensor<3x4xf16>, tensor<f32>, tensor<2xf16>, tensor<f32>, tensor<3xi32>
func.func public @optimization_barrier_f16(%0: tensor<3x4xf16>, %1: tensor<2xf16>, %2: tensor<3xi32>) -> (tensor<3x4xf16>, tensor<2xf16>, tensor<3xi32>) {
    %r:3 = "stablehlo.optimization_barrier"(%0, %1, %2) : (tensor<3x4xf16>, tensor<2xf16>, tensor<3xi32>) -> (tensor<3x4xf16>, tensor<2xf16>, tensor<3xi32>)
    return %r#0, %r#1, %r#2 : tensor<3x4xf16>, tensor<2xf16>, tensor<3xi32>
}

// -----

// CHECK-LABEL: func.func public @real_dynamic_slice(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<1xi64>
// CHECK: %[[VC_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5> : tensor<1xi64>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<2> : tensor<1xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.real_dynamic_slice %[[VARG0]], %[[VC]], %[[VC_0]], %[[VC_1]] : (tensor<6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2xf32>, tensor<f32>
func.func public @real_dynamic_slice(%0: tensor<6xf32>) -> (tensor<2xf32>) {
%start = stablehlo.constant dense<[1]> : tensor<1xi64>
%limit = stablehlo.constant dense<[5]> : tensor<1xi64>
%stride = stablehlo.constant dense<[2]> : tensor<1xi64>

    %r = stablehlo.real_dynamic_slice %0, %start, %limit, %stride
      : (tensor<6xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf32>
    return %r : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func public @real_dynamic_slice_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<1xi64>
// CHECK: %[[VC_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5> : tensor<1xi64>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<2> : tensor<1xi64>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.real_dynamic_slice %[[VARG0]], %[[VC]], %[[VC_0]], %[[VC_1]] : (tensor<6xf16>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2xf16>, tensor<f32>
func.func public @real_dynamic_slice_f16(%0: tensor<6xf16>) -> (tensor<2xf16>) {
%start = stablehlo.constant dense<[1]> : tensor<1xi64>
%limit = stablehlo.constant dense<[5]> : tensor<1xi64>
%stride = stablehlo.constant dense<[2]> : tensor<1xi64>

    %r = stablehlo.real_dynamic_slice %0, %start, %limit, %stride
      : (tensor<6xf16>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2xf16>
    return %r : tensor<2xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_precision(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.reduce_precision %[[V1]], format = e5m3 : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[V2]], %[[V0]] : tensor<3x4xf32>
// CHECK: return %[[V3]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @reduce_precision(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.reduce_precision"(%0) {exponent_bits = 5 : i32, mantissa_bits = 3 : i32} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_precision_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce_precision %[[VARG0]], format = e5m3 : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
func.func public @reduce_precision_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.reduce_precision"(%0) {exponent_bits = 5 : i32, mantissa_bits = 3 : i32} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @reshape(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x6xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reshape %[[VARG0]] : (tensor<3x4xf32>) -> tensor<2x6xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x6xf32>, tensor<f32>
func.func public @reshape(%0: tensor<3x4xf32>) -> (tensor<2x6xf32>) {
    %r = "stablehlo.reshape"(%0) : (tensor<3x4xf32>) -> (tensor<2x6xf32>)
    return %r : tensor<2x6xf32>
}

// -----

// CHECK-LABEL: func.func public @reshape_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x6xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reshape %[[VARG0]] : (tensor<3x4xf16>) -> tensor<2x6xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x6xf16>, tensor<f32>
func.func public @reshape_f16(%0: tensor<3x4xf16>) -> (tensor<2x6xf16>) {
    %r = "stablehlo.reshape"(%0) : (tensor<3x4xf16>) -> (tensor<2x6xf16>)
    return %r : tensor<2x6xf16>
}

// -----

// CHECK-LABEL: func.func public @reverse(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reverse %[[VARG0]], dims = [1] : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @reverse(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.reverse"(%0) {dimensions = array<i64: 1>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @reverse_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reverse %[[VARG0]], dims = [1] : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
func.func public @reverse_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.reverse"(%0) {dimensions = array<i64: 1>} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @slice(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x2xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.slice %[[VARG0]] [1:3, 0:5:3] : (tensor<4x6xf32>) -> tensor<2x2xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x2xf32>, tensor<f32>
func.func public @slice(%0: tensor<4x6xf32>) -> (tensor<2x2xf32>) {
    %r = "stablehlo.slice"(%0) {start_indices = array<i64: 1, 0>, limit_indices = array<i64: 3, 5>, strides = array<i64: 1, 3>} : (tensor<4x6xf32>) -> (tensor<2x2xf32>)
    return %r : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func public @slice_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<2x2xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.slice %[[VARG0]] [1:3, 0:5:3] : (tensor<4x6xf16>) -> tensor<2x2xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x2xf16>, tensor<f32>
func.func public @slice_f16(%0: tensor<4x6xf16>) -> (tensor<2x2xf16>) {
    %r = "stablehlo.slice"(%0) {start_indices = array<i64: 1, 0>, limit_indices = array<i64: 3, 5>, strides = array<i64: 1, 3>} : (tensor<4x6xf16>) -> (tensor<2x2xf16>)
    return %r : tensor<2x2xf16>
}

// -----

// CHECK-LABEL: func.func public @torch_index_select(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2xi32>) -> (tensor<2x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.torch_index_select"(%[[VARG0]], %[[VARG2]]) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf32>, tensor<f32>
func.func public @torch_index_select(%0: tensor<4x3xf32>, %1: tensor<2xi32>) -> (tensor<2x3xf32>) {
    %r = "stablehlo.torch_index_select"(%0, %1) {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<4x3xf32>, tensor<2xi32>) -> (tensor<2x3xf32>)
    return %r : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func public @torch_index_select_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<2xi32>) -> (tensor<2x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.torch_index_select"(%[[VARG0]], %[[VARG2]]) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x3xf16>, tensor<2xi32>) -> tensor<2x3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<2x3xf16>, tensor<f32>
func.func public @torch_index_select_f16(%0: tensor<4x3xf16>, %1: tensor<2xi32>) -> (tensor<2x3xf16>) {
    %r = "stablehlo.torch_index_select"(%0, %1) {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<4x3xf16>, tensor<2xi32>) -> (tensor<2x3xf16>)
    return %r : tensor<2x3xf16>
}

// -----

// CHECK-LABEL: func.func public @transpose(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<4x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.transpose %[[VARG0]], dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<4x3xf32>, tensor<f32>
func.func public @transpose(%0: tensor<3x4xf32>) -> (tensor<4x3xf32>) {
    %r = "stablehlo.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<3x4xf32>) -> (tensor<4x3xf32>)
    return %r : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func public @transpose_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<4x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.transpose %[[VARG0]], dims = [1, 0] : (tensor<3x4xf16>) -> tensor<4x3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<4x3xf16>, tensor<f32>
func.func public @transpose_f16(%0: tensor<3x4xf16>) -> (tensor<4x3xf16>) {
    %r = "stablehlo.transpose"(%0) {permutation = array<i64: 1, 0>} : (tensor<3x4xf16>) -> (tensor<4x3xf16>)
    return %r : tensor<4x3xf16>
}
