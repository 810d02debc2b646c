// What only a constant keeps from 0 is formed in f32, and a quotient by it is not rounded where others would be: in memory.
// RUN: scalify-opt %s --scalify-cast=precision=fp16 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[Y:.+]] = stablehlo.dot_general
// CHECK: %[[S:.+]] = stablehlo.multiply %[[Y]], %[[Y]] : tensor<4x8xf32>
// CHECK: %[[D:.+]] = stablehlo.add %[[S]], %{{.+}} : tensor<4x8xf32>
// CHECK: %[[Q:.+]] = stablehlo.divide %{{.+}}, %[[D]] : tensor<4x8xf32>
// CHECK: %[[Q16:.+]] = stablehlo.convert %[[Q]] : (tensor<4x8xf32>) -> tensor<4x8xf16>
// CHECK: stablehlo.dot_general %[[Q16]],
// CHECK: stablehlo.multiply %[[Q]], %{{.+}} : tensor<4x8xf32>
// A guard of 1 is none.
// CHECK: %[[H:.+]] = stablehlo.divide %{{.+}}, %{{.+}} : tensor<4x8xf32>
// CHECK: %[[H16:.+]] = stablehlo.convert %[[H]] : (tensor<4x8xf32>) -> tensor<4x8xf16>
// CHECK: %[[WIDE:.+]] = stablehlo.convert %[[H16]] : (tensor<4x8xf16>) -> tensor<4x8xf32>
// CHECK: stablehlo.dot_general %[[H16]],
// CHECK: stablehlo.multiply %[[WIDE]], %{{.+}} : tensor<4x8xf32>
// What is added to a value of unknown sign guards it.
// CHECK: %[[G:.+]] = stablehlo.add %{{.+}}, %{{.+}} : tensor<4x8xf32>
// CHECK: %[[R:.+]] = stablehlo.divide %{{.+}}, %[[G]] : tensor<4x8xf32>
// CHECK: %[[R16:.+]] = stablehlo.convert %[[R]] : (tensor<4x8xf32>) -> tensor<4x8xf16>
// CHECK: stablehlo.dot_general %[[R16]],
// CHECK: stablehlo.multiply %[[R]], %{{.+}} : tensor<4x8xf32>
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %guard = stablehlo.constant dense<1.0e-3> : tensor<4x8xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %s = stablehlo.multiply %y, %y : tensor<4x8xf32>
  %d = stablehlo.add %s, %guard : tensor<4x8xf32>
  %q = stablehlo.divide %x, %d : tensor<4x8xf32>
  %qw = stablehlo.dot_general %q, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %p = stablehlo.multiply %q, %qw : tensor<4x8xf32>
  %u = stablehlo.abs %y : tensor<4x8xf32>
  %b = stablehlo.add %u, %one : tensor<4x8xf32>
  %h = stablehlo.divide %x, %b : tensor<4x8xf32>
  %hw = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %k = stablehlo.multiply %h, %hw : tensor<4x8xf32>
  %guarded = stablehlo.add %y, %guard : tensor<4x8xf32>
  %r = stablehlo.divide %x, %guarded : tensor<4x8xf32>
  %rw = stablehlo.dot_general %r, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %o = stablehlo.multiply %r, %rw : tensor<4x8xf32>
  %g = stablehlo.add %k, %o : tensor<4x8xf32>
  %t = stablehlo.add %p, %g : tensor<4x8xf32>
  return %t : tensor<4x8xf32>
}
