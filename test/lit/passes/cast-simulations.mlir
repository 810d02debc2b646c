// What a loop carries and computes of itself alone is f32; what a product gives it, or what it stacks for one to read, is not.
// RUN: scalify-opt %s --split-input-file --scalify-cast=precision=fp16 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: stablehlo.while({{.+}}) : tensor<4x8xf32>, tensor<8x8xf16>, tensor<4x8xf16>, tensor<i32>
// CHECK: stablehlo.multiply {{.+}} : tensor<4x8xf32>
// CHECK: stablehlo.add {{.+}} : tensor<4x8xf32>
// CHECK: stablehlo.dot_general {{.+}} : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf32>
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %most = stablehlo.constant dense<9> : tensor<i32>
  %up = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %down = stablehlo.constant dense<-1.0> : tensor<4x8xf32>
  %z, %u, %y, %n = stablehlo.while(%a = %x, %b = %w, %c = %x, %i = %zero) : tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<i32>
    cond {
      %go = stablehlo.compare LT, %i, %most : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %p = stablehlo.compare GT, %c, %up : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
      %f = stablehlo.select %p, %up, %down : tensor<4x8xi1>, tensor<4x8xf32>
      %0 = stablehlo.multiply %a, %a : tensor<4x8xf32>
      %1 = stablehlo.add %0, %f : tensor<4x8xf32>
      %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      %3 = stablehlo.tanh %2 : tensor<4x8xf32>
      %4 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %1, %b, %3, %4 : tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<i32>
    }
  return %z, %y : tensor<4x8xf32>, tensor<4x8xf32>
}
