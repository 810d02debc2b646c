// A table of positions, normalised by its own sums, as an interpolation's is: the product with it resamples a signal, and
// stays out of FP8. The product with weights does not.
// RUN: scalify-opt %s --scalify-cast=precision=fp8 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: stablehlo.dot_general {{.*}}scalify.kept{{.*}} (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf32>
// CHECK-NOT: scalify.kept
// CHECK: stablehlo.dot_general {{.*}} (tensor<32x16xf16>, tensor<16x64xf16>) -> tensor<32x64xf32>
func.func @main(%x: tensor<32x64xf32>, %w: tensor<16x64xf32>) -> tensor<32x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<64x16xf32>
  %i = stablehlo.iota dim = 0 : tensor<64x16xf32>
  %j = stablehlo.iota dim = 1 : tensor<64x16xf32>
  %d = stablehlo.subtract %i, %j : tensor<64x16xf32>
  %a = stablehlo.abs %d : tensor<64x16xf32>
  %t = stablehlo.add %a, %one : tensor<64x16xf32>
  %s = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x16xf32>, tensor<f32>) -> tensor<16xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<16xf32>) -> tensor<64x16xf32>
  %table = stablehlo.divide %t, %b : tensor<64x16xf32>
  %y = stablehlo.dot_general %x, %table, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %z = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
  return %z : tensor<32x64xf32>
}
