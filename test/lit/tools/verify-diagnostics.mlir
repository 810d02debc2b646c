// RUN: scalify-opt %s --split-input-file --verify-diagnostics --on-unsupported=unscale | FileCheck %s

// Each part is a program of its own. A part that fails as announced prints nothing.

// CHECK-LABEL: func.func @fine(
// CHECK-SAME: tensor<4xf32> {scalify.role = "data"}
func.func @fine(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @remark(
// CHECK: stablehlo.custom_call @mystery
func.func @remark(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{computed on recombined values}}
  %0 = stablehlo.custom_call @mystery(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-NOT: @syntax_error
func.func @syntax_error() {
  // expected-error@+1 {{custom op 'stablehlo.nonsense' is unknown}}
  stablehlo.nonsense
}

// -----

func.func @first() { return }
// expected-error@+1 {{2 public functions (@first, @second)}}
func.func @second() { return }

// -----

// CHECK-LABEL: func.func @after_the_errors(
func.func @after_the_errors(%n: tensor<i32>) -> tensor<i32> {
  return %n : tensor<i32>
}
