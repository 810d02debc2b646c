// --print-sizes says where a value is computed and how large it is, and leaves the program to the other passes.
// RUN: scalify-opt %s --print-sizes -o %t 2>&1 | FileCheck %s
// RUN: scalify-opt %s --print-sizes 2>%t | FileCheck %s --check-prefix=PROGRAM

// CHECK-LABEL: table.mlir:9:8: remark: stablehlo.multiply:
// CHECK-SAME: s0^2 rms=1.73 mean=1 nonnegative; 2^0.8 with all sources of size 1
// PROGRAM-LABEL: func.func public @main(
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = stablehlo.multiply %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}
