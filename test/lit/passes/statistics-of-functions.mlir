// A function that returns a variance is inlined: what follows it is in f32 too. Its `where` goes with it.
// RUN: scalify-opt %s | FileCheck %s
// RUN: scalify-opt %s --statistics=own | FileCheck %s --check-prefix=OWN

// CHECK-LABEL: func.func @variance_norm(
// CHECK-NOT: call
// CHECK: stablehlo.select {{.*}} : tensor<i1>, tensor<4x1xf32>
// CHECK: stablehlo.rsqrt {{.*}} : tensor<4x1xf32>
// CHECK-NOT: tensor<4x1xf16>
// CHECK: return
// CHECK-NOT: func.func private
// OWN-LABEL: func.func @variance_norm(
// OWN: stablehlo.select {{.*}} : tensor<i1>, tensor<4x1xf16>
// OWN: stablehlo.rsqrt {{.*}} : tensor<4x1xf16>
func.func @variance_norm(%x: tensor<4x16xf16>, %some: tensor<i1>) -> tensor<4x16xf16> {
  %variance = call @variance(%x, %some) : (tensor<4x16xf16>, tensor<i1>) -> tensor<4x1xf16>
  %root = stablehlo.rsqrt %variance : tensor<4x1xf16>
  %rows = stablehlo.broadcast_in_dim %root, dims = [0, 1] : (tensor<4x1xf16>) -> tensor<4x16xf16>
  %y = stablehlo.multiply %x, %rows : tensor<4x16xf16>
  return %y : tensor<4x16xf16>
}
func.func private @variance(%x: tensor<4x16xf16>, %some: tensor<i1>) -> tensor<4x1xf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %nan = stablehlo.constant dense<0x7FC00000> : tensor<f32>
  %wide = stablehlo.convert %x : (tensor<4x16xf16>) -> tensor<4x16xf32>
  %square = stablehlo.multiply %wide, %wide : tensor<4x16xf32>
  %sum = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  %column = stablehlo.reshape %sum : (tensor<4xf32>) -> tensor<4x1xf32>
  %narrow = stablehlo.convert %column : (tensor<4x1xf32>) -> tensor<4x1xf16>
  %result = call @where(%some, %narrow, %nan) : (tensor<i1>, tensor<4x1xf16>, tensor<f32>) -> tensor<4x1xf16>
  return %result : tensor<4x1xf16>
}
func.func private @where(%some: tensor<i1>, %x: tensor<4x1xf16>, %nan: tensor<f32>) -> tensor<4x1xf16> {
  %narrow = stablehlo.convert %nan : (tensor<f32>) -> tensor<f16>
  %column = stablehlo.broadcast_in_dim %narrow, dims = [] : (tensor<f16>) -> tensor<4x1xf16>
  %result = stablehlo.select %some, %x, %column : tensor<i1>, tensor<4x1xf16>
  return %result : tensor<4x1xf16>
}
