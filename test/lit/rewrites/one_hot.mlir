// What is multiplied by one-hot vectors is chosen by them: a sum over them has one term, and no scale grows.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// Dispatch of tokens to the places of experts: the product of two one-hot vectors has one 1 among 4 * 64.
// CHECK-LABEL: func.func public @dispatch(
// CHECK-SAME: %[[DATA:[A-Za-z_0-9]+]]: tensor<256x8xf16> {scalify.role = "data"}, %[[SCALE:[A-Za-z_0-9]+]]: tensor<f32>
// CHECK: %[[CHOSEN:[A-Za-z_0-9]+]] = stablehlo.dot_general %{{.*}}, %[[DATA]], contracting_dims = [0] x [0]
// CHECK-NEXT: %[[ROUNDED:[A-Za-z_0-9]+]] = stablehlo.convert %[[CHOSEN]]
// CHECK-NEXT: return %[[ROUNDED]], %[[SCALE]] : tensor<4x64x8xf16>, tensor<f32>
func.func public @dispatch(%x: tensor<256x8xf16>, %expert: tensor<256xi32>, %place: tensor<256xi32>) -> tensor<4x64x8xf16> {
  %experts = stablehlo.iota dim = 1 : tensor<256x4xi32>
  %places = stablehlo.iota dim = 1 : tensor<256x64xi32>
  %e = stablehlo.broadcast_in_dim %expert, dims = [0] : (tensor<256xi32>) -> tensor<256x4xi32>
  %p = stablehlo.broadcast_in_dim %place, dims = [0] : (tensor<256xi32>) -> tensor<256x64xi32>
  %at_e = stablehlo.compare EQ, %e, %experts : (tensor<256x4xi32>, tensor<256x4xi32>) -> tensor<256x4xi1>
  %at_p = stablehlo.compare EQ, %p, %places : (tensor<256x64xi32>, tensor<256x64xi32>) -> tensor<256x64xi1>
  %one_e = stablehlo.convert %at_e : (tensor<256x4xi1>) -> tensor<256x4xf16>
  %one_p = stablehlo.convert %at_p : (tensor<256x64xi1>) -> tensor<256x64xf16>
  %all_e = stablehlo.broadcast_in_dim %one_e, dims = [0, 1] : (tensor<256x4xf16>) -> tensor<256x4x64xf16>
  %all_p = stablehlo.broadcast_in_dim %one_p, dims = [0, 2] : (tensor<256x64xf16>) -> tensor<256x4x64xf16>
  %mask = stablehlo.multiply %all_e, %all_p : tensor<256x4x64xf16>
  %r = stablehlo.dot_general %mask, %x, contracting_dims = [0] x [0] : (tensor<256x4x64xf16>, tensor<256x8xf16>) -> tensor<4x64x8xf16>
  return %r : tensor<4x64x8xf16>
}

// -----

// The same as an and of two conditions.
// CHECK-LABEL: func.func public @dispatch_by_and(
// CHECK-SAME: %[[DATA:[A-Za-z_0-9]+]]: tensor<256x8xf16> {scalify.role = "data"}, %[[SCALE:[A-Za-z_0-9]+]]: tensor<f32>
// CHECK: %[[CHOSEN:[A-Za-z_0-9]+]] = stablehlo.dot_general %{{.*}}, %[[DATA]], contracting_dims = [0] x [0]
// CHECK-NEXT: %[[ROUNDED:[A-Za-z_0-9]+]] = stablehlo.convert %[[CHOSEN]]
// CHECK-NEXT: return %[[ROUNDED]], %[[SCALE]] : tensor<4x64x8xf16>, tensor<f32>
func.func public @dispatch_by_and(%x: tensor<256x8xf16>, %expert: tensor<256xi32>, %place: tensor<256xi32>) -> tensor<4x64x8xf16> {
  %experts = stablehlo.iota dim = 1 : tensor<256x4x64xi32>
  %places = stablehlo.iota dim = 2 : tensor<256x4x64xi32>
  %e = stablehlo.broadcast_in_dim %expert, dims = [0] : (tensor<256xi32>) -> tensor<256x4x64xi32>
  %p = stablehlo.broadcast_in_dim %place, dims = [0] : (tensor<256xi32>) -> tensor<256x4x64xi32>
  %at_e = stablehlo.compare EQ, %e, %experts : (tensor<256x4x64xi32>, tensor<256x4x64xi32>) -> tensor<256x4x64xi1>
  %at_p = stablehlo.compare EQ, %p, %places : (tensor<256x4x64xi32>, tensor<256x4x64xi32>) -> tensor<256x4x64xi1>
  %at = stablehlo.and %at_e, %at_p : tensor<256x4x64xi1>
  %mask = stablehlo.convert %at : (tensor<256x4x64xi1>) -> tensor<256x4x64xf16>
  %r = stablehlo.dot_general %mask, %x, contracting_dims = [0] x [0] : (tensor<256x4x64xf16>, tensor<256x8xf16>) -> tensor<4x64x8xf16>
  return %r : tensor<4x64x8xf16>
}
