// RUN: scalify-opt %s --print-rules --split-input-file | FileCheck %s

// sin(5 x) is as large as 5 x where that is small: its scale follows the size of the operand, 4 s, and not its scale,
// and its data have what is left of that, 5 / 4.
// CHECK-LABEL: func.func public @sine_of_five_times(
// CHECK: stablehlo.convert {{.*}}scalify.scale = "2^2*s2 rms=1.25"
func.func public @sine_of_five_times(%x: tensor<3x4xf16>) -> tensor<3x4xf16> {
  %five = stablehlo.constant dense<5.0> : tensor<3x4xf16>
  %y = stablehlo.multiply %x, %five : tensor<3x4xf16>
  %r = stablehlo.sine %y : tensor<3x4xf16>
  return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @floor_of_five_times(
// CHECK: stablehlo.convert {{.*}}scalify.scale = "2^2*s2 rms=1"
func.func public @floor_of_five_times(%x: tensor<3x4xf16>) -> tensor<3x4xf16> {
  %five = stablehlo.constant dense<5.0> : tensor<3x4xf16>
  %y = stablehlo.multiply %x, %five : tensor<3x4xf16>
  %r = stablehlo.floor %y : tensor<3x4xf16>
  return %r : tensor<3x4xf16>
}
