// Sizes: Nonlinear functions.
// RUN: scalify-opt %s --split-input-file --scalify-size | FileCheck %s

// E[f(x)^2] of a unit Gaussian
// CHECK-LABEL: func.func @logistic(
// CHECK: stablehlo.logistic{{.*}}scalify.size = "1 rms=0.54 mean=0.5 nonnegative"
func.func @logistic(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.logistic %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// sqrt(1/2)
// CHECK-LABEL: func.func @cosine(
// CHECK: stablehlo.cosine{{.*}}scalify.size = "1 rms=0.707"
func.func @cosine(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.cosine %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @erfc(
// CHECK: chlo.erfc{{.*}}scalify.size = "1 rms=1.2 mean=1 nonnegative"
func.func @erfc(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.erfc %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @acos(
// CHECK: chlo.acos{{.*}}scalify.size = "1 rms=1.57 mean=1.57 nonnegative"
func.func @acos(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.acos %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// x near 0, 1 at most
// CHECK-LABEL: func.func @tanh(
// CHECK: stablehlo.tanh{{.*}}scalify.size = "(1 + s0^-1)^-1 rms=1"
func.func @tanh(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.tanh %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @sine(
// CHECK: stablehlo.sine{{.*}}scalify.size = "(1.41 + s0^-1)^-1 rms=1"
func.func @sine(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.sine %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @erf(
// CHECK: chlo.erf{{.*}}scalify.size = "(1 + s0^-1)^-1 rms=1"
func.func @erf(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.erf %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @atan(
// CHECK: chlo.atan{{.*}}scalify.size = "(0.637 + s0^-1)^-1 rms=1"
func.func @atan(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.atan %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @asin(
// CHECK: chlo.asin{{.*}}scalify.size = "(0.637 + s0^-1)^-1 rms=1"
func.func @asin(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.asin %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @bessel_i1e(
// CHECK: chlo.bessel_i1e{{.*}}scalify.size = "(5 + s0^-1)^-1 rms=1"
func.func @bessel_i1e(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.bessel_i1e %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @tan(
// CHECK: chlo.tan{{.*}}scalify.size = "s0 rms=1"
func.func @tan(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.tan %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @asinh(
// CHECK: chlo.asinh{{.*}}scalify.size = "s0 rms=1"
func.func @asinh(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.asinh %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @atanh(
// CHECK: chlo.atanh{{.*}}scalify.size = "s0 rms=1"
func.func @atanh(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.atanh %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @sinh(
// CHECK: chlo.sinh{{.*}}scalify.size = "s0 rms=1"
func.func @sinh(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.sinh %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @erf_inv(
// CHECK: chlo.erf_inv{{.*}}scalify.size = "s0 rms=1"
func.func @erf_inv(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.erf_inv %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @cosh(
// CHECK: chlo.cosh{{.*}}scalify.size = "1 rms=1 mean=0.5 nonnegative"
func.func @cosh(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.cosh %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// uniform angles: pi / sqrt(3)
// CHECK-LABEL: func.func @atan2(
// CHECK: stablehlo.atan2{{.*}}scalify.size = "1 rms=1.81"
func.func @atan2(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.atan2 %x, %y : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast_atan2(
// CHECK: chlo.broadcast_atan2{{.*}}scalify.size = "1 rms=1.81"
func.func @broadcast_atan2(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.broadcast_atan2 %x, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @exponential(
// CHECK: stablehlo.exponential{{.*}}scalify.size = "1 rms=1 mean=0.5 nonnegative"
func.func @exponential(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.exponential %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// x near 0
// CHECK-LABEL: func.func @exponential_minus_one(
// CHECK: stablehlo.exponential_minus_one{{.*}}scalify.size = "s0 rms=1"
func.func @exponential_minus_one(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.exponential_minus_one %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// x near 0
// CHECK-LABEL: func.func @log_plus_one(
// CHECK: stablehlo.log_plus_one{{.*}}scalify.size = "s0 rms=1"
func.func @log_plus_one(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.log_plus_one %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// x near 0
// CHECK-LABEL: func.func @tangent(
// CHECK: stablehlo.tan{{.*}}scalify.size = "s0 rms=1"
func.func @tangent(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.tan %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @log(
// CHECK: stablehlo.log{{.*}}scalify.size = "1 rms=1"
func.func @log(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.log %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @floor(
// CHECK: stablehlo.floor{{.*}}scalify.size = "s0 rms=1"
func.func @floor(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.floor %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @ceil(
// CHECK: stablehlo.ceil{{.*}}scalify.size = "s0 rms=1"
func.func @ceil(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.ceil %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @round_nearest_afz(
// CHECK: stablehlo.round_nearest_afz{{.*}}scalify.size = "s0 rms=1"
func.func @round_nearest_afz(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.round_nearest_afz %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @round_nearest_even(
// CHECK: stablehlo.round_nearest_even{{.*}}scalify.size = "s0 rms=1"
func.func @round_nearest_even(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.round_nearest_even %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @sign(
// CHECK: stablehlo.sign{{.*}}scalify.size = "1 rms=1"
func.func @sign(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.sign %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// a mask of half of the elements
// CHECK-LABEL: func.func @compare(
// CHECK: stablehlo.convert{{.*}}scalify.size = "1 rms=0.707 mean=0.5 nonnegative"
func.func @compare(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %p = stablehlo.compare LT, %x, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
  %r = stablehlo.convert %p : (tensor<4x16xi1>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// one of 16
// CHECK-LABEL: func.func @one_hot(
// CHECK: stablehlo.convert{{.*}}scalify.size = "1 rms=0.25 mean=0.0625 nonnegative"
func.func @one_hot(%x: tensor<4x16xi32>) -> tensor<4x16xf32> {
  %i = stablehlo.iota dim = 1 : tensor<4x16xi32>
  %p = stablehlo.compare EQ, %x, %i : (tensor<4x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi1>
  %r = stablehlo.convert %p : (tensor<4x16xi1>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast_compare(
// CHECK: stablehlo.convert{{.*}}scalify.size = "1 rms=0.707 mean=0.5 nonnegative"
func.func @broadcast_compare(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %p = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction LT>} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
  %r = stablehlo.convert %p : (tensor<4x16xi1>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// one of 16 is the largest
// CHECK-LABEL: func.func @largest(
// CHECK: stablehlo.convert{{.*}}scalify.size = "1 rms=0.25 mean=0.0625 nonnegative"
func.func @largest(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xf32>) -> tensor<4x16xf32>
  %p = stablehlo.compare EQ, %x, %b : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
  %r = stablehlo.convert %p : (tensor<4x16xi1>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// none of them
// CHECK-LABEL: func.func @infinite(
// CHECK: stablehlo.convert{{.*}}scalify.size = "0"
func.func @infinite(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %i = stablehlo.constant dense<0x7F800000> : tensor<4x16xf32>
  %p = stablehlo.compare EQ, %x, %i : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
  %r = stablehlo.convert %p : (tensor<4x16xi1>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// all of them
// CHECK-LABEL: func.func @is_finite(
// CHECK: stablehlo.convert{{.*}}scalify.size = "1"
func.func @is_finite(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %p = stablehlo.is_finite %x : (tensor<4x16xf32>) -> tensor<4x16xi1>
  %r = stablehlo.convert %p : (tensor<4x16xi1>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
