// An exponential that may be of any size is stored in f32: exp(z / 0.05) of cosines z goes up to 2^29. So is a power by an
// exponent that is no constant, x^y = exp(y log(x)). One of what a maximum was taken from, or of what is not positive, is
// at most 1, and that of a sigmoid may be infinite: what lies in memory is f16 as all else.
// RUN: scalify-opt %s --split-input-file --scalify-cast=precision=fp16 | FileCheck %s

// CHECK-LABEL: func.func public @any(
// CHECK: %[[E:.*]] = stablehlo.exponential %{{.*}} : tensor<8x8xf32>
// CHECK: stablehlo.multiply %[[E]], %{{.*}} : tensor<8x8xf32>
func.func public @any(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %z = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %e = stablehlo.exponential %z : tensor<8x8xf32>
  %s = stablehlo.dot_general %e, %w, contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
  %again = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %p = stablehlo.multiply %e, %again : tensor<8x8xf32>
  return %p : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func public @softmax(
// CHECK: %[[E:.*]] = stablehlo.exponential %{{.*}} : tensor<8x8xf32>
// CHECK: %[[E16:.*]] = stablehlo.convert %[[E]] : (tensor<8x8xf32>) -> tensor<8x8xf16>
// CHECK: %[[AGAIN:.*]] = stablehlo.convert %[[E16]] : (tensor<8x8xf16>) -> tensor<8x8xf32>
// CHECK: stablehlo.multiply %[[AGAIN]], %{{.*}} : tensor<8x8xf32>
func.func public @softmax(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %z = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %largest = stablehlo.reduce(%z init: %least) applies stablehlo.maximum across dimensions = [1]
    : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  %spread = stablehlo.broadcast_in_dim %largest, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %below = stablehlo.subtract %z, %spread : tensor<8x8xf32>
  %e = stablehlo.exponential %below : tensor<8x8xf32>
  %s = stablehlo.dot_general %e, %w, contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
  %again = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %p = stablehlo.multiply %e, %again : tensor<8x8xf32>
  return %p : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func public @laplace(
// CHECK: %[[E:.*]] = stablehlo.exponential %{{.*}} : tensor<8x8xf32>
// CHECK: %[[E16:.*]] = stablehlo.convert %[[E]] : (tensor<8x8xf32>) -> tensor<8x8xf16>
// CHECK: %[[AGAIN:.*]] = stablehlo.convert %[[E16]] : (tensor<8x8xf16>) -> tensor<8x8xf32>
// CHECK: stablehlo.multiply %[[AGAIN]], %{{.*}} : tensor<8x8xf32>
func.func public @laplace(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %z = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %abs = stablehlo.abs %z : tensor<8x8xf32>
  %negative = stablehlo.negate %abs : tensor<8x8xf32>
  %e = stablehlo.exponential %negative : tensor<8x8xf32>
  %s = stablehlo.dot_general %e, %w, contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
  %again = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %p = stablehlo.multiply %e, %again : tensor<8x8xf32>
  return %p : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func public @sigmoid(
// CHECK: %[[S:.*]] = stablehlo.divide
// CHECK: %[[S16:.*]] = stablehlo.convert %[[S]] : (tensor<8x8xf32>) -> tensor<8x8xf16>
// CHECK: %[[AGAIN:.*]] = stablehlo.convert %[[S16]] : (tensor<8x8xf16>) -> tensor<8x8xf32>
// CHECK: stablehlo.multiply %[[AGAIN]], %{{.*}} : tensor<8x8xf32>
func.func public @sigmoid(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %z = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %t = stablehlo.tanh %z : tensor<8x8xf32>
  %minus = stablehlo.negate %t : tensor<8x8xf32>
  %e = stablehlo.exponential %minus : tensor<8x8xf32>
  %one = stablehlo.constant dense<1.0> : tensor<8x8xf32>
  %plus = stablehlo.add %one, %e : tensor<8x8xf32>
  %sigmoid = stablehlo.divide %one, %plus : tensor<8x8xf32>
  %s = stablehlo.dot_general %sigmoid, %w, contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
  %again = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %u = stablehlo.multiply %sigmoid, %again : tensor<8x8xf32>
  return %u : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func public @sharper(
// CHECK: %[[P:.*]] = stablehlo.power %{{.*}} : tensor<8x8xf32>
// CHECK: stablehlo.multiply %[[P]], %{{.*}} : tensor<8x8xf32>
func.func public @sharper(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %z = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %s = stablehlo.logistic %z : tensor<8x8xf32>
  %power = stablehlo.power %s, %y : tensor<8x8xf32>
  %t = stablehlo.dot_general %power, %w, contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
  %again = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %p = stablehlo.multiply %power, %again : tensor<8x8xf32>
  return %p : tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func public @cubed(
// CHECK: %[[P:.*]] = stablehlo.power %{{.*}} : tensor<8x8xf32>
// CHECK: %[[P16:.*]] = stablehlo.convert %[[P]] : (tensor<8x8xf32>) -> tensor<8x8xf16>
// CHECK: %[[AGAIN:.*]] = stablehlo.convert %[[P16]] : (tensor<8x8xf16>) -> tensor<8x8xf32>
// CHECK: stablehlo.multiply %[[AGAIN]], %{{.*}} : tensor<8x8xf32>
func.func public @cubed(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %z = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %t = stablehlo.tanh %z : tensor<8x8xf32>
  %three = stablehlo.constant dense<3.0> : tensor<8x8xf32>
  %power = stablehlo.power %t, %three : tensor<8x8xf32>
  %s = stablehlo.dot_general %power, %w, contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<4x8xf32>) -> tensor<8x4xf32>
  %again = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %u = stablehlo.multiply %power, %again : tensor<8x8xf32>
  return %u : tensor<8x8xf32>
}
