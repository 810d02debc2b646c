// A mark behind every scaled tensor, in loops and private functions too, but not inside reducers.
// RUN: scalify-opt %s --mark-tensors --scalify | FileCheck %s
// RUN: scalify-opt %s --mark-tensors --scalify --scalify-instrument=histogram=false | FileCheck %s --check-prefix=ROWS

// CHECK-LABEL: func.func @main(
// CHECK: %[[Y:.+]] = stablehlo.multiply %[[X:.+]], %[[X]] : tensor<8xf16>
// CHECK: stablehlo.custom_call @scalify.tensor(%[[Y]], %{{.+}}) {{.*}}scalify.health = "{{[^"]*}}", scalify.operation = "stablehlo.multiply"
// CHECK: stablehlo.reduce
// CHECK-NOT: stablehlo.add{{.*}}scalify.operation
// CHECK: scalify.operation = "stablehlo.reduce"
// CHECK: scalify.operation = "argument"

// ROWS-LABEL: module attributes {{.*}}scalify.health = [{{.*}}]
// ROWS-NOT: @scalify.tensor
// ROWS: return
func.func @main(%x: tensor<8xf16>) -> tensor<f16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f16>
  %y = stablehlo.multiply %x, %x : tensor<8xf16>
  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<8xf16>, tensor<f16>) -> tensor<f16>
  return %s : tensor<f16>
}
