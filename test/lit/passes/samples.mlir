// Every fourth row of what is computed elementwise is computed from every fourth row of what it is computed from.
// RUN: scalify-opt %s --scalify-samples | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[W:[^:]*]]: tensor<8x16xf32>, %[[U:[^:]*]]: tensor<8x16xf32>
// CHECK: %[[PRODUCT:.+]] = stablehlo.multiply %[[U]], %{{.+}} : tensor<8x16xf32>
// CHECK: %[[NEW:.+]] = stablehlo.subtract %[[W]], %[[PRODUCT]] : tensor<8x16xf32>
// CHECK: %[[RATE:.+]] = stablehlo.broadcast_in_dim %{{.+}}, dims = [] : (tensor<f32>) -> tensor<2x16xf32>
// CHECK: %[[US:.+]] = stablehlo.slice %[[U]] [0:8:4, 0:16]
// CHECK: %[[SMALL:.+]] = stablehlo.multiply %[[US]], %[[RATE]] : tensor<2x16xf32>
// CHECK: %[[WS:.+]] = stablehlo.slice %[[W]] [0:8:4, 0:16]
// CHECK: %[[SAMPLE:.+]] = stablehlo.subtract %[[WS]], %[[SMALL]] : tensor<2x16xf32>
// CHECK: return %[[NEW]], %[[SAMPLE]]
func.func @main(%w: tensor<8x16xf32>, %u: tensor<8x16xf32>, %rate: tensor<f32>)
    -> (tensor<8x16xf32>, tensor<2x16xf32>) {
  %r = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
  %p = stablehlo.multiply %u, %r : tensor<8x16xf32>
  %new = stablehlo.subtract %w, %p : tensor<8x16xf32>
  %sample = stablehlo.slice %new [0:8:4, 0:16] : (tensor<8x16xf32>) -> tensor<2x16xf32>
  return %new, %sample : tensor<8x16xf32>, tensor<2x16xf32>
}
