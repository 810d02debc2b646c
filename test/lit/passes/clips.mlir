// RUN: scalify-opt %s | FileCheck %s
// RUN: scalify-opt %s --scalify-normal-form --scalify-size | FileCheck %s --check-prefix=SIZE

// min(b, max(a, x)) = clamp(a, x, b): what a clip bounds has the smaller one of its own scale and the bound's
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32> {scalify.role = "data"}, %[[S:[^:]*]]: tensor<f32>
// CHECK-NOT: stablehlo.maximum {{.*}}tensor<4xf32>
// CHECK: %[[SCALE:.*]] = stablehlo.minimum %{{.*}}, %[[S]] : tensor<f32>
// CHECK: stablehlo.clamp
// CHECK: return %{{.*}}, %[[SCALE]]
// SIZE-LABEL: func.func @main(
// SIZE: stablehlo.clamp{{.*}}scalify.size = "(1 + s0^-1)^-1 rms=1"
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %low = stablehlo.constant dense<-1.0> : tensor<4xf32>
  %high = stablehlo.constant dense<1.0> : tensor<4xf32>
  %above = stablehlo.maximum %low, %x : tensor<4xf32>
  %r = stablehlo.minimum %high, %above : tensor<4xf32>
  return %r : tensor<4xf32>
}
