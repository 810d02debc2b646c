// What f16 would lose stays in f32: a running maximum from far below, and what a logarithm is taken of.
// RUN: scalify-opt %s --scalify-cast=precision=fp16 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<4x8xf32>
// CHECK: stablehlo.maximum %{{.+}}, %{{.+}} : tensor<4x8xf32>
// CHECK: %[[E:.+]] = stablehlo.exponential %{{.+}} : tensor<4x8xf32>
// CHECK: %[[P:.+]] = stablehlo.multiply %[[E]], %{{.+}} : tensor<4x8xf32>
// CHECK: stablehlo.log %[[P]] : tensor<4x8xf32>
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %far = stablehlo.constant dense<-1.0e30> : tensor<4x8xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %r:2 = stablehlo.while(%i = %zero, %m = %far) : tensor<i32>, tensor<4x8xf32>
  cond {
    %go = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %m2 = stablehlo.maximum %m, %y : tensor<4x8xf32>
    stablehlo.return %next, %m2 : tensor<i32>, tensor<4x8xf32>
  }
  %d = stablehlo.subtract %y, %r#1 : tensor<4x8xf32>
  %e = stablehlo.exponential %d : tensor<4x8xf32>
  %p = stablehlo.multiply %e, %e : tensor<4x8xf32>
  %l = stablehlo.log %p : tensor<4x8xf32>
  return %l : tensor<4x8xf32>
}
