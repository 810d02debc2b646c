// Custom calls and composites are f32, and their results like those of operations on elements: rounded to f16 where
// products read them, and where later kernels read them again.
// RUN: scalify-opt %s --scalify-cast=precision=fp16 --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[Y:.+]] = stablehlo.custom_call @example.double(%{{.+}}) : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[T:.+]] = stablehlo.tanh %[[Y]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[T]]
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = stablehlo.custom_call @example.double(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = stablehlo.tanh %y : tensor<4x8xf32>
  return %t : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @main(
// CHECK: %[[Y:.+]] = stablehlo.composite "example.square" %{{.+}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: %[[T:.+]] = stablehlo.tanh %[[Y]] : tensor<4x8xf32>
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = stablehlo.composite "example.square" %x {decomposition = @square} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %t = stablehlo.tanh %y : tensor<4x8xf32>
  return %t : tensor<4x8xf32>
}
func.func private @square(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = stablehlo.multiply %x, %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// What a product reads, and what is computed of the call's result at once, come of f32; a sum that is formed once the
// product is there reads what is kept.
// CHECK-LABEL: func.func @main(
// CHECK: %[[Y:.+]] = stablehlo.custom_call @example.double(%{{.+}}) : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK: %[[Y16:.+]] = stablehlo.convert %[[Y]] : (tensor<8x8xf32>) -> tensor<8x8xf16>
// CHECK: %[[KEPT:.+]] = stablehlo.convert %[[Y16]] : (tensor<8x8xf16>) -> tensor<8x8xf32>
// CHECK: stablehlo.dot_general %[[Y16]], %{{.+}} (tensor<8x8xf16>, tensor<8x8xf16>) -> tensor<8x8xf32>
// CHECK: stablehlo.add %[[KEPT]], %{{.+}} : tensor<8x8xf32>
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = stablehlo.custom_call @example.double(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0]
     : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = stablehlo.add %y, %p : tensor<8x8xf32>
  return %s : tensor<8x8xf32>
}
