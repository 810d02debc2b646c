// Scales that follow from the arguments alone are computed in one vector at the start, which what reads them is behind;
// those that leave are results of one reduction, of each and minus infinity. Without the option each stands by itself.
// On XLA:CPU all of them are results of a call that becomes one kernel; of reductions in partitioned programs.
// RUN: scalify-opt %s | FileCheck %s
// RUN: scalify-opt --no-vector-scales %s | FileCheck %s --check-prefix=APART
// RUN: scalify-opt %s | scalify-opt --scalify-cpu-scales | FileCheck %s --check-prefix=CPU
// RUN: scalify-opt %s | scalify-opt --scalify-cpu-scales=calls=false | FileCheck %s --check-prefix=PARTS

// CHECK-LABEL: func.func @sums(
// CHECK: %[[START:.+]] = stablehlo.concatenate {{.*}} -> tensor<8xf32>
// CHECK: %[[SCALES:.+]] = stablehlo.optimization_barrier %[[START]] : tensor<8xf32>
// CHECK-COUNT-8: stablehlo.slice %[[SCALES]]
// CHECK: stablehlo.add
// CHECK-COUNT-4: stablehlo.pad {{.*}}, low = [0], high = [1], interior = [0]
// CHECK: %[[LEAVING:.+]]:4 = stablehlo.reduce(
// CHECK: stablehlo.maximum
// CHECK: return {{.*}}, %[[LEAVING]]#0, {{.*}}, %[[LEAVING]]#1, {{.*}}, %[[LEAVING]]#2, {{.*}}, %[[LEAVING]]#3 :

// CPU-LABEL: func.func @sums(
// CPU-NEXT: %[[SCALES:.+]]:12 = call @scales(
// CPU-SAME: {mhlo.frontend_attributes = {inlineable = "false", xla_cpu_small_call = "true"}}
// CPU: return {{.*}}, %[[SCALES]]#0, {{.*}}, %[[SCALES]]#3, {{.*}}, %[[SCALES]]#6, {{.*}}, %[[SCALES]]#9 :
// CPU-LABEL: func.func private @scales(
// CPU-COUNT-4: stablehlo.maximum {{.*}} : tensor<f32>

// PARTS-LABEL: func.func @sums(
// PARTS-NOT: stablehlo.optimization_barrier
// PARTS: %[[START:.+]]:8 = stablehlo.reduce(
// PARTS-NOT: stablehlo.slice
// PARTS: %[[LEAVING:.+]]:4 = stablehlo.reduce(
// PARTS: return

// APART-LABEL: func.func @sums(
// APART-NOT: stablehlo.concatenate
// APART-NOT: stablehlo.optimization_barrier
// APART-NOT: stablehlo.reduce
// APART: return
func.func @sums(%a: tensor<8xf16>, %b: tensor<8xf16>, %c: tensor<8xf16>, %d: tensor<8xf16>, %e: tensor<8xf16>)
    -> (tensor<8xf16>, tensor<8xf16>, tensor<8xf16>, tensor<8xf16>) {
  %0 = stablehlo.add %a, %b : tensor<8xf16>
  %1 = stablehlo.add %b, %c : tensor<8xf16>
  %2 = stablehlo.add %c, %d : tensor<8xf16>
  %3 = stablehlo.add %d, %e : tensor<8xf16>
  return %0, %1, %2, %3 : tensor<8xf16>, tensor<8xf16>, tensor<8xf16>, tensor<8xf16>
}
