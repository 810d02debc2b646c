// The flags that decide what of the interface is a pair.
// RUN: scalify-opt %s | FileCheck %s --check-prefix=ALL
// RUN: scalify-opt %s --args=1 | FileCheck %s --check-prefix=SECOND
// RUN: scalify-opt %s --args=none | FileCheck %s --check-prefix=NONE
// RUN: scalify-opt %s --scaled-types=f16 | FileCheck %s --check-prefix=HALF
// RUN: scalify-opt %s --plain-results | FileCheck %s --check-prefix=PLAIN
// RUN: scalify-opt %s --scale-dtype=e8m0 | FileCheck %s --check-prefix=E8M0

// ALL-LABEL: func.func @main(
// ALL-SAME: tensor<4xf32> {scalify.role = "data"}, %{{[^:]+}}: tensor<f32> {scalify.role = "scale"}
// ALL-SAME: tensor<4xf16> {scalify.role = "data"}, %{{[^:]+}}: tensor<f32> {scalify.role = "scale"}
// ALL-SAME: %{{[^:]+}}: tensor<4xi32>)
// ALL-SAME: -> (tensor<4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}

// SECOND-LABEL: func.func @main(
// SECOND-SAME: %{{[^:]+}}: tensor<4xf32>, %{{[^:]+}}: tensor<4xf16> {scalify.role = "data"}

// NONE-LABEL: func.func @main(
// NONE-SAME: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf16>, tensor<4xi32>)

// HALF-LABEL: func.func @main(
// HALF-SAME: %{{[^:]+}}: tensor<4xf32>, %{{[^:]+}}: tensor<4xf16> {scalify.role = "data"}

// PLAIN-LABEL: func.func @main(
// PLAIN-SAME: scalify.role = "scale"
// PLAIN-SAME: -> (tensor<4xf32>, tensor<4xf16>, tensor<4xi32>)

// E8M0-LABEL: func.func @main(
// E8M0-SAME: tensor<f8E8M0FNU> {scalify.role = "scale"}
func.func @main(%x: tensor<4xf32>, %h: tensor<4xf16>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf16>, tensor<4xi32>) {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.negate %h : tensor<4xf16>
  return %0, %1, %n : tensor<4xf32>, tensor<4xf16>, tensor<4xi32>
}
