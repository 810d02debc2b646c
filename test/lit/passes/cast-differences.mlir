// 1 - |x|^2 that is divided by is computed and read in f32, and so is x, through the sum; likewise what arccosh is taken of.
// RUN: scalify-opt %s --scalify-cast=precision=fp16 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NOT: f16
// CHECK: stablehlo.divide %{{.+}}, %{{.+}} : tensor<4xf32>
// CHECK: chlo.acosh %{{.+}} : tensor<4xf32>
func.func @main(%x: tensor<4x5xf32>, %y: tensor<4x1xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %s = stablehlo.multiply %x, %x : tensor<4x5xf32>
  %n = stablehlo.reduce(%s init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  %d = stablehlo.subtract %one, %n : tensor<4xf32>
  %v = stablehlo.reshape %y : (tensor<4x1xf32>) -> tensor<4xf32>
  %q = stablehlo.divide %v, %d : tensor<4xf32>
  %a = chlo.acosh %q : tensor<4xf32> -> tensor<4xf32>
  return %a : tensor<4xf32>
}
