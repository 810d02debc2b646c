// RUN: scalify-opt %s --scalify-cpu-scales | FileCheck %s

// A call that puts constants together is given nothing.
// CHECK-LABEL: func.func @constants(
// CHECK: call @leaving_scales() {
func.func @constants(%x: tensor<4xf32>, %scales: tensor<2xf32> {scalify.role = "scales"}) -> (tensor<4xf32>, tensor<2xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %three = stablehlo.constant dense<3.0> : tensor<f32>
  %0 = stablehlo.reshape %two : (tensor<f32>) -> tensor<1xf32>
  %1 = stablehlo.reshape %three : (tensor<f32>) -> tensor<1xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
  return %x, %2 : tensor<4xf32>, tensor<2xf32>
}
