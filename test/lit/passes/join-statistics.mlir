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

// What four of them are multiplied by and follow is computed of vectors: x_i = max(s_i sqrt(t_i), c).
// CHECK-LABEL: func.func @lanes(
// CHECK: %[[SUMS:.+]]:4 = stablehlo.reduce
// CHECK: %[[VECTOR:.+]] = stablehlo.concatenate {{.+}} -> tensor<4xf32>
// CHECK: %[[ROOTS:.+]] = stablehlo.sqrt %[[VECTOR]] : tensor<4xf32>
// CHECK: %[[BITS:.+]] = stablehlo.bitcast_convert %[[ROOTS]] : (tensor<4xf32>) -> tensor<4xi32>
// CHECK: %[[POWERS:.+]] = stablehlo.and %[[BITS]], %{{.+}} : tensor<4xi32>
// CHECK: %[[NUMBERS:.+]] = stablehlo.bitcast_convert %[[POWERS]] : (tensor<4xi32>) -> tensor<4xf32>
// CHECK: %[[OWN:.+]] = stablehlo.concatenate {{.+}} -> tensor<4xf32>
// CHECK: %[[SCALES:.+]] = stablehlo.multiply %[[OWN]], %[[NUMBERS]] : tensor<4xf32>
// CHECK: %[[HELD:.+]] = stablehlo.optimization_barrier %[[SCALES]] : tensor<4xf32>
// CHECK: stablehlo.slice %[[HELD]] [0:1]
// CHECK-NOT: stablehlo.sqrt
func.func @lanes(%w: tensor<4xf32>, %x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>, %s: tensor<f32>,
    %t: tensor<f32>, %u: tensor<f32>, %v: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %mask = stablehlo.constant dense<2139095040> : tensor<i32>
  %a = stablehlo.multiply %w, %w : tensor<4xf32>
  %a0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %a1 = stablehlo.sqrt %a0 : tensor<f32>
  %a2 = stablehlo.bitcast_convert %a1 : (tensor<f32>) -> tensor<i32>
  %a3 = stablehlo.and %a2, %mask : tensor<i32>
  %a4 = stablehlo.bitcast_convert %a3 : (tensor<i32>) -> tensor<f32>
  %a5 = stablehlo.multiply %s, %a4 : tensor<f32>
  %b = stablehlo.multiply %x, %x : tensor<4xf32>
  %b0 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %b1 = stablehlo.sqrt %b0 : tensor<f32>
  %b2 = stablehlo.bitcast_convert %b1 : (tensor<f32>) -> tensor<i32>
  %b3 = stablehlo.and %b2, %mask : tensor<i32>
  %b4 = stablehlo.bitcast_convert %b3 : (tensor<i32>) -> tensor<f32>
  %b5 = stablehlo.multiply %t, %b4 : tensor<f32>
  %c = stablehlo.multiply %y, %y : tensor<4xf32>
  %c0 = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %c1 = stablehlo.sqrt %c0 : tensor<f32>
  %c2 = stablehlo.bitcast_convert %c1 : (tensor<f32>) -> tensor<i32>
  %c3 = stablehlo.and %c2, %mask : tensor<i32>
  %c4 = stablehlo.bitcast_convert %c3 : (tensor<i32>) -> tensor<f32>
  %c5 = stablehlo.multiply %u, %c4 : tensor<f32>
  %d = stablehlo.multiply %z, %z : tensor<4xf32>
  %d0 = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %d1 = stablehlo.sqrt %d0 : tensor<f32>
  %d2 = stablehlo.bitcast_convert %d1 : (tensor<f32>) -> tensor<i32>
  %d3 = stablehlo.and %d2, %mask : tensor<i32>
  %d4 = stablehlo.bitcast_convert %d3 : (tensor<i32>) -> tensor<f32>
  %d5 = stablehlo.multiply %v, %d4 : tensor<f32>
  return %a5, %b5, %c5, %d5 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
