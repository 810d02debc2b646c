// A step size that is told by the product of the gradient with a sum of gradients: an optimiser's number. The sum of
// gradients, which is read by that product besides, is no parameter, and the product is the optimiser's arithmetic.
// RUN: scalify-opt %s --scalify-cast=precision=fp16-state | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[W:[^:]+]]: tensor<64x16xf16>
// CHECK-SAME: %[[S:[^:]+]]: tensor<64x16xf32>
// CHECK: stablehlo.dot_general {{.*}} (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf32>
// CHECK: stablehlo.dot_general {{.*}} (tensor<32x64xf16>, tensor<32x16xf16>) -> tensor<64x16xf32>
// CHECK: stablehlo.reshape {{.*}} (tensor<64x16xf32>) -> tensor<1024xf32>
// CHECK: stablehlo.dot_general {{.*}} (tensor<1024xf32>, tensor<1024xf32>) -> tensor<f32>
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32> {tf.aliasing_output = 0 : i32}, %s: tensor<64x16xf32> {tf.aliasing_output = 1 : i32}, %n: tensor<f32>)
    -> (tensor<64x16xf32>, tensor<64x16xf32>, tensor<f32>) {
  %r = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %t = stablehlo.tanh %y : tensor<32x16xf32>
  %g = stablehlo.dot_general %x, %t, contracting_dims = [0] x [0] : (tensor<32x64xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %gf = stablehlo.reshape %g : (tensor<64x16xf32>) -> tensor<1024xf32>
  %sf = stablehlo.reshape %s : (tensor<64x16xf32>) -> tensor<1024xf32>
  %d = stablehlo.dot_general %gf, %sf, contracting_dims = [0] x [0] : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<f32>
  %n2 = stablehlo.maximum %n, %d : tensor<f32>
  %u = stablehlo.multiply %r, %g : tensor<64x16xf32>
  %s2 = stablehlo.add %s, %u : tensor<64x16xf32>
  %w2 = stablehlo.subtract %w, %u : tensor<64x16xf32>
  return %w2, %s2, %n2 : tensor<64x16xf32>, tensor<64x16xf32>, tensor<f32>
}
