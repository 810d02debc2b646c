// A linear layer and its two gradients, told apart by data flow. The head is left unless asked for.
// RUN: scalify-opt %s --scalify-fp8-dots=head=true | FileCheck %s
// RUN: scalify-opt %s --scalify-fp8-dots='head=true formats=fnuz' | FileCheck %s --check-prefix=FNUZ
// RUN: scalify-opt %s --scalify-fp8-dots | FileCheck %s --check-prefix=HEAD

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X0:[^:]+]]: tensor<32x64xf16>, %[[W0:[^:]+]]: tensor<64x16xf16>
// CHECK-DAG: %[[LOW:.+]] = stablehlo.constant dense<-4.480000e+02> : tensor<f16>
// CHECK-DAG: %[[HIGH:.+]] = stablehlo.constant dense<4.480000e+02> : tensor<f16>
// CHECK-DAG: %[[XC:.+]] = stablehlo.clamp %[[LOW]], %[[X0]], %[[HIGH]]
// CHECK-DAG: %[[X:.+]] = stablehlo.convert %[[XC]] : (tensor<32x64xf16>) -> tensor<32x64xf8E4M3FN>
// CHECK-DAG: %[[WC:.+]] = stablehlo.clamp %[[LOW]], %[[W0]], %[[HIGH]]
// CHECK-DAG: %[[W:.+]] = stablehlo.convert %[[WC]] : (tensor<64x16xf16>) -> tensor<64x16xf8E4M3FN>
// CHECK: stablehlo.dot_general %[[X]], %[[W]], contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT]
// CHECK-SAME: (tensor<32x64xf8E4M3FN>, tensor<64x16xf8E4M3FN>) -> tensor<32x16xf16>
// CHECK: %[[G:.+]] = stablehlo.convert %{{.+}} : (tensor<32x16xf16>) -> tensor<32x16xf8E5M2>
// CHECK: stablehlo.dot_general %[[G]], %[[W]], contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST]
// CHECK: stablehlo.dot_general %[[X]], %[[G]], contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST]

// FNUZ-LABEL: func.func @main(
// FNUZ: dense<2.400000e+02>
// FNUZ: stablehlo.dot_general {{.*}} (tensor<32x64xf8E4M3FNUZ>, tensor<64x16xf8E4M3FNUZ>)
// FNUZ: stablehlo.dot_general {{.*}} (tensor<32x16xf8E5M2FNUZ>, tensor<64x16xf8E4M3FNUZ>)

// HEAD-LABEL: func.func @main(
// HEAD-NOT: f8E
// HEAD: return
func.func @main(%x: tensor<32x64xf16>, %w: tensor<64x16xf16>) -> (tensor<32x64xf16>, tensor<64x16xf16>) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf16>
  %g = stablehlo.tanh %y : tensor<32x16xf16>
  %dx = stablehlo.dot_general %g, %w, contracting_dims = [1] x [1]
     : (tensor<32x16xf16>, tensor<64x16xf16>) -> tensor<32x64xf16>
  %dw = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
     : (tensor<32x64xf16>, tensor<32x16xf16>) -> tensor<64x16xf16>
  return %dx, %dw : tensor<32x64xf16>, tensor<64x16xf16>
}
