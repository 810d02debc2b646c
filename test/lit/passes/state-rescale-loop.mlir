// State that a loop of updates carries is measured in each iteration, and by what follows the loop no more.
// RUN: scalify-opt %s --scalify-state-rescale | FileCheck %s
// RUN: scalify-opt %s --precision=fp16-state | FileCheck %s --check-prefix=SCALED

// CHECK-LABEL: func.func @main(
// CHECK: %[[LOOP:.+]]:2 = stablehlo.while
// CHECK: %[[W:.+]] = stablehlo.subtract
// CHECK: %[[PAIR:.+]]:2 = stablehlo.composite "scalify.get_data_and_scale" %[[W]]
// CHECK: %[[NEW:.+]] = stablehlo.composite "scalify.set_scaling" %[[W]]
// CHECK: stablehlo.return %{{.+}}, %[[NEW]]
// CHECK-NOT: stablehlo.composite
// CHECK: return %[[LOOP]]#1
// The scale is carried beside the data, and returned as it leaves the last iteration.
// SCALED-LABEL: func.func @main(
// SCALED: %[[LOOP:.+]]:3 = stablehlo.while
// SCALED: %[[SCALE:.+]] = stablehlo.maximum %[[LOOP]]#2
// SCALED: return %{{.+}}, %[[SCALE]]
func.func @main(%x: tensor<32x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %times = stablehlo.constant dense<10> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %v = %w) : tensor<i32>, tensor<16x16xf32>
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
  return %r#1 : tensor<16x16xf32>
}
