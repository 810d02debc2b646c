// Sums of numbers that per-device code asks for are one sum of a vector where none depends on another: of the same kind,
// over the same devices.
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-partial-sums)' | FileCheck %s

// CHECK-LABEL: func.func public @main(
// CHECK: sdy.manual_computation
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.maximum
// CHECK: (tensor<f32>) -> tensor<f32>
// CHECK: %[[V:.+]] = stablehlo.concatenate %{{.+}}, %{{.+}}, dim = 0
// CHECK: "stablehlo.all_reduce"(%[[V]])
// CHECK: stablehlo.add
// CHECK: (tensor<2xf32>) -> tensor<2xf32>
// CHECK-NOT: all_reduce
// CHECK: return

module attributes {mhlo.num_partitions = 8 : i32} {
sdy.mesh @mesh = <["i"=8]>
func.func public @main(%x: tensor<32x16xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0:3 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"i"}, {}]>]
      out_shardings=[<@mesh, []>, <@mesh, []>, <@mesh, []>] manual_axes={"i"} (%a: tensor<4x16xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.all_reduce"(%n) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.all_reduce"(%n) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.maximum %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    %m = stablehlo.negate %n : tensor<f32>
    %3 = "stablehlo.all_reduce"(%m) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    sdy.return %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>
  } : (tensor<32x16xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
  return %0#0, %0#1, %0#2 : tensor<f32>, tensor<f32>, tensor<f32>
}
}
