// The floor of a moving average's scale is a value that XLA does not know to be constant: 2^-48 between 2^-48 and 2^-48.
// RUN: scalify-opt %s | FileCheck %s

// CHECK-LABEL: func.func @average(
// CHECK-SAME: tensor<8xf32> {{[^,]*}}, %[[STATE:[^:]*]]: tensor<f32> {{[^,]*}}, %{{[^:]*}}: tensor<8xf32> {{[^,]*}},
// CHECK-SAME: %[[G:[^:]*]]: tensor<f32> {{[^,]*}}, %{{[^:]*}}: tensor<8xf32> {{[^,]*}}, %[[W:[^:]*]]: tensor<f32>
// CHECK: %[[FLOOR:.*]] = stablehlo.constant dense<3.55271368E-15> : tensor<f32>
// CHECK: %[[NEW:.*]] = stablehlo.multiply %[[G]], %[[W]] : tensor<f32>
// CHECK-NEXT: %[[OPAQUE:.*]] = stablehlo.clamp %[[FLOOR]], %[[STATE]], %[[FLOOR]] : tensor<f32>
// CHECK-NEXT: %[[SCALE:.*]] = stablehlo.maximum %[[NEW]], %[[OPAQUE]] : tensor<f32>
// CHECK: return %{{.*}}, %[[SCALE]] : tensor<8xf32>, tensor<f32>
func.func @average(%m: tensor<8xf32>, %g: tensor<8xf32>, %w: tensor<8xf32>) -> tensor<8xf32> {
  %b = stablehlo.constant dense<0.9> : tensor<8xf32>
  %c = stablehlo.constant dense<0.1> : tensor<8xf32>
  %gradient = stablehlo.multiply %g, %w : tensor<8xf32>
  %old = stablehlo.multiply %b, %m : tensor<8xf32>
  %new = stablehlo.multiply %c, %gradient : tensor<8xf32>
  %sum = stablehlo.add %old, %new : tensor<8xf32>
  return %sum : tensor<8xf32>
}
