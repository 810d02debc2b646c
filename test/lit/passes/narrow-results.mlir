// A product of f16 that is rounded next gives f16: round(2^-3 (x . y)) = round((2^-3 x) . y).
// RUN: scalify-opt %s --scalify-narrow-results=serving=true | FileCheck %s

// CHECK-LABEL: func.func @scores(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<8x64xf16>, %[[K:[^:]*]]: tensor<64x128xf16>
// CHECK: %[[LESS:.+]] = stablehlo.multiply %[[Q]], %{{.+}} : tensor<8x64xf16>
// CHECK: %[[SUM:.+]] = stablehlo.dot_general %[[LESS]], %[[K]], {{.+}} -> tensor<8x128xf16>
// CHECK: return %[[SUM]]
func.func @scores(%q: tensor<8x64xf16>, %k: tensor<64x128xf16>) -> tensor<8x128xf16> {
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [0] : (tensor<8x64xf16>, tensor<64x128xf16>) -> tensor<8x128xf32>
  %c = stablehlo.constant dense<0.125> : tensor<8x128xf32>
  %1 = stablehlo.multiply %0, %c : tensor<8x128xf32>
  %2 = stablehlo.convert %1 : (tensor<8x128xf32>) -> tensor<8x128xf16>
  return %2 : tensor<8x128xf16>
}

// What the program is given is converted in a kernel of its own, which takes the factor, however large it is.

// CHECK-LABEL: func.func @of_a_weight(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x64xf16>, %[[W:[^:]*]]: tensor<64x128xf32>
// CHECK: %[[NARROW:.+]] = stablehlo.convert %[[W]] : (tensor<64x128xf32>) -> tensor<64x128xf16>
// CHECK: %[[LESS:.+]] = stablehlo.multiply %[[NARROW]], %{{.+}} : tensor<64x128xf16>
// CHECK: stablehlo.dot_general %[[X]], %[[LESS]], {{.+}} -> tensor<8x128xf16>
func.func @of_a_weight(%x: tensor<8x64xf16>, %w: tensor<64x128xf32>) -> tensor<8x128xf16> {
  %n = stablehlo.convert %w : (tensor<64x128xf32>) -> tensor<64x128xf16>
  %0 = stablehlo.dot_general %x, %n, contracting_dims = [1] x [0] : (tensor<8x64xf16>, tensor<64x128xf16>) -> tensor<8x128xf32>
  %c = stablehlo.constant dense<0.125> : tensor<8x128xf32>
  %1 = stablehlo.multiply %0, %c : tensor<8x128xf32>
  %2 = stablehlo.convert %1 : (tensor<8x128xf32>) -> tensor<8x128xf16>
  return %2 : tensor<8x128xf16>
}

// GPUs have no convolution of f16 that gives f32: here the result is smaller than both operands.

// CHECK-LABEL: func.func @convolution(
// CHECK: stablehlo.multiply %{{.+}} : tensor<1x3x3x4xf16>
// CHECK: stablehlo.convolution{{.+}} -> tensor<1x1x1x8xf16>
func.func @convolution(%x: tensor<1x3x3x4xf16>, %k: tensor<3x3x4x8xf16>) -> tensor<1x1x1x8xf16> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x4xf16>, tensor<3x3x4x8xf16>) -> tensor<1x1x1x8xf32>
  %c = stablehlo.constant dense<0.125> : tensor<1x1x1x8xf32>
  %1 = stablehlo.multiply %0, %c : tensor<1x1x1x8xf32>
  %2 = stablehlo.convert %1 : (tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xf16>
  return %2 : tensor<1x1x1x8xf16>
}

// Nor one of bf16.

// CHECK-LABEL: func.func @convolution_of_bf16(
// CHECK: stablehlo.convolution{{.+}} -> tensor<1x1x1x8xbf16>
func.func @convolution_of_bf16(%x: tensor<1x3x3x4xbf16>, %k: tensor<3x3x4x8xbf16>) -> tensor<1x1x1x8xbf16> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3x3x4xbf16>, tensor<3x3x4x8xbf16>) -> tensor<1x1x1x8xf32>
  %1 = stablehlo.convert %0 : (tensor<1x1x1x8xf32>) -> tensor<1x1x1x8xbf16>
  return %1 : tensor<1x1x1x8xbf16>
}
