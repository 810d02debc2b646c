// Of products of matrices of at most 4 by 4 two estimates are borne, for determinants and quotients of them meet f16: what
// two are multiplied into is measured before a third reads it.
// RUN: scalify-opt %s --scalify-auto-rescale=places=products | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-COUNT-2: stablehlo.dot_general
// CHECK-NOT: stablehlo.dot_general
// CHECK: %[[PAIR:.+]]:2 = stablehlo.composite "scalify.get_data_and_scale"
// CHECK: %[[MEASURED:.+]] = stablehlo.composite "scalify.set_scaling"
// CHECK: stablehlo.dot_general %[[MEASURED]], %{{.+}}
// CHECK-NOT: stablehlo.composite
func.func @main(%turn: tensor<3x3xf32>, %root: tensor<8x3x3xf32>, %camera: tensor<8x3x3xf32>, %lens: tensor<8x3x3xf32>) -> tensor<8x3x3xf32> {
  %0 = stablehlo.dot_general %root, %turn, contracting_dims = [2] x [0]
     : (tensor<8x3x3xf32>, tensor<3x3xf32>) -> tensor<8x3x3xf32>
  %1 = stablehlo.dot_general %0, %camera, batching_dims = [0] x [0], contracting_dims = [2] x [1]
     : (tensor<8x3x3xf32>, tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  %2 = stablehlo.dot_general %1, %lens, batching_dims = [0] x [0], contracting_dims = [2] x [1]
     : (tensor<8x3x3xf32>, tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  return %2 : tensor<8x3x3xf32>
}
