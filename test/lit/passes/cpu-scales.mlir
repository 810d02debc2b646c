// On XLA:CPU the arithmetic of scales that waits for the same statistic of data is one kernel behind it, as long as it
// is not too short to be worth one: otherwise XLA computes it again in each kernel that reads a scale.
// RUN: scalify-opt %s --scalify-cpu-scales | FileCheck %s

// CHECK-LABEL: func.func @chain(
// CHECK: %[[X:.+]] = stablehlo.reduce
// A call is given one vector: XLA:CPU ends the process for a parameter that turns out to be a constant.
// CHECK: %[[X1:.+]] = stablehlo.reshape %[[X]]
// CHECK: %[[V:.+]] = stablehlo.concatenate %[[X1]]
// CHECK: %[[A:.+]]:3 = call @scales(%[[V]])
// CHECK-SAME: {mhlo.frontend_attributes = {inlineable = "false", xla_cpu_small_call = "true"}}
// CHECK: %[[Y:.+]] = stablehlo.reduce
// Of three numbers it is computed in place, and what follows it waits for it.
// CHECK: stablehlo.sqrt
// CHECK: %[[C:.+]] = stablehlo.multiply
// CHECK-NOT: stablehlo.maximum
// CHECK: %[[Z:.+]] = stablehlo.reduce
// CHECK: %[[Z1:.+]] = stablehlo.reshape %[[Z]]
// CHECK: %[[A1:.+]] = stablehlo.reshape %[[A]]#{{[01]}}
// CHECK: %[[C1:.+]] = stablehlo.reshape %[[C]]
// CHECK: %[[W:.+]] = stablehlo.concatenate %[[Z1]], %[[A1]], %[[C1]]
// CHECK: %[[B:.+]]:2 = call @scales_1(%[[W]])
// CHECK: return
// CHECK-LABEL: func.func private @scales(
// CHECK-COUNT-5: stablehlo.{{sqrt|multiply|maximum|divide}} {{.*}} : tensor<f32>
// CHECK: return
// CHECK-LABEL: func.func private @scales_1(
// CHECK-COUNT-4: stablehlo.{{sqrt|multiply|maximum|add}} {{.*}} : tensor<f32>
// CHECK: return
func.func @chain(%x: tensor<64xf32>, %y: tensor<64xf32>, %z: tensor<64xf32>, %scales: tensor<3xf32> {scalify.role = "scales"})
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  %0 = stablehlo.sqrt %sum : tensor<f32>
  %1 = stablehlo.multiply %0, %half : tensor<f32>
  %2 = stablehlo.maximum %1, %half : tensor<f32>
  %3 = stablehlo.divide %half, %2 : tensor<f32>
  %4 = stablehlo.multiply %3, %2 : tensor<f32>
  %5 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<64xf32>
  %6 = stablehlo.multiply %x, %5 : tensor<64xf32>
  %sum1 = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  %7 = stablehlo.sqrt %sum1 : tensor<f32>
  %8 = stablehlo.multiply %7, %half : tensor<f32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<f32>) -> tensor<64xf32>
  %10 = stablehlo.multiply %y, %9 : tensor<64xf32>
  %sum2 = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  %11 = stablehlo.sqrt %sum2 : tensor<f32>
  %12 = stablehlo.multiply %11, %4 : tensor<f32>
  %13 = stablehlo.maximum %12, %8 : tensor<f32>
  %14 = stablehlo.add %13, %half : tensor<f32>
  %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<64xf32>
  %16 = stablehlo.multiply %z, %15 : tensor<64xf32>
  return %6, %10, %16, %scales : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<3xf32>
}
