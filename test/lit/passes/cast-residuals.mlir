// A loop that goes on until a residual is below 1e-4 computes that, and what it is computed of, in f32: the carried value, its
// next one and their product with a matrix, which is carried as it is stored. What is read behind the loop is f16 again.
// RUN: scalify-opt %s --split-input-file --scalify-cast=precision=fp16 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: stablehlo.while({{.+}}) : tensor<4x8xf32>, tensor<8x8xf16>, tensor<f32>, tensor<4x8xf16>
// CHECK: stablehlo.dot_general {{.+}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK: stablehlo.subtract {{.+}} : tensor<4x8xf32>
// CHECK: stablehlo.convert {{.+}} : (tensor<4x8xf32>) -> tensor<4x8xf16>
// CHECK: stablehlo.dot_general {{.+}} : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf32>
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %close = stablehlo.constant dense<1.0e-4> : tensor<f32>
  %z, %u, %r, %y = stablehlo.while(%a = %x, %b = %w, %c = %one, %d = %x) : tensor<4x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<4x8xf32>
    cond {
      %go = stablehlo.compare GT, %c, %close : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %1 = stablehlo.tanh %0 : tensor<4x8xf32>
      %2 = stablehlo.subtract %1, %a : tensor<4x8xf32>
      %3 = stablehlo.abs %2 : tensor<4x8xf32>
      %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
      %5 = stablehlo.dot_general %d, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %7 = stablehlo.tanh %5 : tensor<4x8xf32>
      stablehlo.return %1, %b, %4, %7 : tensor<4x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<4x8xf32>
    }
  %6 = stablehlo.dot_general %z, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %6, %y : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----
// Time that is compared with its end is no residual, nor is what f16 can tell from 0.05.

// CHECK-LABEL: func.func @times(
// CHECK: stablehlo.while({{.+}}) : tensor<4x8xf16>, tensor<f32>
// CHECK: stablehlo.while({{.+}}) : tensor<4x8xf16>, tensor<f32>
func.func @times(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %step = stablehlo.constant dense<1.0e-3> : tensor<f32>
  %end = stablehlo.constant dense<1.0> : tensor<f32>
  %far = stablehlo.constant dense<5.0e-2> : tensor<f32>
  %z, %t = stablehlo.while(%a = %x, %c = %zero) : tensor<4x8xf32>, tensor<f32>
    cond {
      %go = stablehlo.compare LT, %c, %end : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %0 = stablehlo.multiply %a, %x : tensor<4x8xf32>
      %1 = stablehlo.add %c, %step : tensor<f32>
      stablehlo.return %0, %1 : tensor<4x8xf32>, tensor<f32>
    }
  %y, %r = stablehlo.while(%a = %z, %c = %end) : tensor<4x8xf32>, tensor<f32>
    cond {
      %go = stablehlo.compare GT, %c, %far : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %0 = stablehlo.multiply %a, %x : tensor<4x8xf32>
      %1 = stablehlo.subtract %0, %a : tensor<4x8xf32>
      %2 = stablehlo.abs %1 : tensor<4x8xf32>
      %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
      stablehlo.return %0, %3 : tensor<4x8xf32>, tensor<f32>
    }
  return %y : tensor<4x8xf32>
}
