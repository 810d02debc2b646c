// A sum over 4 devices that reaches one of them; jaxlib has it from 0.12 on.
// REQUIRES: collective_reduce
// RUN: scalify-opt %s --split-input-file --scalify-size | FileCheck %s

// CHECK-LABEL: func.func @collective_reduce(
// CHECK: }) {{.*}}scalify.size = "s0 rms=2.83"
func.func @collective_reduce(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
