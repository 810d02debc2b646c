// Operations on elements are f32, and what lies in memory between kernels is f16: operands and results of products, and sums
// of several tensors that are read again.
// RUN: scalify-opt %s --scalify-cast=precision=fp16 | FileCheck %s

// What is computed of one tensor is computed again from it by the backward pass: nothing of tanh is rounded. The gradient
// of h is read by a product and summed: it is rounded behind the last operation. XLA, which may compute more exactly than
// it is told, would leave out both conversions, and write f32: not those on two sides of a barrier.
// CHECK-LABEL: func.func @main(
// CHECK: %[[H16:.+]] = stablehlo.convert %{{.+}} : (tensor<32x64xf32>) -> tensor<32x64xf16>
// CHECK: %[[H:.+]] = stablehlo.convert %[[H16]] : (tensor<32x64xf16>) -> tensor<32x64xf32>
// CHECK: %[[SQUARE:.+]] = stablehlo.multiply %[[H]], %[[H]] : tensor<32x64xf32>
// CHECK: %[[CUBE:.+]] = stablehlo.multiply %[[SQUARE]], %[[H]] : tensor<32x64xf32>
// CHECK: %[[T:.+]] = stablehlo.tanh %[[CUBE]] : tensor<32x64xf32>
// CHECK: %[[A:.+]] = stablehlo.convert %[[T]] : (tensor<32x64xf32>) -> tensor<32x64xf16>
// CHECK: stablehlo.dot_general %[[A]], %{{.+}} (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf32>
// CHECK: %[[TT:.+]] = stablehlo.multiply %[[T]], %[[T]] : tensor<32x64xf32>
// CHECK: %[[ONE:.+]] = stablehlo.subtract %{{.+}}, %[[TT]] : tensor<32x64xf32>
// CHECK: %[[SLOPE:.+]] = stablehlo.multiply %[[ONE]], %[[SQUARE]] : tensor<32x64xf32>
// CHECK: %[[DH:.+]] = stablehlo.multiply %{{.+}}, %[[SLOPE]] : tensor<32x64xf32>
// CHECK: %[[DH16:.+]] = stablehlo.convert %[[DH]] : (tensor<32x64xf32>) -> tensor<32x64xf16>
// CHECK: %[[STORED:.+]] = stablehlo.optimization_barrier %[[DH16]] : tensor<32x64xf16>
// CHECK: stablehlo.dot_general %{{.+}}, %[[STORED]], contracting_dims = [0] x [0]
func.func @main(%x: tensor<32x8xf32>, %w: tensor<8x64xf32>, %b: tensor<64xf32>, %v: tensor<64x16xf32>)
    -> (tensor<8x64xf32>, tensor<64xf32>, tensor<64x16xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<32x64xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<32x8xf32>, tensor<8x64xf32>) -> tensor<32x64xf32>
  %square = stablehlo.multiply %h, %h : tensor<32x64xf32>
  %cube = stablehlo.multiply %square, %h : tensor<32x64xf32>
  %t = stablehlo.tanh %cube : tensor<32x64xf32>
  %y = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0]
     : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %dv = stablehlo.dot_general %t, %y, contracting_dims = [0] x [0]
     : (tensor<32x64xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %da = stablehlo.dot_general %y, %v, contracting_dims = [1] x [1]
     : (tensor<32x16xf32>, tensor<64x16xf32>) -> tensor<32x64xf32>
  %tt = stablehlo.multiply %t, %t : tensor<32x64xf32>
  %rest = stablehlo.subtract %one, %tt : tensor<32x64xf32>
  %slope = stablehlo.multiply %rest, %square : tensor<32x64xf32>
  %dh = stablehlo.multiply %da, %slope : tensor<32x64xf32>
  %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0]
     : (tensor<32x8xf32>, tensor<32x64xf32>) -> tensor<8x64xf32>
  %db = stablehlo.reduce(%dh init: %zero) applies stablehlo.add across dimensions = [0]
     : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
  %w2 = stablehlo.subtract %w, %dw : tensor<8x64xf32>
  %b2 = stablehlo.subtract %b, %db : tensor<64xf32>
  %v2 = stablehlo.subtract %v, %dv : tensor<64x16xf32>
  return %w2, %b2, %v2 : tensor<8x64xf32>, tensor<64xf32>, tensor<64x16xf32>
}
