// Products of E4M3 operands with a scale for each 32 elements: what was clamped and converted is rounded by blocks, what
// is stored in E4M3 has scales of 1. The composite's decomposition computes the same in bf16, exactly.
// RUN: scalify-opt %s --scalify-block-dots | FileCheck %s
// RUN: scalify-opt %s --scalify-block-dots=target=b200 | FileCheck %s --check-prefix=CALL

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x64xf16>, %[[W:[a-z0-9]+]]: tensor<64x16xf8E4M3FN>)
// CHECK: %[[BLOCKS:.+]] = stablehlo.reshape %{{.+}} : (tensor<8x64xf32>) -> tensor<8x2x32xf32>
// CHECK: %[[AMAX:.+]] = stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [2]
// CHECK: stablehlo.bitcast_convert %{{.+}} : (tensor<8x2xui8>) -> tensor<8x2xf8E8M0FNU>
// CHECK: stablehlo.convert %{{.+}} : (tensor<8x64xf32>) -> tensor<8x64xf8E4M3FN>
// CHECK: %[[XN:.+]]:2 = stablehlo.optimization_barrier
// CHECK: %[[WT:.+]] = stablehlo.transpose %[[W]], dims = [1, 0]
// CHECK: %[[ONES:.+]] = stablehlo.constant dense<1.000000e+00> : tensor<16x2xf8E8M0FNU>
// CHECK: stablehlo.composite "xla.scaled_dot" %[[XN]]#0, %[[WT]], %[[XN]]#1, %[[ONES]]
// CHECK-NOT: stablehlo.dot_general
// CHECK-LABEL: func.func private @xla.scaled_dot_0(
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1] x [1] : (tensor<8x64xbf16>, tensor<16x64xbf16>) -> tensor<8x16xf32>

// CALL-LABEL: func.func @main(
// CALL-NOT: stablehlo.dot_general
// CALL: stablehlo.custom_call @__op$block_scaled_dot(%{{.*}}) {{.*}} -> tensor<8x16xf32>
func.func @main(%x: tensor<8x64xf16>, %w: tensor<64x16xf8E4M3FN>) -> tensor<8x16xf32> {
  %low = stablehlo.constant dense<-448.0> : tensor<f16>
  %high = stablehlo.constant dense<448.0> : tensor<f16>
  %c = stablehlo.clamp %low, %x, %high : (tensor<f16>, tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
  %n = stablehlo.convert %c : (tensor<8x64xf16>) -> tensor<8x64xf8E4M3FN>
  %y = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0]
    : (tensor<8x64xf8E4M3FN>, tensor<64x16xf8E4M3FN>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
