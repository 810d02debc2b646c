// What a public function hands on is called what the function behind it calls it, as JAX exports symbolic sizes.

// RUN: scalify-opt %s --args='params*' --mlir-use-nameloc-as-prefix | FileCheck %s

// CHECK-LABEL: func.func public @main(
// CHECK-SAME: %params.w: tensor<4xf32> {scalify.role = "data"}, %params.w.scale: tensor<f32>
// CHECK-SAME: %x: tensor<4xf32>) ->
func.func public @main(%0: tensor<4xf32>, %1: tensor<4xf32>) -> tensor<4xf32> {
  %2 = call @wrapped(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @wrapped(%w: tensor<4xf32> loc("params.w"), %x: tensor<4xf32> loc("x")) -> tensor<4xf32> {
  %0 = stablehlo.multiply %w, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
