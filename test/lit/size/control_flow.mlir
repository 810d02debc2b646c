// Sizes through calls, branches, loops and recognised blocks.
// RUN: scalify-opt %s --split-input-file --scalify-size | FileCheck %s

// A function is followed for each size that it is called with.
// CHECK-LABEL: func.func @calls(
// CHECK: call @square(%{{.+}}) {scalify.size = "s0^2 rms=1.73 mean=1 nonnegative"}
// CHECK: call @square(%{{.+}}) {scalify.size = "s0^4 rms={{.+}} nonnegative"}
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = func.call @square(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = func.call @square(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.multiply %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// One branch or the other.
// CHECK-LABEL: func.func @branches(
// CHECK: }) {scalify.size = "(s1 + s2) rms=1"}
func.func @branches(%i: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %y : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// c <- c + x, 16 times, from zeros: variances add.
// CHECK-LABEL: func.func @sum_over_iterations(
// CHECK: scalify.size.1 = "s0 rms=16"
func.func @sum_over_iterations(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<256> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r:2 = stablehlo.while(%i = %zero, %c = %z) : tensor<i32>, tensor<4xf32>
   cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.add %c, %x : tensor<4xf32>
    stablehlo.return %j, %s : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// -----

// c <- c/2 + x settles at the root of 1/(1 - 1/4).
// CHECK-LABEL: func.func @average(
// CHECK: scalify.size.1 = "s0 rms=1.15"
func.func @average(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<256> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<4xf32>
  %r:2 = stablehlo.while(%i = %zero, %c = %z) : tensor<i32>, tensor<4xf32>
   cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %h = stablehlo.multiply %c, %half : tensor<4xf32>
    %s = stablehlo.add %h, %x : tensor<4xf32>
    stablehlo.return %j, %s : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// -----

// c <- 3 c grows without bound: it is held at the size it entered with.
// CHECK-LABEL: func.func @held(
// CHECK: scalify.size.1 = "s0 rms=1"
func.func @held(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<256> : tensor<i32>
  %three = stablehlo.constant dense<3.0> : tensor<4xf32>
  %r:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<4xf32>
   cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.multiply %c, %three : tensor<4xf32>
    stablehlo.return %j, %s : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}

// -----

// A buffer that is written slice by slice is full of slices in the end.
// CHECK-LABEL: func.func @stacked(
// CHECK: scalify.size.1 = "s0 rms=1"
func.func @stacked(%x: tensor<1x4xf32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<8> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %r:2 = stablehlo.while(%i = %zero, %c = %z) : tensor<i32>, tensor<8x4xf32>
   cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %s = stablehlo.dynamic_update_slice %c, %x, %i, %zero
       : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    stablehlo.return %j, %s : tensor<i32>, tensor<8x4xf32>
  }
  return %r#1 : tensor<8x4xf32>
}

// -----

// Blocks have laws of their own: softmax over 16 elements, 16^(-3/4).
// CHECK-LABEL: func.func @softmax(
// CHECK: stablehlo.divide{{.*}}scalify.block = "softmax", scalify.size = "1 rms=0.125 mean=0.0625 nonnegative"
func.func @softmax(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<4x16xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
     : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  %b = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<4xf32>) -> tensor<4x16xf32>
  %p = stablehlo.divide %e, %b : tensor<4x16xf32>
  return %p : tensor<4x16xf32>
}
