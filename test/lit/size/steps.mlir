// Sizes over many steps: averages settle, weights hold.
// RUN: scalify-opt %s --scalify-size | FileCheck %s
// RUN: scalify-opt %s --scalify-size=over-steps=false | FileCheck %s --check-prefix=ONCE

// The gradient is x; m settles at its size, s3, and v at that of its square. In one step they have sizes of their own.
// CHECK-LABEL: func.func @adam(
// CHECK: stablehlo.multiply {{.*}}scalify.size = "s3 rms=0.9"
// CHECK: stablehlo.multiply {{.*}}scalify.size = "s3^2 rms=1.65 mean=0.95 nonnegative"
// CHECK: stablehlo.divide {{.*}}scalify.size = "1 rms=
// CHECK: stablehlo.subtract {{.*}}scalify.size = "(0.{{[0-9]+}} + s0) rms=1
// ONCE-LABEL: func.func @adam(
// ONCE: stablehlo.multiply {{.*}}scalify.size = "s1 rms=0.9"
// ONCE: stablehlo.multiply {{.*}}scalify.size = "s2 rms=0.95"
func.func @adam(%w: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>, %x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %b1 = stablehlo.constant dense<0.9> : tensor<4xf32>
  %c1 = stablehlo.constant dense<0.1> : tensor<4xf32>
  %b2 = stablehlo.constant dense<0.95> : tensor<4xf32>
  %c2 = stablehlo.constant dense<0.05> : tensor<4xf32>
  %rate = stablehlo.constant dense<0.001> : tensor<4xf32>
  %bm = stablehlo.multiply %m, %b1 : tensor<4xf32>
  %cg = stablehlo.multiply %x, %c1 : tensor<4xf32>
  %m1 = stablehlo.add %bm, %cg : tensor<4xf32>
  %g2 = stablehlo.multiply %x, %x : tensor<4xf32>
  %bv = stablehlo.multiply %v, %b2 : tensor<4xf32>
  %cg2 = stablehlo.multiply %g2, %c2 : tensor<4xf32>
  %v1 = stablehlo.add %bv, %cg2 : tensor<4xf32>
  %root = stablehlo.sqrt %v1 : tensor<4xf32>
  %u = stablehlo.divide %m1, %root : tensor<4xf32>
  %ru = stablehlo.multiply %u, %rate : tensor<4xf32>
  %w1 = stablehlo.subtract %w, %ru : tensor<4xf32>
  return %w1, %m1, %v1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
