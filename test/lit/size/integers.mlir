// Integers of 8 bits and less fill their type: quantised weights, pixels. Wider ones count and name things.
// RUN: scalify-opt %s --scalify-size 2>&1 | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.convert %{{.*}} {scalify.size = "1 rms=73.3"} : (tensor<64x32xi8>) -> tensor<64x32xf32>
// CHECK: stablehlo.convert %{{.*}} {scalify.size = "1 rms=147 mean=128 nonnegative"} : (tensor<4x64xui8>) -> tensor<4x64xf32>
// CHECK: stablehlo.convert %{{.*}} {scalify.size = "1 rms=1"} : (tensor<4x64xi32>) -> tensor<4x64xf32>
func.func @main(%q: tensor<64x32xi8>, %p: tensor<4x64xui8>, %n: tensor<4x64xi32>, %s: tensor<4x64xf32>) -> (tensor<64x32xf32>, tensor<4x64xf32>, tensor<4x64xf32>) {
  %w = stablehlo.convert %q : (tensor<64x32xi8>) -> tensor<64x32xf32>
  %x = stablehlo.convert %p : (tensor<4x64xui8>) -> tensor<4x64xf32>
  %c = stablehlo.convert %n : (tensor<4x64xi32>) -> tensor<4x64xf32>
  %y = stablehlo.add %x, %s : tensor<4x64xf32>
  return %w, %y, %c : tensor<64x32xf32>, tensor<4x64xf32>, tensor<4x64xf32>
}
