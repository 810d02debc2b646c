// What a loop stacks of values with stand-ins for infinity among them is f32, though the stack starts as zeros; what it stacks
// of the exponentials of such is f16.
// RUN: scalify-opt %s --scalify-cast=precision=fp16 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: stablehlo.while({{.+}}) : tensor<i32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4x8xf16>
func.func @main(%cost: tensor<8xf32>, %mask: tensor<8xi1>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %first = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %count = stablehlo.constant dense<4> : tensor<i32>
  %far = stablehlo.constant dense<1.0e10> : tensor<8xf32>
  %empty = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %i, %d, %stack, %shares = stablehlo.while(%a = %first, %b = %cost, %c = %empty, %e = %empty) : tensor<i32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    cond {
      %go = stablehlo.compare LT, %a, %count : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %0 = stablehlo.select %mask, %b, %far : tensor<8xi1>, tensor<8xf32>
      %1 = stablehlo.add %0, %b : tensor<8xf32>
      %2 = stablehlo.reshape %1 : (tensor<8xf32>) -> tensor<1x8xf32>
      %3 = stablehlo.dynamic_update_slice %c, %2, %a, %first : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %4 = stablehlo.negate %2 : tensor<1x8xf32>
      %5 = stablehlo.exponential %4 : tensor<1x8xf32>
      %6 = stablehlo.dynamic_update_slice %e, %5, %a, %first : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %7 = stablehlo.add %a, %one : tensor<i32>
      stablehlo.return %7, %1, %3, %6 : tensor<i32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    }
  return %stack, %shares : tensor<4x8xf32>, tensor<4x8xf32>
}
