// NVFP4 operands. What was clamped and converted to E4M3 is rounded to E2M1 by blocks of 16, whose scales are E4M3. A weight
// whose scale is pinned is two arguments, its elements and their scales; one that something else reads stays as it is.
// RUN: scalify-opt %s --scalify-block-dots=format=nvfp4 | FileCheck %s
// RUN: scalify-opt %s --scalify-block-dots='format=nvfp4 target=b200' | FileCheck %s --check-prefix=CALL


// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8x64xf16>
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<64x16xf4E2M1FN> {scalify.name = "w", scalify.scale = 2.500000e-01 : f32, scalify.state = "weight"}
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<4x16xf8E4M3FN> {scalify.block_scales = 0 : i64, scalify.name = "w.block_scales"}
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<64x16xf8E4M3FN> {scalify.name = "v"
// CHECK: %[[BLOCKS:.+]] = stablehlo.reshape %{{.+}} : (tensor<8x64xf32>) -> tensor<8x4x16xf32>
// CHECK: %[[AMAX:.+]] = stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [2]
// CHECK: %[[NARROW:.+]] = stablehlo.convert %{{.+}} : (tensor<8x4xf32>) -> tensor<8x4xf8E4M3FN>
// CHECK: %[[SCALES:.+]] = stablehlo.optimization_barrier %[[NARROW]]
// CHECK: stablehlo.convert %{{.+}} : (tensor<8x64xf32>) -> tensor<8x64xf4E2M1FN>
// CHECK: %[[XN:.+]]:2 = stablehlo.optimization_barrier %{{.+}}, %[[SCALES]]
// CHECK: %[[WT:.+]] = stablehlo.transpose %[[W]], dims = [1, 0]
// CHECK: %[[ST:.+]] = stablehlo.transpose %[[S]], dims = [1, 0]
// CHECK: stablehlo.composite "xla.scaled_dot" %[[XN]]#0, %[[WT]], %[[XN]]#1, %[[ST]]
// CHECK: stablehlo.dot_general %{{.+}}, %[[V]]{{.*}} : (tensor<8x64xf8E4M3FN>, tensor<64x16xf8E4M3FN>) -> tensor<8x16xf32>
// CHECK-LABEL: func.func private @xla.scaled_dot_0(
// CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [1] x [1] : (tensor<8x64xbf16>, tensor<16x64xbf16>) -> tensor<8x16xf32>

// CALL-LABEL: func.func @main(
// CALL: stablehlo.custom_call @__op$block_scaled_dot(%{{.*}}) {{.*}} : (tensor<8x64xf4E2M1FN>, tensor<16x64xf4E2M1FN>, tensor<8x4xf8E4M3FN>, tensor<16x4xf8E4M3FN>) -> tensor<8x16xf32>
func.func @main(
    %x: tensor<8x64xf16>,
    %w: tensor<64x16xf8E4M3FN> {scalify.name = "w", scalify.scale = 0.25 : f32, scalify.state = "weight"},
    %v: tensor<64x16xf8E4M3FN> {scalify.name = "v", scalify.scale = 0.25 : f32, scalify.state = "weight"})
    -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<64x16xf32>) {
  %low = stablehlo.constant dense<-448.0> : tensor<f16>
  %high = stablehlo.constant dense<448.0> : tensor<f16>
  %c = stablehlo.clamp %low, %x, %high : (tensor<f16>, tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
  %n = stablehlo.convert %c : (tensor<8x64xf16>) -> tensor<8x64xf8E4M3FN>
  %y = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0]
    : (tensor<8x64xf8E4M3FN>, tensor<64x16xf8E4M3FN>) -> tensor<8x16xf32>
  %z = stablehlo.dot_general %n, %v, contracting_dims = [1] x [0]
    : (tensor<8x64xf8E4M3FN>, tensor<64x16xf8E4M3FN>) -> tensor<8x16xf32>
  %t = stablehlo.convert %v : (tensor<64x16xf8E4M3FN>) -> tensor<64x16xf32>
  return %y, %z, %t : tensor<8x16xf32>, tensor<8x16xf32>, tensor<64x16xf32>
}
