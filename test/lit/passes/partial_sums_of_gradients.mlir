// What devices sum in f32 is rounded to `gradients` for it, where its data are of unit size: before a scale of run time
// multiplies them. A statistic, which is read along its rows, is summed as it is.
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-partial-sums{gradients=f16})' | FileCheck %s
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-partial-sums)' | FileCheck %s --check-prefix=WIDE

// CHECK-LABEL: func.func public @main(
// CHECK: %[[G:.+]] = stablehlo.reduce(
// CHECK-NEXT: sdy.sharding_constraint %[[G]] <@mesh, [{}], unreduced={"i"}> : tensor<16xf32>
// CHECK: %[[F16:.+]] = stablehlo.convert %{{.+}} : (tensor<16xf32>) -> tensor<16xf16>
// CHECK-NEXT: %[[PARTS:.+]] = sdy.sharding_constraint %[[F16]] <@mesh, [{}], unreduced={"i"}> : tensor<16xf16>
// CHECK-NEXT: %[[SUM:.+]] = sdy.sharding_constraint %[[PARTS]] <@mesh, [{}]> : tensor<16xf16>
// CHECK-NEXT: %[[WHOLE:.+]] = stablehlo.convert %[[SUM]] : (tensor<16xf16>) -> tensor<16xf32>
// CHECK-NEXT: %[[TERMS:.+]] = stablehlo.constant dense<8.000000e+00> : tensor<16xf32>
// CHECK-NEXT: %[[GRADIENT:.+]] = stablehlo.multiply %[[WHOLE]], %[[TERMS]] : tensor<16xf32>
// CHECK: stablehlo.multiply %[[GRADIENT]], %{{.+}} : tensor<16xf32>
// CHECK-NOT: unreduced
// CHECK: return

// WIDE-LABEL: func.func public @main(
// WIDE-NOT: unreduced
sdy.mesh @mesh = <["i"=8]>
func.func public @main(%x: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}, %scale: tensor<f32>)
    -> (tensor<16xf32>, tensor<32x16xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<16xf32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x16xf32>, tensor<f32>) -> tensor<16xf32>
  %unit = stablehlo.multiply %sum, %half : tensor<16xf32>
  %scales = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<16xf32>
  %gradient = stablehlo.multiply %unit, %scales : tensor<16xf32>
  %squares = stablehlo.multiply %x, %x : tensor<32x16xf32>
  %norms = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32x16xf32>, tensor<f32>) -> tensor<16xf32>
  %inverse = stablehlo.rsqrt %norms : tensor<16xf32>
  %rows = stablehlo.broadcast_in_dim %inverse, dims = [1] : (tensor<16xf32>) -> tensor<32x16xf32>
  %y = stablehlo.multiply %x, %rows : tensor<32x16xf32>
  return %gradient, %y : tensor<16xf32>, tensor<32x16xf32>
}
