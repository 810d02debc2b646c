// An average of squares that is stored in f16 is rounded to zero only where it is zero: later steps divide by it.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// max(x, min(2^24 x, 2^-24))
// CHECK-LABEL: func.func public @second_moment(
// CHECK-DAG: %[[MANY:.*]] = stablehlo.constant dense<0x4B800000>
// CHECK-DAG: %[[LEAST:.*]] = stablehlo.constant dense<5.96046448E-8>
// CHECK: %[[TIMES:.*]] = stablehlo.multiply %[[X:.*]], %[[MANY]]
// CHECK: %[[AT_MOST:.*]] = stablehlo.minimum %[[TIMES]], %[[LEAST]]
// CHECK: %[[AT_LEAST:.*]] = stablehlo.maximum %[[X]], %[[AT_MOST]]
// CHECK: stablehlo.convert %[[AT_LEAST]] : (tensor<8xf32>) -> tensor<8xf16>
func.func public @second_moment(%v: tensor<8xf16>, %g: tensor<8xf16>) -> tensor<8xf16> {
  %b = stablehlo.constant dense<0.999> : tensor<8xf32>
  %a = stablehlo.constant dense<0.001> : tensor<8xf32>
  %old = stablehlo.convert %v : (tensor<8xf16>) -> tensor<8xf32>
  %wide = stablehlo.convert %g : (tensor<8xf16>) -> tensor<8xf32>
  %square = stablehlo.multiply %wide, %wide : tensor<8xf32>
  %kept = stablehlo.multiply %old, %b : tensor<8xf32>
  %entering = stablehlo.multiply %square, %a : tensor<8xf32>
  %new = stablehlo.add %kept, %entering : tensor<8xf32>
  %stored = stablehlo.convert %new : (tensor<8xf32>) -> tensor<8xf16>
  return %stored : tensor<8xf16>
}

// -----

// of any sign: a zero does no harm
// CHECK-LABEL: func.func public @first_moment(
// CHECK-NOT: stablehlo.minimum
// CHECK: return
func.func public @first_moment(%m: tensor<8xf16>, %g: tensor<8xf16>) -> tensor<8xf16> {
  %b = stablehlo.constant dense<0.9> : tensor<8xf32>
  %a = stablehlo.constant dense<0.1> : tensor<8xf32>
  %old = stablehlo.convert %m : (tensor<8xf16>) -> tensor<8xf32>
  %wide = stablehlo.convert %g : (tensor<8xf16>) -> tensor<8xf32>
  %kept = stablehlo.multiply %old, %b : tensor<8xf32>
  %entering = stablehlo.multiply %wide, %a : tensor<8xf32>
  %new = stablehlo.add %kept, %entering : tensor<8xf32>
  %stored = stablehlo.convert %new : (tensor<8xf32>) -> tensor<8xf16>
  return %stored : tensor<8xf16>
}
