// The weight of a loop is rounded before it, once, and laid out along the dimension that the product sums over.
// RUN: scalify-opt %s --scalify-fp8-dots=head=true | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[W0:[^:]+]]: tensor<16x16xf16>
// CHECK-DAG: %[[WC:.+]] = stablehlo.clamp %{{.+}}, %[[W0]], %{{.+}}
// CHECK-DAG: %[[W:.+]] = stablehlo.convert %[[WC]] : (tensor<16x16xf16>) -> tensor<16x16xf8E4M3FN>
// CHECK: %[[T:.+]] = stablehlo.transpose %[[W]], dims = [1, 0]
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: %[[H:.+]] = stablehlo.convert %{{.+}} : (tensor<8x16xf16>) -> tensor<8x16xf8E4M3FN>
// CHECK-NOT: tensor<16x16xf16>) -> tensor<16x16xf8E4M3FN>
// CHECK: stablehlo.dot_general %[[H]], %[[T]], contracting_dims = [1] x [1]
func.func @main(%w: tensor<16x16xf16>, %h: tensor<8x16xf16>, %n: tensor<i32>) -> tensor<8x16xf16> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %v = %w, %x = %h) : tensor<i32>, tensor<16x16xf16>, tensor<8x16xf16>
  cond {
    %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %y = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
       : (tensor<8x16xf16>, tensor<16x16xf16>) -> tensor<8x16xf16>
    %z = stablehlo.tanh %y : tensor<8x16xf16>
    stablehlo.return %next, %v, %z : tensor<i32>, tensor<16x16xf16>, tensor<8x16xf16>
  }
  return %r#2 : tensor<8x16xf16>
}
