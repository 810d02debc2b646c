// What is known of maxima and minima of scales spares others: the bounds of a minimum are known as the members of a
// maximum are.
// RUN: scalify-opt %s --no-vector-scales --split-input-file | FileCheck %s --enable-var-scope

// max(s, min(1, s)) = s: x is added as it is, and the sum has its scale.
// CHECK-LABEL: func.func @absorbed
// CHECK-SAME: %[[X:[^:]*]]: tensor<8xf16>{{.*}}, %[[S:[^:]*]]: tensor<f32>
// CHECK-NOT: stablehlo.maximum
// CHECK: %[[Y:.*]] = stablehlo.add %{{.*}}, %[[X]]
// CHECK-NEXT: return %[[Y]], %[[S]]
func.func @absorbed(%x: tensor<8xf16>) -> tensor<8xf16> {
  %t = stablehlo.tanh %x : tensor<8xf16>
  %y = stablehlo.add %t, %x : tensor<8xf16>
  return %y : tensor<8xf16>
}

// -----

// max(2, min(1, s)) = 2: the scale of 1 + tanh x is known.
// CHECK-LABEL: func.func @bounded
// CHECK: stablehlo.minimum
// CHECK-NOT: stablehlo.maximum
// CHECK: return
func.func @bounded(%x: tensor<8xf16>) -> tensor<8xf16> {
  %one = stablehlo.constant dense<1.0> : tensor<8xf16>
  %t = stablehlo.tanh %x : tensor<8xf16>
  %y = stablehlo.add %t, %one : tensor<8xf16>
  return %y : tensor<8xf16>
}

// -----

// min(1, max(s, t)) is a minimum of its own: neither bound is known.
// CHECK-LABEL: func.func @open
// CHECK: %[[M:.*]] = stablehlo.maximum
// CHECK: stablehlo.minimum %{{.*}}, %[[M]]
func.func @open(%x: tensor<8xf16>, %y: tensor<8xf16>) -> tensor<8xf16> {
  %s = stablehlo.add %x, %y : tensor<8xf16>
  %t = stablehlo.tanh %s : tensor<8xf16>
  return %t : tensor<8xf16>
}
