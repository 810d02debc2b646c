// Sizes: Tensors made of elements of others.
// RUN: scalify-opt %s --split-input-file --scalify-size | FileCheck %s

// half and half
// CHECK-LABEL: func.func @select(
// CHECK: stablehlo.select{{.*}}scalify.size = "(0.707*s1 + 0.707*s2) rms=1"
func.func @select(%p: tensor<4x16xi1>, %x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.select %p, %x, %y : tensor<4x16xi1>, tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// the gradient of relu
// CHECK-LABEL: func.func @select_zero(
// CHECK: stablehlo.select{{.*}}scalify.size = "s0 rms=0.707"
func.func @select_zero(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %p = stablehlo.compare GT, %y, %z : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
  %r = stablehlo.select %p, %x, %z : tensor<4x16xi1>, tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// a mask of positions has been there before
// CHECK-LABEL: func.func @select_positions(
// CHECK: stablehlo.select{{.*}}scalify.size = "s0 rms=1"
func.func @select_positions(%x: tensor<4x16xf32>, %i: tensor<4x16xi32>) -> tensor<4x16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %p = stablehlo.compare GE, %i, %i : (tensor<4x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi1>
  %r = stablehlo.select %p, %x, %z : tensor<4x16xi1>, tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// infinities are left out
// CHECK-LABEL: func.func @select_mask(
// CHECK: stablehlo.select{{.*}}scalify.size = "s1 rms=1 infinite"
func.func @select_mask(%p: tensor<4x16xi1>, %x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %z = stablehlo.constant dense<0xFF800000> : tensor<4x16xf32>
  %r = stablehlo.select %p, %x, %z : tensor<4x16xi1>, tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// all of one, or all of the other
// CHECK-LABEL: func.func @select_all(
// CHECK: stablehlo.select{{.*}}scalify.size = "s1 rms=1"
func.func @select_all(%p: tensor<i1>, %x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %r = stablehlo.select %p, %x, %z : tensor<i1>, tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast_select(
// CHECK: chlo.broadcast_select{{.*}}scalify.size = "(0.707*s1 + 0.707*s2) rms=1"
func.func @broadcast_select(%p: tensor<4x16xi1>, %x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.broadcast_select %p, %x, %y : (tensor<4x16xi1>, tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @relu(
// CHECK: stablehlo.maximum{{.*}}scalify.size = "s0 rms=0.707 mean=0.4 nonnegative"
func.func @relu(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %r = stablehlo.maximum %x, %z : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @minimum(
// CHECK: stablehlo.minimum{{.*}}scalify.size = "s0 rms=0.707 mean=-0.4"
func.func @minimum(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<4x16xf32>
  %r = stablehlo.minimum %x, %z : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// min(|x|, 1)
// CHECK-LABEL: func.func @clipped_norm(
// CHECK: stablehlo.minimum{{.*}}scalify.size = "(1 + s0^-1)^-1 rms=1 nonnegative"
func.func @clipped_norm(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<4x16xf32>
  %n = stablehlo.abs %x : tensor<4x16xf32>
  %r = stablehlo.minimum %n, %one : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @maximum_of_two(
// CHECK: stablehlo.maximum{{.*}}scalify.size = "(s0 + s1) rms=1"
func.func @maximum_of_two(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.maximum %x, %y : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast_maximum(
// CHECK: chlo.broadcast_maximum{{.*}}scalify.size = "(s0 + s1) rms=1"
func.func @broadcast_maximum(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.broadcast_maximum %x, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @broadcast_minimum(
// CHECK: chlo.broadcast_minimum{{.*}}scalify.size = "(s0 + s1) rms=1"
func.func @broadcast_minimum(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = chlo.broadcast_minimum %x, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// between -2 and 2
// CHECK-LABEL: func.func @clamp(
// CHECK: stablehlo.clamp{{.*}}scalify.size = "(0.5 + s0^-1)^-1 rms=1"
func.func @clamp(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %l = stablehlo.constant dense<-2.0> : tensor<4x16xf32>
  %h = stablehlo.constant dense<2.0> : tensor<4x16xf32>
  %r = stablehlo.clamp %l, %x, %h : tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// shares 1/4 and 3/4
// CHECK-LABEL: func.func @concatenate(
// CHECK: stablehlo.concatenate{{.*}}scalify.size = "(0.5*s0 + 0.866*s1) rms=1"
func.func @concatenate(%x: tensor<1x16xf32>, %y: tensor<3x16xf32>) -> tensor<4x16xf32> {
  %r = stablehlo.concatenate %x, %y, dim = 0 : (tensor<1x16xf32>, tensor<3x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// 3 of 4 are zeros
// CHECK-LABEL: func.func @pad(
// CHECK: stablehlo.pad{{.*}}scalify.size = "s0 rms=0.5"
func.func @pad(%x: tensor<1x16xf32>) -> tensor<4x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.pad %x, %zero, low = [3, 0], high = [0, 0], interior = [0, 0] : (tensor<1x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic_pad(
// CHECK: stablehlo.dynamic_pad{{.*}}scalify.size = "s0 rms=0.5"
func.func @dynamic_pad(%x: tensor<1x16xf32>, %l: tensor<2xi32>) -> tensor<4x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.dynamic_pad %x, %zero, %l, %l, %l : (tensor<1x16xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @dynamic_update_slice(
// CHECK: stablehlo.dynamic_update_slice{{.*}}scalify.size = "(0.866*s0 + 0.5*s1) rms=1"
func.func @dynamic_update_slice(%x: tensor<4x16xf32>, %y: tensor<1x16xf32>, %i: tensor<i32>) -> tensor<4x16xf32> {
  %r = stablehlo.dynamic_update_slice %x, %y, %i, %i : (tensor<4x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// what has no elements counts nowhere, whatever it is a sum of
// CHECK-LABEL: func.func @beside_nothing(
// CHECK: stablehlo.concatenate{{.*}}scalify.size = "s0 rms=1"
func.func @beside_nothing(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %e = stablehlo.slice %x [0:4, 0:0] : (tensor<4x16xf32>) -> tensor<4x0xf32>
  %sum = stablehlo.add %e, %e : tensor<4x0xf32>
  %r = stablehlo.concatenate %x, %sum, dim = 1 : (tensor<4x16xf32>, tensor<4x0xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
