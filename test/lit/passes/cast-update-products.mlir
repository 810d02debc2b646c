// A momentum that is made orthogonal, m m^T m, by the optimiser: its products read no activation and stay in f32.
// RUN: scalify-opt %s --scalify-cast=precision=fp16 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: stablehlo.dot_general {{.*}} (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf32>
// CHECK: stablehlo.dot_general {{.*}} (tensor<32x64xf16>, tensor<32x16xf16>) -> tensor<64x16xf32>
// CHECK: %[[M2:.+]] = stablehlo.add %{{.+}}, %{{.+}} : tensor<64x16xf32>
// CHECK: %[[A:.+]] = stablehlo.dot_general %[[M2]], %[[M2]], {{.*}} (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
// CHECK: %[[O:.+]] = stablehlo.dot_general %[[M2]], %[[A]], {{.*}} (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
// CHECK: stablehlo.subtract %{{.+}}, %[[O]] : tensor<64x16xf32>
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32> {tf.aliasing_output = 0 : i32}, %m: tensor<64x16xf32> {tf.aliasing_output = 1 : i32})
    -> (tensor<64x16xf32>, tensor<64x16xf32>) {
  %b = stablehlo.constant dense<0.9> : tensor<64x16xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %t = stablehlo.tanh %y : tensor<32x16xf32>
  %g = stablehlo.dot_general %x, %t, contracting_dims = [0] x [0] : (tensor<32x64xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %bm = stablehlo.multiply %b, %m : tensor<64x16xf32>
  %m2 = stablehlo.add %bm, %g : tensor<64x16xf32>
  %a = stablehlo.dot_general %m2, %m2, contracting_dims = [0] x [0] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
  %o = stablehlo.dot_general %m2, %a, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %w2 = stablehlo.subtract %w, %o : tensor<64x16xf32>
  return %w2, %m2 : tensor<64x16xf32>, tensor<64x16xf32>
}
