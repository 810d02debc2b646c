// Sizes: Sums of products: sqrt(K).
// RUN: scalify-opt %s --split-input-file --scalify-size | FileCheck %s

// K = 16
// CHECK-LABEL: func.func @dot_general(
// CHECK: stablehlo.dot_general{{.*}}scalify.size = "s0*s1 rms=4"
func.func @dot_general(%x: tensor<4x16xf32>, %y: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// K var + K^2 mean^2
// CHECK-LABEL: func.func @dot_general_of_means(
// CHECK: stablehlo.dot_general{{.*}}scalify.size = "s0 rms=8"
func.func @dot_general_of_means(%x: tensor<4x16xf32>) -> tensor<4x4xf32> {
  %c = stablehlo.constant dense<2.0> : tensor<4x16xf32>
  %r = stablehlo.dot_general %x, %c, contracting_dims = [1] x [1] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @dot(
// CHECK: stablehlo.dot{{.*}}scalify.size = "s0*s1 rms=4"
func.func @dot(%x: tensor<4x16xf32>, %y: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %r = stablehlo.dot %x, %y : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @einsum(
// CHECK: stablehlo.einsum{{.*}}scalify.size = "s0*s1 rms=4"
func.func @einsum(%x: tensor<4x16xf32>, %y: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %r = stablehlo.einsum %x, %y, config = "ab,bc->ac" : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @unary_einsum(
// CHECK: stablehlo.unary_einsum{{.*}}scalify.size = "s0 rms=8"
func.func @unary_einsum(%x: tensor<4x16xf32>) -> tensor<4xf32> {
  %r = stablehlo.unary_einsum %x, config = "ab->a" : (tensor<4x16xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// 9 places, 4 features
// CHECK-LABEL: func.func @convolution(
// CHECK: stablehlo.convolution{{.*}}scalify.size = "s0*s1 rms=6"
func.func @convolution(%x: tensor<2x8x8x4xf32>, %y: tensor<3x3x4x5xf32>) -> tensor<2x8x8x5xf32> {
  %r = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x5xf32>) -> tensor<2x8x8x5xf32>
  return %r : tensor<2x8x8x5xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic_conv(
// CHECK: stablehlo.dynamic_conv{{.*}}scalify.size = "s0*s1 rms=6"
func.func @dynamic_conv(%x: tensor<2x8x8x4xf32>, %y: tensor<3x3x4x5xf32>, %p: tensor<2x2xi32>) -> tensor<2x?x?x5xf32> {
  %r = "stablehlo.dynamic_conv"(%x, %y, %p) {batch_group_count = 1 : i64, feature_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>} : (tensor<2x8x8x4xf32>, tensor<3x3x4x5xf32>, tensor<2x2xi32>) -> tensor<2x?x?x5xf32>
  return %r : tensor<2x?x?x5xf32>
}

// -----

// CHECK-LABEL: func.func @ragged_dot(
// CHECK: chlo.ragged_dot{{.*}}scalify.size = "s0*s1 rms=4"
func.func @ragged_dot(%x: tensor<6x16xf32>, %y: tensor<2x16x8xf32>, %g: tensor<2xi64>) -> tensor<6x8xf32> {
  %r = "chlo.ragged_dot"(%x, %y, %g) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>} : (tensor<6x16xf32>, tensor<2x16x8xf32>, tensor<2xi64>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// -----

// CHECK-LABEL: func.func @fft(
// CHECK: stablehlo.fft{{.*}}scalify.size = "s0 rms=4"
func.func @fft(%x: tensor<16xcomplex<f32>>) -> tensor<16xcomplex<f32>> {
  %r = stablehlo.fft %x, type = FFT, length = [16] : (tensor<16xcomplex<f32>>) -> tensor<16xcomplex<f32>>
  return %r : tensor<16xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func @inverse_fft(
// CHECK: stablehlo.fft{{.*}}scalify.size = "s0 rms=0.25"
func.func @inverse_fft(%x: tensor<16xcomplex<f32>>) -> tensor<16xcomplex<f32>> {
  %r = stablehlo.fft %x, type = IFFT, length = [16] : (tensor<16xcomplex<f32>>) -> tensor<16xcomplex<f32>>
  return %r : tensor<16xcomplex<f32>>
}

// -----

// L L^T = x
// CHECK-LABEL: func.func @cholesky(
// CHECK: stablehlo.cholesky{{.*}}scalify.size = "s0^0.5 rms=1"
func.func @cholesky(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = stablehlo.cholesky %x : tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func @triangular_solve(
// CHECK: stablehlo.triangular_solve{{.*}}scalify.size = "s0^-1*s1 rms=1"
func.func @triangular_solve(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.triangular_solve"(%x, %y) {left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
