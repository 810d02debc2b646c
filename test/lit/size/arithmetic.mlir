// Sizes: Sums, products, quotients and powers.
// RUN: scalify-opt %s --split-input-file --scalify-size | FileCheck %s

// E[(x + y)^2] = E[x^2] + E[y^2]
// CHECK-LABEL: func.func @add(
// CHECK: stablehlo.add{{.*}}scalify.size = "(s0 + s1) rms=1"
func.func @add(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.add %x, %y : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// variances add
// CHECK-LABEL: func.func @add_of_one_size(
// CHECK: stablehlo.add{{.*}}scalify.size = "s0 rms=1.41"
func.func @add_of_one_size(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %n = stablehlo.negate %x : tensor<4x16xf32>
  %t = stablehlo.transpose %x, dims = [0, 1] : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %r = stablehlo.add %n, %t : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// x + x = 2 x
// CHECK-LABEL: func.func @add_to_itself(
// CHECK: stablehlo.add{{.*}}scalify.size = "s0 rms=2"
func.func @add_to_itself(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.add %x, %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @add_zero(
// CHECK: stablehlo.add{{.*}}scalify.size = "s0 rms=1"
func.func @add_zero(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %r = stablehlo.add %x, %z : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// what counts where is known at run time
// CHECK-LABEL: func.func @add_epsilon(
// CHECK: stablehlo.add{{.*}}scalify.size = "(1e-05 + 1.73*s0^2) rms=1 mean=0.577 nonnegative"
func.func @add_epsilon(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %e = stablehlo.constant dense<1.0e-05> : tensor<4x16xf32>
  %q = stablehlo.multiply %x, %x : tensor<4x16xf32>
  %r = stablehlo.add %q, %e : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @subtract(
// CHECK: stablehlo.subtract{{.*}}scalify.size = "(s0 + s1) rms=1"
func.func @subtract(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.subtract %x, %y : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// 0.5 - 2
// CHECK-LABEL: func.func @numbers(
// CHECK: stablehlo.subtract{{.*}}scalify.size = "-1.5"
func.func @numbers(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %a = stablehlo.constant dense<0.5> : tensor<4x16xf32>
  %c = stablehlo.constant dense<2.0> : tensor<4x16xf32>
  %r = stablehlo.subtract %a, %c : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// E[(x y)^2] = E[x^2] E[y^2]
// CHECK-LABEL: func.func @multiply(
// CHECK: stablehlo.multiply{{.*}}scalify.size = "s0*s1 rms=1"
func.func @multiply(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.multiply %x, %y : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// Gaussian: E[x^4] = 3 E[x^2]^2
// CHECK-LABEL: func.func @multiply_by_itself(
// CHECK: stablehlo.multiply{{.*}}scalify.size = "s0^2 rms=1.73 mean=1 nonnegative"
func.func @multiply_by_itself(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.multiply %x, %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @multiply_by_a_number(
// CHECK: stablehlo.multiply{{.*}}scalify.size = "s0 rms=0.25"
func.func @multiply_by_a_number(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %c = stablehlo.constant dense<0.25> : tensor<4x16xf32>
  %r = stablehlo.multiply %x, %c : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @square(
// CHECK: chlo.square{{.*}}scalify.size = "s0^2 rms=1.73 mean=1 nonnegative"
func.func @square(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.square %x : tensor<4x16xf32> -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @divide(
// CHECK: stablehlo.divide{{.*}}scalify.size = "s0*s1^-1 rms=1"
func.func @divide(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.divide %x, %y : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// x / x = 1
// CHECK-LABEL: func.func @divide_by_itself(
// CHECK: stablehlo.divide{{.*}}scalify.size = "1"
func.func @divide_by_itself(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.divide %x, %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @negate(
// CHECK: stablehlo.negate{{.*}}scalify.size = "s0 rms=1"
func.func @negate(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.negate %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// E|x| = sqrt(2 / pi)
// CHECK-LABEL: func.func @abs(
// CHECK: stablehlo.abs{{.*}}scalify.size = "s0 rms=1 mean=0.798 nonnegative"
func.func @abs(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.abs %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @sqrt(
// CHECK: stablehlo.sqrt{{.*}}scalify.size = "s0^0.5 rms=1 mean=0.798 nonnegative"
func.func @sqrt(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.sqrt %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// E[sqrt(x^2)^2] = E[x^2]
// CHECK-LABEL: func.func @root_of_a_square(
// CHECK: stablehlo.sqrt{{.*}}scalify.size = "s0 rms=1 mean=0.798 nonnegative"
func.func @root_of_a_square(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %q = stablehlo.multiply %x, %x : tensor<4x16xf32>
  %r = stablehlo.sqrt %q : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @rsqrt(
// CHECK: stablehlo.rsqrt{{.*}}scalify.size = "s0^-0.5 rms=1 mean=0.798 nonnegative"
func.func @rsqrt(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.rsqrt %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @cbrt(
// CHECK: stablehlo.cbrt{{.*}}scalify.size = "s0^0.333333 rms=1"
func.func @cbrt(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.cbrt %x : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// Gaussian: E[x^6] = 15 E[x^2]^3
// CHECK-LABEL: func.func @power(
// CHECK: stablehlo.power{{.*}}scalify.size = "s0^3 rms=3.87"
func.func @power(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %n = stablehlo.constant dense<3.0> : tensor<4x16xf32>
  %r = stablehlo.power %x, %n : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// smaller than both
// CHECK-LABEL: func.func @remainder(
// CHECK: stablehlo.remainder{{.*}}scalify.size = "(s0^-1 + s1^-1)^-1 rms=1"
func.func @remainder(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.remainder %x, %y : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @complex(
// CHECK: stablehlo.complex{{.*}}scalify.size = "(s0 + s1) rms=1"
func.func @complex(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xcomplex<f32>> {
  %r = stablehlo.complex %x, %y : tensor<4x16xcomplex<f32>>
  return %r : tensor<4x16xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @real(
// CHECK: stablehlo.real{{.*}}scalify.size = "s0 rms=1"
func.func @real(%x: tensor<4x16xcomplex<f32>>) -> tensor<4x16xf32> {
  %r = stablehlo.real %x : (tensor<4x16xcomplex<f32>>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @imag(
// CHECK: stablehlo.imag{{.*}}scalify.size = "s0 rms=1"
func.func @imag(%x: tensor<4x16xcomplex<f32>>) -> tensor<4x16xf32> {
  %r = stablehlo.imag %x : (tensor<4x16xcomplex<f32>>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @conj(
// CHECK: chlo.conj{{.*}}scalify.size = "s0 rms=1"
func.func @conj(%x: tensor<4x16xcomplex<f32>>) -> tensor<4x16xcomplex<f32>> {
  %r = chlo.conj %x : tensor<4x16xcomplex<f32>> -> tensor<4x16xcomplex<f32>>
  return %r : tensor<4x16xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @broadcast_add(
// CHECK: chlo.broadcast_add{{.*}}scalify.size = "(s0 + s1) rms=1"
func.func @broadcast_add(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.broadcast_add %x, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast_subtract(
// CHECK: chlo.broadcast_subtract{{.*}}scalify.size = "(s0 + s1) rms=1"
func.func @broadcast_subtract(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.broadcast_subtract %x, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast_multiply(
// CHECK: chlo.broadcast_multiply{{.*}}scalify.size = "s0*s1 rms=1"
func.func @broadcast_multiply(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.broadcast_multiply %x, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast_divide(
// CHECK: chlo.broadcast_divide{{.*}}scalify.size = "s0*s1^-1 rms=1"
func.func @broadcast_divide(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.broadcast_divide %x, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast_power(
// CHECK: chlo.broadcast_power{{.*}}scalify.size = "s0^2 rms=1.73 mean=1 nonnegative"
func.func @broadcast_power(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %n = stablehlo.constant dense<2.0> : tensor<4x16xf32>
  %r = chlo.broadcast_power %x, %n : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast_remainder(
// CHECK: chlo.broadcast_remainder{{.*}}scalify.size = "(s0^-1 + s1^-1)^-1 rms=1"
func.func @broadcast_remainder(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.broadcast_remainder %x, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast_complex(
// CHECK: chlo.broadcast_complex{{.*}}scalify.size = "(s0 + s1) rms=1"
func.func @broadcast_complex(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xcomplex<f32>> {
  %r = chlo.broadcast_complex %x, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xcomplex<f32>>
  return %r : tensor<4x16xcomplex<f32>>
}
