// Sizes: What is made of nothing, and what only carries a value.
// RUN: scalify-opt %s --split-input-file --scalify-size | FileCheck %s

// CHECK-LABEL: func.func @constant(
// CHECK: stablehlo.constant{{.*}}scalify.size = "1 rms=3.54 mean=3.5 nonnegative"
func.func @constant(%x: tensor<4x16xf32>) -> tensor<2xf32> {
  %r = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @chlo_constant(
// CHECK: chlo.constant{{.*}}scalify.size = "0.5"
func.func @chlo_constant(%x: tensor<4x16xf32>) -> tensor<2xf32> {
  %r = chlo.constant dense<0.5> : tensor<2xf32>
  return %r : tensor<2xf32>
}

// -----

// CHECK-LABEL: func.func @constant_like(
// CHECK: chlo.constant_like{{.*}}scalify.size = "0.5"
func.func @constant_like(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = "chlo.constant_like"(%x) {value = 0.5 : f32} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// 0 to 4
// CHECK-LABEL: func.func @iota(
// CHECK: stablehlo.iota{{.*}}scalify.size = "1 rms=2.45 mean=2 nonnegative"
func.func @iota(%x: tensor<4x16xf32>) -> tensor<5xf32> {
  %r = stablehlo.iota dim = 0 : tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic_iota(
// CHECK: stablehlo.dynamic_iota{{.*}}scalify.size = "1 rms=2.45 mean=2 nonnegative"
func.func @dynamic_iota(%n: tensor<1xi32>) -> tensor<5xf32> {
  %r = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

// uniform in [0, 1)
// CHECK-LABEL: func.func @rng(
// CHECK: stablehlo.rng{{.*}}scalify.size = "1 rms=0.577 mean=0.5 nonnegative"
func.func @rng(%n: tensor<1xi64>) -> tensor<5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %r = stablehlo.rng %zero, %one, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

// CHECK-LABEL: func.func @convert(
// CHECK: stablehlo.convert{{.*}}scalify.size = "s0 rms=1"
func.func @convert(%x: tensor<4x16xf32>) -> tensor<4x16xf16> {
  %r = stablehlo.convert %x : (tensor<4x16xf32>) -> tensor<4x16xf16>
  return %r : tensor<4x16xf16>
}

// -----

// f16 has no 1e-8: it is kept
// CHECK-LABEL: func.func @convert_epsilon(
// CHECK: stablehlo.convert{{.*}}scalify.size = "1e-08"
func.func @convert_epsilon(%x: tensor<4x16xf32>) -> tensor<f16> {
  %e = stablehlo.constant dense<1.0e-08> : tensor<f32>
  %r = stablehlo.convert %e : (tensor<f32>) -> tensor<f16>
  return %r : tensor<f16>
}

// -----

// CHECK-LABEL: func.func @reduce_precision(
// CHECK: stablehlo.reduce_precision{{.*}}scalify.size = "s0 rms=1"
func.func @reduce_precision(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.reduce_precision %x, format = e5m10 : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// data movement
// CHECK-LABEL: func.func @transpose(
// CHECK: stablehlo.transpose{{.*}}scalify.size = "s0 rms=1"
func.func @transpose(%x: tensor<4x16xf32>) -> tensor<16x4xf32> {
  %r = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x16xf32>) -> tensor<16x4xf32>
  return %r : tensor<16x4xf32>
}

// -----

// CHECK-LABEL: func.func @rng_bit_generator(
// CHECK: stablehlo.rng_bit_generator{{.*}}scalify.size.1 = "1 rms=1"
func.func @rng_bit_generator(%s: tensor<2xui64>) -> tensor<4xf32> {
  %o, %r = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xf32>)
  return %r : tensor<4xf32>
}

// -----

// every operand keeps its size
// CHECK-LABEL: func.func @barrier(
// CHECK: stablehlo.optimization_barrier{{.*}}scalify.size.1 = "s1 rms=1"
func.func @barrier(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %b, %r = stablehlo.optimization_barrier %x, %y : tensor<4x16xf32>, tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// a layout
// CHECK-LABEL: func.func @sharding(
// CHECK: stablehlo.custom_call{{.*}}scalify.size = "s0 rms=1"
func.func @sharding(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.custom_call @Sharding(%x) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
