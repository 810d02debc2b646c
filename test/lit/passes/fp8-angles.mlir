// What sines are taken of stays out of FP8: an error of x / 16 in the angle x is an error of the sine, a radian for 16.
// The other product, which nothing takes a sine of, is one of FP8.
// RUN: scalify-opt %s --scalify-cast=precision=fp8 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: stablehlo.dot_general {{.*}}scalify.kept{{.*}} (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf32>
// CHECK: stablehlo.sine
// CHECK-NOT: scalify.kept
// CHECK: stablehlo.dot_general {{.*}} (tensor<32x16xf16>, tensor<16x64xf16>) -> tensor<32x64xf32>
func.func @main(%x: tensor<32x64xf32>, %f: tensor<64x16xf32>, %w: tensor<16x64xf32>) -> tensor<32x64xf32> {
  %ten = stablehlo.constant dense<10.0> : tensor<32x16xf32>
  %y = stablehlo.dot_general %x, %f, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %a = stablehlo.multiply %y, %ten : tensor<32x16xf32>
  %s = stablehlo.sine %a : tensor<32x16xf32>
  %z = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
  return %z : tensor<32x64xf32>
}
