// Why each scale is what it is: `scalify.reason`, which stays where the operation does, or goes to what takes its place.
// RUN: scalify-opt %s --print-rules --split-input-file | FileCheck %s

// Unlike scales: which is larger is known at run time. Its value alone is read, and the root of it carries the stamp.
// CHECK-LABEL: func.func @unlike(
// CHECK: stablehlo.add {{.*}}scalify.form = "value", scalify.reason = "max at run time", scalify.rule = "additive"
// CHECK: stablehlo.sqrt {{.*}}scalify.form = "value", scalify.reason = "law", scalify.rule = "multiplicative"
// CHECK: stablehlo.add {{.*}}scalify.reason = "max at run time"
func.func @unlike(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %z = stablehlo.add %x, %y : tensor<64xf32>
  %r = stablehlo.sqrt %z : tensor<64xf32>
  %s = stablehlo.add %r, %x : tensor<64xf32>
  return %s : tensor<64xf32>
}

// -----

// One run-time scale for both: the larger power of two is known.
// CHECK-LABEL: func.func @shared(
// CHECK: stablehlo.add {{.*}}scalify.reason = "shared", scalify.rule = "additive"
func.func @shared(%x: tensor<64xf32>) -> tensor<64xf32> {
  %four = stablehlo.constant dense<4.0> : tensor<64xf32>
  %z = stablehlo.multiply %x, %four : tensor<64xf32>
  %s = stablehlo.add %x, %z : tensor<64xf32>
  return %s : tensor<64xf32>
}

// -----

// Zeros fit every scale; a polynomial has that of its lowest term.
// CHECK-LABEL: func.func @others(
// CHECK: stablehlo.add {{.*}}scalify.reason = "any"
// CHECK: stablehlo.add {{.*}}scalify.reason = "polynomial"
func.func @others(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<64xf32>
  %s = stablehlo.add %x, %zero : tensor<64xf32>
  %y = stablehlo.multiply %x, %x : tensor<64xf32>
  %p = stablehlo.add %x, %y : tensor<64xf32>
  return %s, %p : tensor<64xf32>, tensor<64xf32>
}

// -----

// A sum of 2^16 products is brought back to unit size; a weight keeps its scale, an average takes that of what enters.
// CHECK-LABEL: func.func @step(
// CHECK: stablehlo.reduce{{.*}}scalify.reason = "budget"
// CHECK: stablehlo.add {{.*}}scalify.reason = "average"
// CHECK: stablehlo.subtract {{.*}}scalify.reason = "update"
func.func @step(%w: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %m: tensor<64xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<65536x64xf32>)
    -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rate = stablehlo.constant dense<0.01> : tensor<64xf32>
  %b = stablehlo.constant dense<0.9> : tensor<64xf32>
  %c = stablehlo.constant dense<0.1> : tensor<64xf32>
  %g = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<65536x64xf32>, tensor<f32>) -> tensor<64xf32>
  %0 = stablehlo.multiply %m, %b : tensor<64xf32>
  %1 = stablehlo.multiply %g, %c : tensor<64xf32>
  %n = stablehlo.add %0, %1 : tensor<64xf32>
  %2 = stablehlo.multiply %n, %rate : tensor<64xf32>
  %v = stablehlo.subtract %w, %2 : tensor<64xf32>
  return %v, %n : tensor<64xf32>, tensor<64xf32>
}

// -----

// Of several results each has its own reason.
// CHECK-LABEL: func.func public @main
// CHECK: stablehlo.optimization_barrier {{.*}}scalify.reason = ["law", "law"]
func.func public @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = stablehlo.optimization_barrier %x, %y : tensor<8xf32>, tensor<8xf32>
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// What an operation of the program has not become says what it was emitted for: the maximum of scales, a ratio, and what
// results leave with.
// CHECK-LABEL: func.func @emitted(
// CHECK: stablehlo.maximum {{.*}}scalify.for = "add: max at run time"
// CHECK: stablehlo.add {{.*}}scalify.reason = "max at run time"
// CHECK: stablehlo.divide {{.*}}scalify.for = "add: max at run time"
// CHECK: stablehlo.maximum {{.*}}scalify.for = "results"
func.func @emitted(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %s = stablehlo.add %x, %y : tensor<64xf32>
  %p = stablehlo.multiply %x, %y : tensor<64xf32>
  return %s, %p : tensor<64xf32>, tensor<64xf32>
}
