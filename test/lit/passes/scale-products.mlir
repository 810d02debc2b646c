// A product of scales is formed from one that exists: the second result's scale is the first one's times one factor.
// RUN: scalify-opt %s | FileCheck %s

// CHECK-LABEL: func.func @quotient(
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<f32> {scalify.role = "scale"}
// CHECK: %[[AB:.+]] = stablehlo.multiply %[[A]], {{.*}} : tensor<f32>
// CHECK: %[[FIRST:.+]] = stablehlo.divide %[[AB]], {{.*}} : tensor<f32>
// CHECK: %[[SECOND:.+]] = stablehlo.multiply %[[FIRST]], {{.*}} : tensor<f32>
// CHECK-NOT: stablehlo.divide {{.*}} : tensor<f32>
// CHECK: return
func.func @quotient(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>, %d: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = stablehlo.multiply %a, %b : tensor<4x8xf32>
  %1 = stablehlo.divide %0, %c : tensor<4x8xf32>
  %2 = stablehlo.multiply %1, %d : tensor<4x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}
