// An exponential of a few numbers that a tensor is multiplied by is measured; one that is 1 at most is not, nor one of many.
// RUN: scalify-opt %s --scalify-auto-rescale=places=numbers | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[RATE:.+]] = stablehlo.exponential %{{.+}} : tensor<f32>
// CHECK: stablehlo.composite "scalify.get_data_and_scale" %[[RATE]]
// CHECK: %[[MEASURED:.+]] = stablehlo.composite "scalify.set_scaling" %[[RATE]]
// CHECK: stablehlo.broadcast_in_dim %[[MEASURED]]
// CHECK-NOT: stablehlo.composite
func.func @main(%p: tensor<f32>, %x: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %rate = stablehlo.exponential %p : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<32xf32>
  %1 = stablehlo.multiply %0, %x : tensor<32xf32>
  %square = stablehlo.multiply %p, %p : tensor<f32>
  %negative = stablehlo.negate %square : tensor<f32>
  %share = stablehlo.exponential %negative : tensor<f32>
  %2 = stablehlo.broadcast_in_dim %share, dims = [] : (tensor<f32>) -> tensor<32xf32>
  %3 = stablehlo.multiply %2, %x : tensor<32xf32>
  %4 = stablehlo.exponential %x : tensor<32xf32>
  return %1, %3, %4 : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
}
