// From jaxlib 0.12 on: a sum over devices that reaches one of them.
// REQUIRES: collective_reduce
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// Scales that are not known to be equal meet at their maximum, on all devices.
// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %[[X:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[S:[A-Za-z_0-9]+]]: tensor<f32>
// CHECK: %[[M:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[S]]) <{replica_groups = dense<0> : tensor<1x1xi64>}>
// CHECK: stablehlo.maximum
// CHECK: %[[RATIO:[A-Za-z_0-9]+]] = stablehlo.divide %[[S]], %[[M]] : tensor<f32>
// CHECK: %[[B:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[RATIO]], dims = []
// CHECK: %[[Y:[A-Za-z_0-9]+]] = stablehlo.multiply %[[X]], %[[B]] : tensor<3x4xf32>
// CHECK: %[[R:[A-Za-z_0-9]+]] = "stablehlo.collective_reduce"(%[[Y]])
// CHECK: stablehlo.add
// CHECK: return %[[R]], %[[M]]
func.func @sum(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = "stablehlo.collective_reduce"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----

// Which device gets it is an operand; two devices' f16 data are halved before they are summed.
// CHECK-LABEL: func.func @to_a_chosen_device(
// CHECK-SAME: %[[X:[A-Za-z_0-9]+]]: tensor<3xf16> {scalify.role = "data"}, %[[S:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[ROOT:[A-Za-z_0-9]+]]: tensor<1xi32>
// CHECK: %[[HALF:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<3xf16>
// CHECK: "stablehlo.all_reduce"(%[[S]])
// CHECK: %[[H:[A-Za-z_0-9]+]] = stablehlo.multiply %{{[A-Za-z_0-9]+}}, %[[HALF]]
// CHECK: %[[R:[A-Za-z_0-9]+]] = "stablehlo.collective_reduce"(%[[H]], %[[ROOT]])
// CHECK: stablehlo.add
func.func @to_a_chosen_device(%x: tensor<3xf16>, %root: tensor<1xi32>) -> tensor<3xf16> {
  %r = "stablehlo.collective_reduce"(%x, %root) ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %c = stablehlo.add %a, %b : tensor<f16>
    stablehlo.return %c : tensor<f16>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root} : (tensor<3xf16>, tensor<1xi32>) -> tensor<3xf16>
  return %r : tensor<3xf16>
}
