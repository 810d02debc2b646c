// One element added to each row of zeros is a selection: the derivative of what picks an element of each row.
// RUN: scalify-opt %s --scalify-select-scatters --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[LABELS:[^:]*]]: tensor<4x1x1xi32>, %[[U:[^:]*]]: tensor<4x1xf32>
// CHECK: %[[LABEL:.+]] = stablehlo.reshape %[[LABELS]] : (tensor<4x1x1xi32>) -> tensor<4xi32>
// CHECK: %[[OF_ROWS:.+]] = stablehlo.broadcast_in_dim %[[LABEL]], dims = [0] : (tensor<4xi32>) -> tensor<4x8xi32>
// CHECK: %[[PLACES:.+]] = stablehlo.iota dim = 1 : tensor<4x8xi32>
// CHECK: %[[FLAT:.+]] = stablehlo.reshape %[[U]] : (tensor<4x1xf32>) -> tensor<4xf32>
// CHECK: %[[ROWS:.+]] = stablehlo.broadcast_in_dim %[[FLAT]], dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
// CHECK: %[[IS:.+]] = stablehlo.compare EQ, %[[PLACES]], %[[OF_ROWS]], SIGNED
// CHECK: stablehlo.select %[[IS]], %[[ROWS]], %{{.+}} : tensor<4x8xi1>, tensor<4x8xf32>
// CHECK-NOT: stablehlo.scatter
func.func @rows(%labels: tensor<4x1x1xi32>, %u: tensor<4x1xf32>) -> tensor<4x8xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %0 = "stablehlo.scatter"(%zeros, %labels, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0],
      scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<4x1x1xi32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Whole rows, several of which may be one, are added.
// CHECK-LABEL: func.func @embedding(
// CHECK: stablehlo.scatter
func.func @embedding(%tokens: tensor<4x1xi32>, %u: tensor<4x8xf32>) -> tensor<16x8xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<16x8xf32>
  %0 = "stablehlo.scatter"(%zeros, %tokens, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<16x8xf32>, tensor<4x1xi32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  return %0 : tensor<16x8xf32>
}
