// Functions of parameters that are cut over devices: the parameter is rounded and gathered, and the function computed of it
// on each device; once for what two operations gather, and before a loop that does not change it.
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-narrow-gathers{parameters=f16})' | FileCheck %s
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-narrow-gathers)' | FileCheck %s --check-prefix=WIDE

sdy.mesh @mesh = <["i"=8]>
// CHECK-LABEL: func.func public @main(
// CHECK-SAME: %[[P:[A-Za-z_0-9]+]]: tensor<64xf32>
// CHECK-SAME: %[[Q:[A-Za-z_0-9]+]]: tensor<64xf32>
// CHECK-DAG: %[[NARROW:.+]] = stablehlo.convert %[[P]] : (tensor<64xf32>) -> tensor<64xf16>
// CHECK-DAG: %[[CUT:.+]] = sdy.sharding_constraint %[[NARROW]] <@mesh, [{"i"}]> : tensor<64xf16>
// CHECK-DAG: %[[ALL:.+]] = sdy.sharding_constraint %[[CUT]] <@mesh, [{}]> : tensor<64xf16>
// CHECK-DAG: %[[WHOLE:.+]] = stablehlo.convert %[[ALL]] : (tensor<64xf16>) -> tensor<64xf32>
// CHECK-DAG: %[[RATES:.+]] = stablehlo.exponential %[[WHOLE]] : tensor<64xf32>
// CHECK-DAG: %[[OTHER:.+]] = stablehlo.convert %[[Q]] : (tensor<64xf32>) -> tensor<64xf16>
// CHECK: stablehlo.broadcast_in_dim %[[RATES]], dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
// CHECK: stablehlo.while(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %[[LOOP:[0-9]+]])
// CHECK-NOT: sdy.sharding_constraint {{.*}} <@mesh, [{}]> : tensor<64xf16>
// CHECK: stablehlo.return %{{.+}}, %{{.+}}, %{{.+}}
// What is not rounded is gathered as it is: an optimiser's sums are its own.
// CHECK: stablehlo.broadcast_in_dim %{{.+}}, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
// CHECK-NOT: f16
// CHECK: return

// WIDE-LABEL: func.func public @main(
// WIDE-NOT: sdy.sharding_constraint {{.*}} <@mesh, [{}]>
// WIDE: return
func.func public @main(%p: tensor<64xf32> {scalify.state = "parameter", sdy.sharding = #sdy.sharding<@mesh, [{"i"}]>},
                %q: tensor<64xf32> {scalify.state = "parameter", sdy.sharding = #sdy.sharding<@mesh, [{"i"}]>},
                %r: tensor<64xf32> {scalify.state = "moment", sdy.sharding = #sdy.sharding<@mesh, [{"i"}]>},
                %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>})
    -> (tensor<32x64xf16>, tensor<32x64xf32>, tensor<32x64xf32>) {
  %rates = stablehlo.exponential %p : tensor<64xf32>
  %0 = stablehlo.broadcast_in_dim %rates, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<32x64xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{"i"}, {}]> : tensor<32x64xf32>
  %y = stablehlo.convert %2 : (tensor<32x64xf32>) -> tensor<32x64xf16>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %decay = stablehlo.negate %q : tensor<64xf32>
  %loop:3 = stablehlo.while(%i = %zero, %state = %x, %d = %decay) : tensor<i32>, tensor<32x64xf32>, tensor<64xf32>
  cond {
    %four = stablehlo.constant dense<4> : tensor<i32>
    %less = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %d, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
    %4 = stablehlo.multiply %state, %3 : tensor<32x64xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{"i"}, {}]> : tensor<32x64xf32>
    %6 = stablehlo.convert %5 : (tensor<32x64xf32>) -> tensor<32x64xf16>
    %7 = stablehlo.convert %6 : (tensor<32x64xf16>) -> tensor<32x64xf32>
    stablehlo.return %next, %7, %d : tensor<i32>, tensor<32x64xf32>, tensor<64xf32>
  }
  %8 = stablehlo.negate %r : tensor<64xf32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
  %10 = stablehlo.multiply %x, %9 : tensor<32x64xf32>
  %z = sdy.sharding_constraint %10 <@mesh, [{"i"}, {}]> : tensor<32x64xf32>
  return %y, %loop#1, %z : tensor<32x64xf16>, tensor<32x64xf32>, tensor<32x64xf32>
}
