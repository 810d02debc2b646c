// The gradient that enters the optimiser is rescaled: its scale is multiplied by a statistic of its data.
// RUN: scalify-opt %s --scalify-auto-rescale=places=gradients | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: stablehlo.tanh
// CHECK: %[[DW:.+]] = stablehlo.dot_general
// CHECK: %[[PAIR:.+]]:2 = stablehlo.composite "scalify.get_data_and_scale" %[[DW]]
// CHECK: %[[SQUARES:.+]] = stablehlo.multiply %[[PAIR]]#0, %[[PAIR]]#0
// CHECK: stablehlo.reduce(%[[SQUARES]] init: %{{.+}}) applies stablehlo.add
// CHECK: stablehlo.sqrt
// CHECK: %[[FACTOR:.+]] = stablehlo.select
// CHECK: %[[SCALE:.+]] = stablehlo.multiply %[[PAIR]]#1, %[[FACTOR]] : tensor<f32>
// CHECK: %[[G:.+]] = stablehlo.composite "scalify.set_scaling" %[[DW]], %[[SCALE]]
// CHECK: stablehlo.add %{{.+}}, %[[G]]
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>, %m: tensor<64x16xf32>)
    -> (tensor<64x16xf32>, tensor<64x16xf32>) {
  %decay = stablehlo.constant dense<0.9> : tensor<64x16xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %g = stablehlo.tanh %y : tensor<32x16xf32>
  %dw = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
     : (tensor<32x64xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %md = stablehlo.multiply %m, %decay : tensor<64x16xf32>
  %m2 = stablehlo.add %md, %dw : tensor<64x16xf32>
  %w2 = stablehlo.subtract %w, %m2 : tensor<64x16xf32>
  return %w2, %m2 : tensor<64x16xf32>, tensor<64x16xf32>
}
