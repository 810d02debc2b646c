// A product with matrices of at most 4 by 4 is no faster in f16: it is f32, and so are the few numbers that it gives.
// RUN: scalify-opt %s --scalify-cast=precision=fp16 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: stablehlo.dot_general {{.+}} : (tensor<8x3x3xf32>, tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
// CHECK: stablehlo.dot_general {{.+}}tensor<8x3x5xf16>{{.+}} -> tensor<8x3x3xf32>
func.func @main(%turn: tensor<8x3x3xf32>, %x: tensor<8x3x5xf32>) -> (tensor<8x3x3xf32>, tensor<8x3x3xf32>) {
  %0 = stablehlo.dot_general %turn, %turn, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x3x3xf32>, tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  %1 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x3x5xf32>, tensor<8x3x5xf32>) -> tensor<8x3x3xf32>
  return %0, %1 : tensor<8x3x3xf32>, tensor<8x3x3xf32>
}
