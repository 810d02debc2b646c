// What a calibration leaves wide: the weight stays f16, and the product that reads it has no FP8 operand.

// RUN: echo '{"format": "scalify-scales", "version": 1, "arguments": {"w": 1, "v": 1, "x": 1}, "wide_weights": ["w"]}' > %t && \
// RUN:   scalify-opt %s --precision=fp8 --pin-scales=%t | FileCheck %s
// RUN: echo '{"format": "scalify-scales", "version": 1, "arguments": {"w": 1, "v": 1, "x": 1}, "wide_weights": ["u"]}' > %t && \
// RUN:   not scalify-opt %s --precision=fp8 --pin-scales=%t 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK-LABEL: func.func public @main
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<16x16xf16>
// CHECK-SAME: %[[V:[a-z0-9]+]]: tensor<16x16xf8E4M3FN>
// CHECK: %[[Y:.*]] = stablehlo.dot_general %{{.*}}, %[[W]], {{.*}} : (tensor<16x16xf16>, tensor<16x16xf16>)
// CHECK: stablehlo.dot_general %{{.*}}, %[[V]], {{.*}} : (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>)
// NONE-LABEL: wide_weights: there is no argument 'u'
func.func public @main(
    %w: tensor<16x16xf32> loc("w"), %v: tensor<16x16xf32> loc("v"), %x: tensor<16x16xf32> loc("x")
) -> tensor<16x16xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %t = stablehlo.tanh %y : tensor<16x16xf32>
  %z = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %u = stablehlo.tanh %z : tensor<16x16xf32>
  %o = stablehlo.dot_general %u, %v, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %p = stablehlo.tanh %o : tensor<16x16xf32>
  %q = stablehlo.dot_general %p, %w, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %q : tensor<16x16xf32>
}
