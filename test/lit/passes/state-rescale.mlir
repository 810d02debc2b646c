// The new value of a state tensor: its scale is multiplied by a power of two if a sample of its data is far from unit size.
// RUN: scalify-opt %s --scalify-state-rescale=kinds=parameters | FileCheck %s
// RUN: scalify-opt %s --scalify-state-rescale | FileCheck %s --check-prefix=BOTH

// CHECK-LABEL: func.func @main(
// CHECK: %[[M:.+]] = stablehlo.add
// CHECK: %[[W:.+]] = stablehlo.subtract
// CHECK: %[[PAIR:.+]]:2 = stablehlo.composite "scalify.get_data_and_scale" %[[W]]
// CHECK: %[[SAMPLE:.+]] = stablehlo.slice %[[PAIR]]#0 [0:128:3, 0:64:3]
// CHECK: %[[ROW:.+]] = stablehlo.reshape %[[SAMPLE]] : (tensor<43x22xf32>) -> tensor<1x946xf32>
// CHECK: %[[SQUARES:.+]] = stablehlo.multiply %[[ROW]], %[[ROW]]
// CHECK: stablehlo.reduce(%[[SQUARES]] init: %{{.+}}) applies stablehlo.add
// CHECK: stablehlo.compare LT
// CHECK: stablehlo.compare GT
// CHECK: %[[FACTORS:.+]] = stablehlo.select {{.+}} : tensor<1xi1>, tensor<1xf32>
// CHECK: stablehlo.slice %[[FACTORS]] [0:1]
// CHECK: %[[FACTOR:.+]] = stablehlo.reshape
// CHECK: %[[SCALE:.+]] = stablehlo.multiply %[[PAIR]]#1, %[[FACTOR]] : tensor<f32>
// CHECK: %[[NEW:.+]] = stablehlo.composite "scalify.set_scaling" %[[W]], %[[SCALE]]
// CHECK: return %[[NEW]], %[[M]]
// BOTH-LABEL: func.func @main(
// BOTH-COUNT-2: stablehlo.composite "scalify.set_scaling"
// BOTH-NOT: stablehlo.composite "scalify.set_scaling"
func.func @main(%x: tensor<32x128xf32>, %w: tensor<128x64xf32>, %m: tensor<128x64xf32>)
    -> (tensor<128x64xf32>, tensor<128x64xf32>) {
  %decay = stablehlo.constant dense<0.9> : tensor<128x64xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<32x128xf32>, tensor<128x64xf32>) -> tensor<32x64xf32>
  %g = stablehlo.tanh %y : tensor<32x64xf32>
  %dw = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
     : (tensor<32x128xf32>, tensor<32x64xf32>) -> tensor<128x64xf32>
  %md = stablehlo.multiply %m, %decay : tensor<128x64xf32>
  %m2 = stablehlo.add %md, %dw : tensor<128x64xf32>
  %w2 = stablehlo.subtract %w, %m2 : tensor<128x64xf32>
  return %w2, %m2 : tensor<128x64xf32>, tensor<128x64xf32>
}
