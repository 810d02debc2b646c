// One scale for each row of an argument: results have one scale, or keep the rows'.
// RUN: scalify-opt %s | FileCheck %s --check-prefix=SCALAR
// RUN: scalify-opt %s --result-scales=shaped | FileCheck %s --check-prefix=SHAPED

// SCALAR-LABEL: func.func @main(
// SCALAR-SAME: tensor<4x8xf16> {scalify.role = "data"}, %{{[^:]+}}: tensor<4x1xf32>
// SCALAR-SAME: -> (tensor<4x8xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"},
// SCALAR-SAME: tensor<8xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"})
// SCALAR: stablehlo.reduce{{.*}} applies stablehlo.maximum

// SHAPED-LABEL: func.func @main(
// SHAPED-SAME: tensor<4x8xf16> {scalify.role = "data"}, %{{[^:]+}}: tensor<4x1xf32>
// SHAPED-SAME: -> (tensor<4x8xf16> {scalify.role = "data"}, tensor<4x1xf32> {scalify.role = "scale"},
// SHAPED-SAME: tensor<8xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"})
func.func @main(%x: tensor<4x8xf16> {scalify.scale_shape = array<i64: 4, 1>}) -> (tensor<4x8xf16>, tensor<8xf16>) {
  %0 = stablehlo.negate %x : tensor<4x8xf16>
  %zero = stablehlo.constant dense<0.0> : tensor<f16>
  %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0]
      : (tensor<4x8xf16>, tensor<f16>) -> tensor<8xf16>
  return %0, %1 : tensor<4x8xf16>, tensor<8xf16>
}
