// Numbers that devices sum are summed as one vector where none depends on another: the squares of %x and %y here, of
// which the first is read before the second is known. The third depends on them.
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-partial-sums)' | FileCheck %s

// CHECK-LABEL: func.func public @main(
// CHECK: %[[X:.+]] = stablehlo.reduce(
// CHECK-NEXT: %[[XS:.+]] = sdy.sharding_constraint %[[X]] <@mesh, [], unreduced={"i"}> : tensor<f32>
// CHECK-NOT: stablehlo.sqrt
// CHECK: %[[Y:.+]] = stablehlo.reduce(
// CHECK-NEXT: %[[YS:.+]] = sdy.sharding_constraint %[[Y]] <@mesh, [], unreduced={"i"}> : tensor<f32>
// CHECK-NEXT: %[[X1:.+]] = stablehlo.reshape %[[XS]]
// CHECK-NEXT: %[[X1S:.+]] = sdy.sharding_constraint %[[X1]] <@mesh, [{}], unreduced={"i"}>
// CHECK-NEXT: %[[Y1:.+]] = stablehlo.reshape %[[YS]]
// CHECK-NEXT: %[[Y1S:.+]] = sdy.sharding_constraint %[[Y1]] <@mesh, [{}], unreduced={"i"}>
// CHECK-NEXT: %[[V:.+]] = stablehlo.concatenate %[[X1S]], %[[Y1S]], dim = 0
// CHECK-NEXT: %[[VS:.+]] = sdy.sharding_constraint %[[V]] <@mesh, [{}], unreduced={"i"}> : tensor<2xf32>
// CHECK-NEXT: %[[SUM:.+]] = sdy.sharding_constraint %[[VS]] <@mesh, [{}]> : tensor<2xf32>
// CHECK-NEXT: %[[FIRST:.+]] = stablehlo.slice %[[SUM]] [0:1]
// CHECK-NEXT: %[[NUMBER:.+]] = stablehlo.reshape %[[FIRST]]
// CHECK: stablehlo.sqrt %[[NUMBER]]
// CHECK-NOT: unreduced
// CHECK: return

sdy.mesh @mesh = <["i"=8]>
func.func public @main(%x: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>},
                %y: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"i"}]>}) -> (tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %xx = stablehlo.multiply %x, %x : tensor<32x16xf32>
  %xn = stablehlo.reduce(%xx init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<f32>
  %root = stablehlo.sqrt %xn : tensor<f32>
  %yy = stablehlo.multiply %y, %y : tensor<16x64xf32>
  %yn = stablehlo.reduce(%yy init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x64xf32>, tensor<f32>) -> tensor<f32>
  %both = stablehlo.add %root, %yn : tensor<f32>
  %each = stablehlo.broadcast_in_dim %both, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
  %scaled = stablehlo.divide %x, %each : tensor<32x16xf32>
  %third = stablehlo.reduce(%scaled init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<f32>
  return %both, %third : tensor<f32>, tensor<f32>
}
