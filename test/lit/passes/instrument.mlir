// Statistics of each tensor become two more results.
// RUN: scalify-opt %s --scalify-instrument | FileCheck %s

// CHECK: module attributes {{.*}}scalify.health = ["stablehlo.tanh"]
// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> (tensor<8xf16>, tensor<1x77xf32> {scalify.name = "scalify.health.sums"}
// CHECK-SAME: tensor<1x2xf32> {scalify.name = "scalify.health.maxima"})
// CHECK: %[[Y:.+]] = stablehlo.tanh
// CHECK: stablehlo.bitcast_convert
// CHECK: return %[[Y]], %{{.+}}, %{{.+}}
func.func @main(%x: tensor<8xf16>) -> tensor<8xf16> {
  %y = stablehlo.tanh %x : tensor<8xf16>
  return %y : tensor<8xf16>
}
