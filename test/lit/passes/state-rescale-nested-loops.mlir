// A loop of loops: what the inner one measures is what the outer one carries, from an iteration to the next.
// RUN: scalify-opt %s --precision=fp16-state | FileCheck %s --check-prefix=SCALED

// SCALED-LABEL: func.func @main(
// SCALED: %[[OUTER:.+]]:3 = stablehlo.while({{.*}}, %[[S:[A-Za-z_0-9]+]] = %{{[a-z0-9]+}})
// SCALED: %[[INNER:.+]]:3 = stablehlo.while({{.*}} = %[[S]])
// SCALED: stablehlo.return %{{.+}}, %[[INNER]]#1, %[[INNER]]#2
// SCALED: %[[SCALE:.+]] = stablehlo.maximum %[[OUTER]]#2
// SCALED: return %{{.+}}, %[[SCALE]]
func.func @main(%x: tensor<32x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %times = stablehlo.constant dense<10> : tensor<i32>
  %o:2 = stablehlo.while(%e = %zero, %a = %w) : tensor<i32>, tensor<16x16xf32>
  cond {
    %more = stablehlo.compare LT, %e, %times : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %r:2 = stablehlo.while(%i = %zero, %v = %a) : tensor<i32>, tensor<16x16xf32>
    cond {
      %more = stablehlo.compare LT, %i, %times : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %y = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0]
         : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
      %g = stablehlo.tanh %y : tensor<32x16xf32>
      %dw = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
         : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
      %u = stablehlo.subtract %v, %dw : tensor<16x16xf32>
      stablehlo.return %next, %u : tensor<i32>, tensor<16x16xf32>
    }
    %following = stablehlo.add %e, %one : tensor<i32>
    stablehlo.return %following, %r#1 : tensor<i32>, tensor<16x16xf32>
  }
  return %o#1 : tensor<16x16xf32>
}
