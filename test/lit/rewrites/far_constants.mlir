// What f16 does not hold is as far as its largest number, whatever it is: a mask of -1e30 leaves the scale 2^-8 as well.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @mask(
// CHECK-SAME: %[[P:[A-Za-z_0-9]+]]: tensor<4x4xi1>, %[[DATA:[A-Za-z_0-9]+]]: tensor<4x4xf16> {scalify.role = "data"}, %[[SCALE:[A-Za-z_0-9]+]]: tensor<f32>
// CHECK: %[[LEAST:.+]] = stablehlo.constant dense<3.906250e-03> : tensor<f32>
// CHECK: %[[LARGER:.+]] = stablehlo.maximum %[[LEAST]], %[[SCALE]]
// CHECK: stablehlo.clamp
// CHECK: return %{{.+}}, %[[LARGER]] : tensor<4x4xf16>, tensor<f32>
func.func public @mask(%p: tensor<4x4xi1>, %x: tensor<4x4xf16>) -> tensor<4x4xf16> {
  %far = stablehlo.constant dense<-1.0e30> : tensor<f32>
  %narrow = stablehlo.convert %far : (tensor<f32>) -> tensor<f16>
  %all = stablehlo.broadcast_in_dim %narrow, dims = [] : (tensor<f16>) -> tensor<4x4xf16>
  %r = stablehlo.select %p, %x, %all : tensor<4x4xi1>, tensor<4x4xf16>
  return %r : tensor<4x4xf16>
}

// -----

// A number in the place of zeros that f16 does not hold is no divisor: what it stands beside keeps its scale in f32.
// CHECK-LABEL: func.func public @where_zero(
// CHECK-SAME: %[[SCALE:[A-Za-z_0-9]+]]: tensor<f32>
// CHECK: %[[LEAST:.+]] = stablehlo.constant dense<2.16840434E-19> : tensor<f32>
// CHECK: %[[LARGER:.+]] = stablehlo.maximum %[[LEAST]], %[[SCALE]]
// CHECK: return %{{.+}}, %[[LARGER]] : tensor<4xf16>, tensor<f32>
func.func public @where_zero(%x: tensor<4xf16>) -> tensor<4xf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %far = stablehlo.constant dense<1.0e30> : tensor<4xf32>
  %wide = stablehlo.convert %x : (tensor<4xf16>) -> tensor<4xf32>
  %is_zero = stablehlo.compare EQ, %wide, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %r = stablehlo.select %is_zero, %far, %wide : tensor<4xi1>, tensor<4xf32>
  %narrow = stablehlo.convert %r : (tensor<4xf32>) -> tensor<4xf16>
  return %narrow : tensor<4xf16>
}

// -----

// x/2 + tanh(x) is a series in x: it keeps the scale of x, and a loop that it is iterated in as well.
// CHECK-LABEL: func.func public @series(
// CHECK-SAME: %[[SCALE:[A-Za-z_0-9]+]]: tensor<f32>
// CHECK: %[[VALUE:.+]] = stablehlo.tanh
// CHECK: stablehlo.add %{{.+}}, %[[VALUE]]
// CHECK: return %{{.+}}, %[[SCALE]] : tensor<4xf32>, tensor<f32>
func.func public @series(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = stablehlo.constant dense<0.5> : tensor<4xf32>
  %f = stablehlo.tanh %x : tensor<4xf32>
  %low = stablehlo.multiply %x, %half : tensor<4xf32>
  %r = stablehlo.add %low, %f : tensor<4xf32>
  return %r : tensor<4xf32>
}
