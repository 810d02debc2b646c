// A step of gradient descent with momentum: which values get which types.
// RUN: scalify-opt %s --scalify-cast=precision=fp16 | FileCheck %s --check-prefix=FP16
// RUN: scalify-opt %s --scalify-cast=precision=fp8-fp16-state | FileCheck %s --check-prefix=STATE
// RUN: scalify-opt %s --scalify-cast='precision=fp16 compute=bf16 gradients=f32' | FileCheck %s --check-prefix=BF16

// FP16-LABEL: func.func @main(
// FP16-SAME: tensor<32x64xf32>, %[[W:[^:]+]]: tensor<64x16xf32> {scalify.state = "parameter"}
// FP16-SAME: %[[M:[^:]+]]: tensor<64x16xf32> {scalify.state = "moment"}
// FP16: stablehlo.dot_general {{.*}} (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf32>
// FP16: %[[T:.+]] = stablehlo.tanh %{{.+}} : tensor<32x16xf32>
// FP16: stablehlo.convert %[[T]] : (tensor<32x16xf32>) -> tensor<32x16xf16>
// FP16: %[[DW:.+]] = stablehlo.dot_general {{.*}} (tensor<32x64xf16>, tensor<32x16xf16>) -> tensor<64x16xf32>
// FP16: %[[G:.+]] = stablehlo.convert %[[DW]] : (tensor<64x16xf32>) -> tensor<64x16xf16>
// FP16: %[[WIDE:.+]] = stablehlo.convert %[[G]]
// FP16: %[[M2:.+]] = stablehlo.add %{{.+}}, %[[WIDE]] : tensor<64x16xf32>
// FP16: %[[W2:.+]] = stablehlo.subtract %{{.+}}, %{{.+}} : tensor<64x16xf32>
// FP16: return %[[W2]], %[[M2]] : tensor<64x16xf32>, tensor<64x16xf32>

// STATE-LABEL: func.func @main(
// STATE-SAME: tensor<32x64xf32>, %[[W:[^:]+]]: tensor<64x16xf16> {scalify.state = "parameter"}
// STATE-SAME: %[[M:[^:]+]]: tensor<64x16xf16> {scalify.state = "moment"}
// STATE: stablehlo.dot_general {{.*}} (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf32>
// STATE: %[[T:.+]] = stablehlo.tanh %{{.+}} : tensor<32x16xf32>
// STATE: stablehlo.convert %[[T]] : (tensor<32x16xf32>) -> tensor<32x16xf16>
// STATE: %[[DW:.+]] = stablehlo.dot_general {{.*}} (tensor<32x64xf16>, tensor<32x16xf16>) -> tensor<64x16xf32>
// Of a layer of what the step is given: 16 bits, where other gradients are E5M2.
// STATE: %[[G:.+]] = stablehlo.convert %[[DW]] : (tensor<64x16xf32>) -> tensor<64x16xf16>
// STATE: %[[WIDE:.+]] = stablehlo.convert %[[G]]
// STATE: %[[M2:.+]] = stablehlo.add %{{.+}}, %[[WIDE]] : tensor<64x16xf32>
// STATE: %[[W2:.+]] = stablehlo.subtract %{{.+}}, %{{.+}} : tensor<64x16xf32>
// STATE: stablehlo.convert %[[W2]] : (tensor<64x16xf32>) -> tensor<64x16xf16>

// BF16-LABEL: func.func @main(
// BF16: stablehlo.dot_general {{.*}} (tensor<32x64xbf16>, tensor<64x16xbf16>) -> tensor<32x16xf32>
// BF16: %[[DW:.+]] = stablehlo.dot_general {{.*}} (tensor<32x64xbf16>, tensor<32x16xbf16>) -> tensor<64x16xf32>
// BF16: stablehlo.add %{{.+}}, %[[DW]] : tensor<64x16xf32>
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>, %m: tensor<64x16xf32>)
    -> (tensor<64x16xf32>, tensor<64x16xf32>) {
  %decay = stablehlo.constant dense<0.9> : tensor<64x16xf32>
  %lr = stablehlo.constant dense<0.001> : tensor<64x16xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %g = stablehlo.tanh %y : tensor<32x16xf32>
  %dw = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
     : (tensor<32x64xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %md = stablehlo.multiply %m, %decay : tensor<64x16xf32>
  %m2 = stablehlo.add %md, %dw : tensor<64x16xf32>
  %step = stablehlo.multiply %m2, %lr : tensor<64x16xf32>
  %w2 = stablehlo.subtract %w, %step : tensor<64x16xf32>
  return %w2, %m2 : tensor<64x16xf32>, tensor<64x16xf32>
}
