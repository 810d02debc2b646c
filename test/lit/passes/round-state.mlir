// RUN: scalify-opt %s --scalify-round-state | FileCheck %s

// Parameters in 16 bits: random bits below the last digit are added, from the gradient and what is rounded.

// CHECK-LABEL: func.func public @main
// CHECK: %[[G:.*]] = stablehlo.dot_general
// CHECK: %[[W:.*]] = stablehlo.subtract
// CHECK: %[[BITS:.*]] = stablehlo.bitcast_convert %[[W]] : (tensor<16x32xf32>) -> tensor<16x32xui32>
// CHECK: %[[SOURCE:.*]] = stablehlo.bitcast_convert %[[G]] : (tensor<16x32xf32>) -> tensor<16x32xui32>
// CHECK: %[[SPREAD:.*]] = stablehlo.multiply %[[SOURCE]]
// CHECK: %[[MIXED:.*]] = stablehlo.xor %[[BITS]], %[[SPREAD]]
// CHECK: stablehlo.constant dense<19>
// CHECK: %[[NOISE:.*]] = stablehlo.shift_right_logical
// CHECK: %[[SUM:.*]] = stablehlo.add %[[BITS]], %[[NOISE]]
// CHECK: %[[KEPT:.*]] = stablehlo.and %[[SUM]]
// CHECK: %[[NEW:.*]] = stablehlo.bitcast_convert %[[KEPT]] : (tensor<16x32xui32>) -> tensor<16x32xf32>
// CHECK: stablehlo.convert %[[NEW]] : (tensor<16x32xf32>) -> tensor<16x32xf16>
// What is no parameter is rounded to the nearest.
// CHECK: %[[MEAN:.*]] = stablehlo.add
// CHECK-NEXT: stablehlo.convert %[[MEAN]]
func.func public @main(%w: tensor<16x32xf16>, %x: tensor<8x16xf32>, %dy: tensor<8x32xf32>, %m: tensor<16x32xf16>)
    -> (tensor<16x32xf16> {scalify.state = "parameter"}, tensor<16x32xf16>) {
  %wide = stablehlo.convert %w : (tensor<16x32xf16>) -> tensor<16x32xf32>
  %g = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
  %moved = stablehlo.subtract %wide, %g : tensor<16x32xf32>
  %new = stablehlo.convert %moved : (tensor<16x32xf32>) -> tensor<16x32xf16>
  %before = stablehlo.convert %m : (tensor<16x32xf16>) -> tensor<16x32xf32>
  %mean = stablehlo.add %before, %g : tensor<16x32xf32>
  %average = stablehlo.convert %mean : (tensor<16x32xf32>) -> tensor<16x32xf16>
  return %new, %average : tensor<16x32xf16>, tensor<16x32xf16>
}
