// RUN: scalify-opt %s | FileCheck %s

// The scale of x^6 would leave the range of f32 for some x: it is computed on values, and of x^3 over its root the size is
// not that of x^3. The quotient is a value as well, of size 1.
// CHECK-LABEL: func.func public @normalised_cube(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xf32> {scalify.role = "data"}, %[[S:[a-z0-9]+]]: tensor<f32>
// CHECK: %[[ONE:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[X2:.*]] = stablehlo.multiply %[[X]], %[[X]]
// CHECK: %[[X3:.*]] = stablehlo.multiply %[[X2]], %[[X]]
// CHECK: %[[S2:.*]] = stablehlo.multiply %[[S]], %[[S]]
// CHECK: %[[S3:.*]] = stablehlo.multiply %[[S2]], %[[S]]
// CHECK: %[[FACTOR:.*]] = stablehlo.broadcast_in_dim %[[S3]]
// CHECK: %[[VALUE:.*]] = stablehlo.multiply %[[X3]], %[[FACTOR]]
// CHECK: %[[SIXTH:.*]] = stablehlo.multiply %[[VALUE]], %[[VALUE]]
// CHECK: %[[ROOT:.*]] = stablehlo.sqrt %[[SIXTH]]
// CHECK: %[[QUOTIENT:.*]] = stablehlo.divide %[[X3]], %[[ROOT]]
// CHECK: %[[RESULT:.*]] = stablehlo.multiply %[[QUOTIENT]], %[[FACTOR]]
// CHECK: return %[[RESULT]], %[[ONE]]
func.func public @normalised_cube(%x: tensor<8xf32>) -> tensor<8xf32> {
  %square = stablehlo.multiply %x, %x : tensor<8xf32>
  %cube = stablehlo.multiply %square, %x : tensor<8xf32>
  %sixth = stablehlo.multiply %cube, %cube : tensor<8xf32>
  %root = stablehlo.sqrt %sixth : tensor<8xf32>
  %quotient = stablehlo.divide %cube, %root : tensor<8xf32>
  return %quotient : tensor<8xf32>
}
