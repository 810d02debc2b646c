// In f16, what lies between a sum and the next full-size tensor is computed in f32; or in f16, by option.
// RUN: scalify-opt %s | FileCheck %s
// RUN: scalify-opt %s --statistics=own | FileCheck %s --check-prefix=OWN

// CHECK-LABEL: func.func @rms_norm(
// CHECK: stablehlo.multiply {{.*}} : tensor<4x16xf32>
// CHECK: stablehlo.reduce
// CHECK: stablehlo.rsqrt {{.*}} : tensor<4x1xf32>
// CHECK-NOT: tensor<4x1xf16>
// CHECK: stablehlo.multiply {{.*}} : tensor<4x16xf32>
// CHECK: stablehlo.convert {{.*}}(tensor<4x16xf32>) -> tensor<4x16xf16>
// OWN-LABEL: func.func @rms_norm(
// OWN: stablehlo.multiply {{.*}} : tensor<4x16xf16>
// OWN: stablehlo.rsqrt {{.*}} : tensor<4x1xf16>
func.func @rms_norm(%x: tensor<4x16xf16>) -> tensor<4x16xf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.constant dense<16.0> : tensor<4x1xf32>
  %square = stablehlo.multiply %x, %x : tensor<4x16xf16>
  %wide = stablehlo.convert %square : (tensor<4x16xf16>) -> tensor<4x16xf32>
  %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  %column = stablehlo.reshape %sum : (tensor<4xf32>) -> tensor<4x1xf32>
  %mean = stablehlo.divide %column, %count : tensor<4x1xf32>
  %narrow = stablehlo.convert %mean : (tensor<4x1xf32>) -> tensor<4x1xf16>
  %root = stablehlo.rsqrt %narrow : tensor<4x1xf16>
  %rows = stablehlo.broadcast_in_dim %root, dims = [0, 1] : (tensor<4x1xf16>) -> tensor<4x16xf16>
  %y = stablehlo.multiply %x, %rows : tensor<4x16xf16>
  return %y : tensor<4x16xf16>
}
