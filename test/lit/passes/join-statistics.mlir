// Sums of squares of one shape, of which only the exponent is read, are one reduction; what follows the first waits for it.
// RUN: scalify-opt %s --scalify-join-statistics | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[A:.+]] = stablehlo.multiply %[[X:.+]], %[[X]] : tensor<4xf32>
// CHECK-NOT: stablehlo.sqrt
// CHECK: %[[B:.+]] = stablehlo.multiply %[[Y:.+]], %[[Y]] : tensor<4xf32>
// CHECK: stablehlo.reduce(%[[A]] init: %{{.+}}), (%[[B]] init: %{{.+}}) across dimensions = [0]
// CHECK: stablehlo.sqrt
// CHECK: stablehlo.sqrt
// CHECK-NOT: stablehlo.reduce
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<i32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %mask = stablehlo.constant dense<2139095040> : tensor<i32>
  %a = stablehlo.multiply %x, %x : tensor<4xf32>
  %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %s1 = stablehlo.sqrt %s : tensor<f32>
  %s2 = stablehlo.bitcast_convert %s1 : (tensor<f32>) -> tensor<i32>
  %s3 = stablehlo.and %s2, %mask : tensor<i32>
  %b = stablehlo.multiply %y, %y : tensor<4xf32>
  %t = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %t1 = stablehlo.sqrt %t : tensor<f32>
  %t2 = stablehlo.bitcast_convert %t1 : (tensor<f32>) -> tensor<i32>
  %t3 = stablehlo.and %t2, %mask : tensor<i32>
  return %s3, %t3 : tensor<i32>, tensor<i32>
}
