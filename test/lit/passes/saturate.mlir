// What a training step rounds to f16 becomes its largest number where it is beyond that; of products, what reads them.
// RUN: scalify-opt %s --scalify-saturate | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<32x64xf16>, %[[W:[^:]*]]: tensor<64x16xf32>
// CHECK-DAG: %[[LARGEST8:.+]] = stablehlo.constant dense<5.734400e+04> : tensor<f16>
// CHECK-DAG: %[[LARGEST:.+]] = stablehlo.constant dense<6.550400e+04> : tensor<f32>
// The weights are as they are given, the product as it is.
// CHECK: %[[W16:.+]] = stablehlo.convert %[[W]]
// CHECK: %[[Y:.+]] = stablehlo.dot_general %[[X]], %[[W16]]
// CHECK: %[[WIDE:.+]] = stablehlo.convert %[[Y]]
// CHECK: %[[SATURATED:.+]] = stablehlo.clamp %{{.+}}, %[[WIDE]], %[[LARGEST]] : (tensor<f32>, tensor<32x16xf32>, tensor<f32>)
// CHECK: %[[T:.+]] = stablehlo.tanh %[[SATURATED]]
// CHECK: %[[WITHIN:.+]] = stablehlo.clamp %{{.+}}, %[[T]], %[[LARGEST]] : (tensor<f32>, tensor<32x16xf32>, tensor<f32>)
// CHECK: %[[G:.+]] = stablehlo.convert %[[WITHIN]] : (tensor<32x16xf32>) -> tensor<32x16xf16>
// CHECK: %[[DW:.+]] = stablehlo.dot_general %[[X]], %[[G]]
// In front of FP8 it is that type's largest number.
// CHECK: %[[IN8:.+]] = stablehlo.clamp %{{.+}}, %[[DW]], %[[LARGEST8]]
// CHECK: stablehlo.convert %[[IN8]] : (tensor<64x16xf16>) -> tensor<64x16xf8E5M2>
func.func @main(%x: tensor<32x64xf16>, %w: tensor<64x16xf32>, %m: tensor<64x16xf32>)
    -> (tensor<64x16xf32>, tensor<64x16xf32>) {
  %decay = stablehlo.constant dense<0.9> : tensor<64x16xf32>
  %w16 = stablehlo.convert %w : (tensor<64x16xf32>) -> tensor<64x16xf16>
  %y = stablehlo.dot_general %x, %w16, contracting_dims = [1] x [0]
     : (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf16>
  %y32 = stablehlo.convert %y : (tensor<32x16xf16>) -> tensor<32x16xf32>
  %t = stablehlo.tanh %y32 : tensor<32x16xf32>
  %g = stablehlo.convert %t : (tensor<32x16xf32>) -> tensor<32x16xf16>
  %dw = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
     : (tensor<32x64xf16>, tensor<32x16xf16>) -> tensor<64x16xf16>
  %dw8 = stablehlo.convert %dw : (tensor<64x16xf16>) -> tensor<64x16xf8E5M2>
  %dw32 = stablehlo.convert %dw8 : (tensor<64x16xf8E5M2>) -> tensor<64x16xf32>
  %md = stablehlo.multiply %m, %decay : tensor<64x16xf32>
  %m2 = stablehlo.add %md, %dw32 : tensor<64x16xf32>
  %w2 = stablehlo.subtract %w, %m2 : tensor<64x16xf32>
  return %w2, %m2 : tensor<64x16xf32>, tensor<64x16xf32>
}
