// Scales that follow from the arguments alone are computed in one vector at the start, which what reads them is behind;
// those that leave are brought together in one at the end. Without the option each stands by itself.
// RUN: scalify-opt %s | FileCheck %s
// RUN: scalify-opt --no-vector-scales %s | FileCheck %s --check-prefix=APART

// CHECK-LABEL: func.func @sums(
// CHECK: %[[START:.+]] = stablehlo.concatenate {{.*}} -> tensor<8xf32>
// CHECK: %[[SCALES:.+]] = stablehlo.optimization_barrier %[[START]] : tensor<8xf32>
// CHECK-COUNT-8: stablehlo.slice %[[SCALES]]
// CHECK: stablehlo.add
// CHECK: %[[END:.+]] = stablehlo.concatenate {{.*}} -> tensor<4xf32>
// CHECK: %[[LEAVING:.+]] = stablehlo.optimization_barrier %[[END]] : tensor<4xf32>
// CHECK-COUNT-4: stablehlo.slice %[[LEAVING]]
// CHECK: return

// APART-LABEL: func.func @sums(
// APART-NOT: stablehlo.concatenate
// APART-NOT: stablehlo.optimization_barrier
// APART: return
func.func @sums(%a: tensor<8xf16>, %b: tensor<8xf16>, %c: tensor<8xf16>, %d: tensor<8xf16>, %e: tensor<8xf16>)
    -> (tensor<8xf16>, tensor<8xf16>, tensor<8xf16>, tensor<8xf16>) {
  %0 = stablehlo.add %a, %b : tensor<8xf16>
  %1 = stablehlo.add %b, %c : tensor<8xf16>
  %2 = stablehlo.add %c, %d : tensor<8xf16>
  %3 = stablehlo.add %d, %e : tensor<8xf16>
  return %0, %1, %2, %3 : tensor<8xf16>, tensor<8xf16>, tensor<8xf16>, tensor<8xf16>
}
