// Terms of a gradient that are each rounded to FP8 (a weight that two layers use) are summed over their uses, unrounded,
// before they are summed over devices, where they are divided by a scale of the sum. A gradient of one term keeps its rounding.
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-partial-sums{gradients=f16})' | FileCheck %s

// CHECK-LABEL: func.func public @main(
// CHECK: stablehlo.dot_general {{.*}} -> tensor<16x16xf32>
// CHECK-NEXT: unreduced={"i"}> : tensor<16x16xf32>
// CHECK-NOT: f8E5M2
// CHECK: stablehlo.dot_general {{.*}} -> tensor<16x16xf32>
// CHECK-NEXT: unreduced={"i"}> : tensor<16x16xf32>
// CHECK-NOT: f8E5M2
// CHECK: %[[SUM:.+]] = stablehlo.add
// CHECK: stablehlo.divide
// CHECK: %[[PARTS:.+]] = stablehlo.convert %{{.+}} : (tensor<16x16xf32>) -> tensor<16x16xf16>
// CHECK: sdy.sharding_constraint %{{.+}} <@mesh, [{}, {}]> : tensor<16x16xf16>
// CHECK: stablehlo.dot_general {{.*}} -> tensor<16x16xf32>
// CHECK: sdy.sharding_constraint %{{.+}} <@mesh, [{}, {}]> : tensor<16x16xf16>
// CHECK: stablehlo.convert %{{.+}} : (tensor<16x16xf32>) -> tensor<16x16xf8E5M2>
// CHECK: return
sdy.mesh @mesh = <["i"=8]>
func.func public @main(%x: tensor<64x16xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>},
                %g: tensor<64x16xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>},
                %h: tensor<64x16xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>},
                %s: tensor<f32>, %t: tensor<f32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %low = stablehlo.constant dense<-57344.0> : tensor<f32>
  %high = stablehlo.constant dense<57344.0> : tensor<f32>
  %scale = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
  %other = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<64x16xf16>, tensor<64x16xf16>) -> tensor<16x16xf32>
  %1 = stablehlo.clamp %low, %0, %high : (tensor<f32>, tensor<16x16xf32>, tensor<f32>) -> tensor<16x16xf32>
  %2 = stablehlo.convert %1 : (tensor<16x16xf32>) -> tensor<16x16xf8E5M2>
  %3 = stablehlo.convert %2 : (tensor<16x16xf8E5M2>) -> tensor<16x16xf32>
  %4 = stablehlo.multiply %3, %scale : tensor<16x16xf32>
  %5 = stablehlo.dot_general %x, %h, contracting_dims = [0] x [0] : (tensor<64x16xf16>, tensor<64x16xf16>) -> tensor<16x16xf32>
  %6 = stablehlo.convert %5 : (tensor<16x16xf32>) -> tensor<16x16xf8E5M2>
  %7 = stablehlo.convert %6 : (tensor<16x16xf8E5M2>) -> tensor<16x16xf32>
  %8 = stablehlo.multiply %7, %other : tensor<16x16xf32>
  %values = stablehlo.add %4, %8 : tensor<16x16xf32>
  %sum = stablehlo.divide %values, %other : tensor<16x16xf32>
  %9 = stablehlo.dot_general %g, %h, contracting_dims = [0] x [0] : (tensor<64x16xf16>, tensor<64x16xf16>) -> tensor<16x16xf32>
  %10 = stablehlo.convert %9 : (tensor<16x16xf32>) -> tensor<16x16xf8E5M2>
  %11 = stablehlo.convert %10 : (tensor<16x16xf8E5M2>) -> tensor<16x16xf32>
  %alone = stablehlo.multiply %11, %scale : tensor<16x16xf32>
  return %sum, %alone : tensor<16x16xf32>, tensor<16x16xf32>
}
