// A product with matrices of at most 4 by 4 is no faster in f16: it is f32, and so are the few numbers that it gives.
// RUN: scalify-opt %s --split-input-file --scalify-cast=precision=fp16 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: stablehlo.dot_general {{.+}} : (tensor<8x3x3xf32>, tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
// CHECK: stablehlo.dot_general {{.+}}tensor<8x3x5xf16>{{.+}} -> tensor<8x3x3xf32>
func.func @main(%turn: tensor<8x3x3xf32>, %x: tensor<8x3x5xf32>) -> (tensor<8x3x3xf32>, tensor<8x3x3xf32>) {
  %0 = stablehlo.dot_general %turn, %turn, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x3x3xf32>, tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  %1 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x3x5xf32>, tensor<8x3x5xf32>) -> tensor<8x3x3xf32>
  return %0, %1 : tensor<8x3x3xf32>, tensor<8x3x3xf32>
}

// -----
// The gradient of a matrix that many are multiplied by is contracted over them, which is a small product all the same: the
// few numbers are read as they are where the other operand is not larger, and rounded where it is.

// CHECK-LABEL: func.func @many(
// CHECK: stablehlo.dot_general {{.+}} : (tensor<8x3x3xf32>, tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
// CHECK: stablehlo.dot_general {{.+}} : (tensor<8x3x3xf32>, tensor<8x3x3xf32>) -> tensor<3x3xf32>
// CHECK: stablehlo.dot_general {{.+}} : (tensor<8x3x3xf16>, tensor<8x3x40xf16>) -> tensor<3x40xf32>
func.func @many(%turn: tensor<8x3x3xf32>, %x: tensor<8x3x40xf32>) -> (tensor<3x3xf32>, tensor<3x40xf32>) {
  %0 = stablehlo.dot_general %turn, %turn, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<8x3x3xf32>, tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  %1 = stablehlo.dot_general %0, %turn, contracting_dims = [0, 1] x [0, 1] : (tensor<8x3x3xf32>, tensor<8x3x3xf32>) -> tensor<3x3xf32>
  %2 = stablehlo.dot_general %0, %x, contracting_dims = [0, 1] x [0, 1] : (tensor<8x3x3xf32>, tensor<8x3x40xf32>) -> tensor<3x40xf32>
  return %1, %2 : tensor<3x3xf32>, tensor<3x40xf32>
}
