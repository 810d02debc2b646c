// A sum of a product and another tensor that several operations read is written once; a new state is left alone.
// RUN: scalify-opt %s --scalify-hold-sums | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[H:.+]] = stablehlo.dot_general
// CHECK: %[[F:.+]] = stablehlo.dot_general %[[H]]
// CHECK: %[[NEAR:.+]] = stablehlo.multiply %[[F]], %{{.+}}
// CHECK: %[[SUM:.+]] = stablehlo.add %[[H]], %[[NEAR]] : tensor<8x16xf32>
// CHECK: %[[HELD:.+]] = stablehlo.optimization_barrier %[[SUM]] : tensor<8x16xf32>
// CHECK: %[[G:.+]] = stablehlo.tanh %[[HELD]]
// CHECK: %[[DW:.+]] = stablehlo.dot_general %[[HELD]], %[[G]]
// CHECK: %[[NEW:.+]] = stablehlo.add %{{.+}}, %[[DW]] : tensor<16x16xf32>
// CHECK-NOT: stablehlo.optimization_barrier
// CHECK: stablehlo.tanh %[[NEW]]
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %s: tensor<f32>)
    -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %f = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0]
      : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
  %factor = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
  %near = stablehlo.multiply %f, %factor : tensor<8x16xf32>
  %sum = stablehlo.add %h, %near : tensor<8x16xf32>
  %g = stablehlo.tanh %sum : tensor<8x16xf32>
  %dw = stablehlo.dot_general %sum, %g, contracting_dims = [0] x [0]
      : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16x16xf32>
  %new = stablehlo.add %w, %dw : tensor<16x16xf32>
  %t = stablehlo.tanh %new : tensor<16x16xf32>
  return %new, %t : tensor<16x16xf32>, tensor<16x16xf32>
}
