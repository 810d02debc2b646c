// RUN: scalify-opt %s --scalify-normal-form | FileCheck %s

// What a loss that is a shard_map hands from its forward to its backward pass has a value for each device, constants too.

// CHECK-LABEL: func.func public @main
// CHECK: sdy.manual_computation
// CHECK: stablehlo.divide
// CHECK: sdy.manual_computation
// CHECK: %[[COUNT:.*]] = stablehlo.constant dense<6.400000e+01> : tensor<1xf32>
// CHECK: stablehlo.reshape %[[COUNT]]
module @step attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["d"=2]>
  func.func public @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<2xf32>) {
    %0:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"d"}]>] out_shardings=[<@mesh, [{"d"}]>, <@mesh, [{"d"}]>] manual_axes={"d"} (%a: tensor<4xf32>) {
      %count = stablehlo.constant dense<64.0> : tensor<f32>
      %all = stablehlo.broadcast_in_dim %count, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %mean = stablehlo.divide %a, %all : tensor<4xf32>
      %residual = stablehlo.broadcast_in_dim %count, dims = [] : (tensor<f32>) -> tensor<1xf32>
      sdy.return %mean, %residual : tensor<4xf32>, tensor<1xf32>
    } : (tensor<8xf32>) -> (tensor<8xf32>, tensor<2xf32>)
    %1 = sdy.manual_computation(%0#0, %0#1) in_shardings=[<@mesh, [{"d"}]>, <@mesh, [{"d"}]>] out_shardings=[<@mesh, [{"d"}]>] manual_axes={"d"} (%a: tensor<4xf32>, %b: tensor<1xf32>) {
      %n = stablehlo.reshape %b : (tensor<1xf32>) -> tensor<f32>
      %all = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %back = stablehlo.divide %a, %all : tensor<4xf32>
      sdy.return %back : tensor<4xf32>
    } : (tensor<8xf32>, tensor<2xf32>) -> tensor<8xf32>
    return %1, %0#1 : tensor<8xf32>, tensor<2xf32>
  }
}
