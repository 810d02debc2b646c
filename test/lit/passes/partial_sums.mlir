// Products that are cut over devices: their parts are scaled, rounded and added up apart, and summed once. In f16 they
// are divided by the number of terms (2 products over 8 devices) before they are rounded, and multiplied by it after.
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-partial-sums)' | FileCheck %s
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-partial-sums{reductions=f32})' | FileCheck %s --check-prefix=WIDE

// CHECK-LABEL: func.func public @main(
// CHECK-NOT: sdy.sharding_constraint
// CHECK: stablehlo.dot_general %{{.*}}arg0, %{{.*}}arg1,
// CHECK-NEXT: sdy.sharding_constraint %{{.+}} <@mesh, [{}, {}], unreduced={"i"}> : tensor<32x16xf32>
// CHECK: stablehlo.constant dense<6.250000e-02> : tensor<32x16xf32>
// CHECK: stablehlo.convert %{{.+}} : (tensor<32x16xf32>) -> tensor<32x16xf16>
// CHECK-NEXT: sdy.sharding_constraint %{{.+}} <@mesh, [{}, {}], unreduced={"i"}> : tensor<32x16xf16>
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.constant dense<6.250000e-02> : tensor<32x16xf32>
// CHECK: stablehlo.add %{{.+}}, %{{.+}} : tensor<32x16xf16>
// CHECK-NEXT: %[[PARTS:.+]] = sdy.sharding_constraint %{{.+}} <@mesh, [{}, {}], unreduced={"i"}> : tensor<32x16xf16>
// CHECK-NEXT: %[[SUM:.+]] = sdy.sharding_constraint %[[PARTS]] <@mesh, [{}, {}]> : tensor<32x16xf16>
// CHECK-NEXT: %[[TERMS:.+]] = stablehlo.constant dense<1.600000e+01> : tensor<32x16xf16>
// CHECK-NEXT: %[[RESULT:.+]] = stablehlo.multiply %[[SUM]], %[[TERMS]] : tensor<32x16xf16>
// CHECK-NEXT: stablehlo.tanh %[[RESULT]]

// WIDE-LABEL: func.func public @main(
// WIDE-NOT: unreduced={"i"}> : tensor<32x16xf16>
// WIDE: return
sdy.mesh @mesh = <["i"=8]>
func.func public @main(%x: tensor<32x64xf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"i"}]>},
                %v: tensor<64x16xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>},
                %w: tensor<64x16xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>},
                %scale: tensor<f32>) -> tensor<32x16xf16> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf32>
  %1 = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<32x16xf32>
  %3 = stablehlo.convert %2 : (tensor<32x16xf32>) -> tensor<32x16xf16>
  %4 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf32>
  %5 = stablehlo.convert %4 : (tensor<32x16xf32>) -> tensor<32x16xf16>
  %6 = stablehlo.add %3, %5 : tensor<32x16xf16>
  %7 = stablehlo.tanh %6 : tensor<32x16xf16>
  return %7 : tensor<32x16xf16>
}
