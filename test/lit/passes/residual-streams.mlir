// The cotangent of a residual stream, in programs of narrow types: a block that starts with a normalisation adds to it in
// proportion to what it adds to the stream, so that it grows as the stream shrinks on the way back.
// RUN: scalify-opt --no-vector-scales %s | FileCheck %s

// The stream is x, then y = x + b. Its cotangent g' = g / |y| has that scale in it; the block's, over |x|, adds to it.
// CHECK-LABEL: func.func @main(
// CHECK: %[[Y:.+]] = stablehlo.maximum {{.*}} : tensor<f32>
// CHECK: %[[OVER_X:.+]] = stablehlo.maximum {{.*}} : tensor<f32>
// CHECK: %[[OVER_Y:.+]] = stablehlo.maximum %[[Y]], {{.*}} : tensor<f32>
// CHECK: %[[G:.+]] = stablehlo.maximum {{.*}} : tensor<f32>
// CHECK: stablehlo.dot_general
// CHECK: %[[GROWTH:.+]] = stablehlo.divide %[[OVER_Y]], %[[OVER_X]] : tensor<f32>
// CHECK: %[[GROWN:.+]] = stablehlo.multiply %[[GROWTH]], %[[G]] : tensor<f32>
// CHECK: %[[RESULT:.+]] = stablehlo.maximum %[[GROWN]], {{.*}} : tensor<f32>
// CHECK: return {{.*}}, %[[RESULT]] : tensor<4x8xf16>, tensor<f32>
func.func @main(%x: tensor<4x8xf16>, %b: tensor<4x8xf16>, %w: tensor<8x8xf16>, %g: tensor<4x8xf16>, %h: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %epsilon = stablehlo.constant dense<1.0e-5> : tensor<4xf32>
  %y = stablehlo.add %x, %b : tensor<4x8xf16>
  %0 = stablehlo.convert %x : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %1 = stablehlo.multiply %0, %0 : tensor<4x8xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = stablehlo.add %2, %epsilon : tensor<4xf32>
  %4 = stablehlo.rsqrt %3 : tensor<4xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %6 = stablehlo.convert %y : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %7 = stablehlo.multiply %6, %6 : tensor<4x8xf32>
  %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %9 = stablehlo.add %8, %epsilon : tensor<4xf32>
  %10 = stablehlo.rsqrt %9 : tensor<4xf32>
  %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %12 = stablehlo.convert %g : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %13 = stablehlo.multiply %12, %11 : tensor<4x8xf32>
  %14 = stablehlo.convert %13 : (tensor<4x8xf32>) -> tensor<4x8xf16>
  %15 = stablehlo.add %14, %h : tensor<4x8xf16>
  %16 = stablehlo.dot_general %15, %w, contracting_dims = [1] x [1] : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf16>
  %17 = stablehlo.convert %16 : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %18 = stablehlo.multiply %17, %5 : tensor<4x8xf32>
  %19 = stablehlo.convert %18 : (tensor<4x8xf32>) -> tensor<4x8xf16>
  %20 = stablehlo.add %15, %19 : tensor<4x8xf16>
  return %20 : tensor<4x8xf16>
}
