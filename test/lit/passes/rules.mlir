// What is known of squares and polynomials by default, and the paper's rules, for which nothing is known.
// RUN: scalify-opt %s --print-rules --split-input-file | FileCheck %s
// RUN: scalify-opt %s --print-rules --rules=paper --split-input-file | FileCheck %s --check-prefix=PAPER

// A sum of 64 squares is 64 times one of them; of 64 zero-mean values it would be 8 times as large.
// CHECK-LABEL: func.func @sum_of_squares(
// CHECK: stablehlo.multiply {{.*}}scalify.scale = "s1^2 rms=1.73 mean=1 nonnegative"
// CHECK: stablehlo.reduce{{.*}}scalify.scale = "2^6*s1^2 rms=1.02
// PAPER-LABEL: func.func @sum_of_squares(
// PAPER: stablehlo.multiply {{.*}}scalify.scale = "s1^2 rms=1"
// PAPER: stablehlo.reduce{{.*}}scalify.scale = "2^3*s1^2 rms=1"
func.func @sum_of_squares(%x: tensor<64xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.multiply %x, %x : tensor<64xf32>
  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  return %s : tensor<f32>
}

// -----

// A polynomial takes the scale of its lowest term; by the paper's rules the larger one of its two.
// CHECK-LABEL: func.func @polynomial(
// CHECK: stablehlo.add {{.*}}scalify.scale = "s1 rms={{[0-9.]+}}
// PAPER-LABEL: func.func @polynomial(
// PAPER: stablehlo.maximum
// PAPER: stablehlo.add {{.*}}scalify.scale = "s2 rms=1"
func.func @polynomial(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = stablehlo.multiply %x, %x : tensor<64xf32>
  %z = stablehlo.add %x, %y : tensor<64xf32>
  return %z : tensor<64xf32>
}
