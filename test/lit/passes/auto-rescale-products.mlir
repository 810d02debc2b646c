// What eight estimates are multiplied into without a normalisation is measured before the next product reads it; seven are
// borne by f16.
// RUN: scalify-opt %s --scalify-auto-rescale=places=products | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-COUNT-7: stablehlo.dot_general
// CHECK-NOT: stablehlo.dot_general
// CHECK: %[[PAIR:.+]]:2 = stablehlo.composite "scalify.get_data_and_scale"
// CHECK: %[[MEASURED:.+]] = stablehlo.composite "scalify.set_scaling"
// CHECK: stablehlo.dot_general %[[MEASURED]], %{{.+}}
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %1 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %3 = stablehlo.dot_general %2, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = stablehlo.dot_general %3, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %5 = stablehlo.dot_general %4, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %6 = stablehlo.dot_general %5, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %7 = stablehlo.dot_general %6, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %8 = stablehlo.dot_general %7, %w, contracting_dims = [1] x [0]
     : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %8 : tensor<4x8xf32>
}
