// Numbers of pinned scales at sizes that are symbols, and a scale for each channel there.

// RUN: echo '{"format": "scalify-scales", "version": 1, "arguments": {"w": 0.25, "x": 2}}' > %t && \
// RUN:   scalify-opt %s --pin-scales=%t --scale-dims=w=1 | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[HALF:.*]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[X:.*]] = stablehlo.dynamic_broadcast_in_dim %[[HALF]], %{{.*}}, dims = [] : {{.*}} -> tensor<?x4xf32>
// CHECK: %[[DATA:.*]] = stablehlo.multiply %{{.*}}, %[[X]] : tensor<?x4xf32>
// CHECK: %[[Y:.*]] = stablehlo.dot_general %[[DATA]], %{{.*}} -> tensor<?x8xf32>
// CHECK: %[[WIDE:.*]] = stablehlo.dynamic_broadcast_in_dim %{{.*}}, dims = [0, 1] : {{.*}} -> tensor<?x8xf32>
// CHECK: stablehlo.multiply %[[Y]], %[[WIDE]] : tensor<?x8xf32>
func.func @main(%w: tensor<4x8xf32> loc("w"), %x: tensor<?x4xf32> loc("x")) -> tensor<?x8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}
