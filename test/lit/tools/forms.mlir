// The forms of the output, read back. Nothing is lost between them.
// RUN: scalify-opt %s --emit=bytecode | scalify-opt --args=none --emit=text | FileCheck %s
// RUN: scalify-opt %s --emit=artifact | scalify-opt --args=none --emit=text | FileCheck %s
// RUN: scalify-opt %s --emit=artifact --target=minimum | scalify-opt --args=none --emit=text | FileCheck %s
// RUN: scalify-opt %s --mlir-print-op-generic | scalify-opt --args=none | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.+]]: tensor<4xf32> {scalify.role = "data"}, %[[S:.+]]: tensor<f32> {scalify.role = "scale"}
// CHECK-SAME: -> (tensor<4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"})
// CHECK-NEXT: %[[Y:.+]] = stablehlo.negate %[[X]]
// CHECK-NEXT: return %[[Y]], %[[S]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
