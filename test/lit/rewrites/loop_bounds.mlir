// A scale that an iteration multiplies, below a bound: whether it goes up is compared before the loop, which carries none.
// RUN: scalify-opt %s --scalify | FileCheck %s

// h <- tanh(x + h w) from zeros: that of x where w is small, else 1, the bound of tanh
// CHECK-LABEL: func.func @main(
// CHECK: %[[FIRST:.+]] = stablehlo.minimum
// CHECK: %[[NEXT:.+]] = stablehlo.minimum
// CHECK: %[[RISES:.+]] = stablehlo.compare LT, %[[FIRST]], %[[NEXT]] : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: %[[SCALE:.+]] = stablehlo.select %[[RISES]], %{{.+}}, %[[FIRST]] : tensor<i1>, tensor<f32>
// CHECK: %[[LOOP:.+]]:2 = stablehlo.while({{.*}}) : tensor<i32>, tensor<4x4xf16>
// CHECK: } do {
// CHECK-NOT: stablehlo.compare
// CHECK: stablehlo.tanh
// CHECK: return %[[LOOP]]#1, %[[SCALE]]
func.func @main(%x: tensor<4x4xf16>, %w: tensor<4x4xf16>) -> tensor<4x4xf16> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x4xf16>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %times = stablehlo.constant dense<10> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %h = %zeros) : tensor<i32>, tensor<4x4xf16>
  cond {
    %more = stablehlo.compare LT, %i, %times : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %y = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    %s = stablehlo.add %x, %y : tensor<4x4xf16>
    %t = stablehlo.tanh %s : tensor<4x4xf16>
    stablehlo.return %next, %t : tensor<i32>, tensor<4x4xf16>
  }
  return %r#1 : tensor<4x4xf16>
}
