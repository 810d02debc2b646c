// Powers that cancel in a quotient are taken on both sides of it: of a cube the value behind it is measured, of a square
// that something is divided by, as in a normalisation, nothing.
// RUN: scalify-opt %s --scalify-auto-rescale=places=products | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[CUBED:.+]] = stablehlo.dot_general %{{.+}}, %{{.+}}, contracting_dims = [1] x [0]
// CHECK: stablehlo.composite "scalify.get_data_and_scale" %[[CUBED]]
// CHECK: stablehlo.composite "scalify.set_scaling"
// CHECK: stablehlo.divide
// CHECK: stablehlo.dot_general
// CHECK-NOT: stablehlo.composite
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %w: tensor<8x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %square = stablehlo.multiply %h, %h : tensor<4x8xf32>
  %cube = stablehlo.multiply %square, %h : tensor<4x8xf32>
  %size = stablehlo.abs %cube : tensor<4x8xf32>
  %guarded = stablehlo.add %size, %one : tensor<4x8xf32>
  %rational = stablehlo.divide %cube, %guarded : tensor<4x8xf32>
  %part = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %squared = stablehlo.multiply %part, %part : tensor<4x8xf32>
  %beside = stablehlo.add %squared, %one : tensor<4x8xf32>
  %normal = stablehlo.divide %squared, %beside : tensor<4x8xf32>
  %0 = stablehlo.dot_general %rational, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.dot_general %normal, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
