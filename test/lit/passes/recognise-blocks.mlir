// Softmax and its gradient, gelu and RMS normalisation have the size known of the whole; or not, by option.
// RUN: scalify-opt %s --print-rules --split-input-file | FileCheck %s
// RUN: scalify-opt %s --print-rules --recognise=expansions --split-input-file | FileCheck %s --check-prefix=OFF

// Of 64 probabilities the mean is 1/64, of the data of 2^-6 therefore 1. The gradient is no larger than one times c.
// CHECK-LABEL: func.func @softmax(
// CHECK: stablehlo.divide {{.*}}scalify.block = "softmax", {{.*}}scalify.scale = "2^0 rms=0.0442 mean=0.0156 nonnegative"
// CHECK: stablehlo.reduce{{.*}}scalify.block = "gradient of softmax"
// CHECK: stablehlo.multiply {{.*}}scalify.block = "gradient of softmax"
// CHECK-SAME: scalify.scale = "s2 rms=0.0221"
// OFF-LABEL: func.func @softmax(
// OFF-NOT: scalify.block
// OFF: return
func.func @softmax(%x: tensor<8x64xf32>, %c: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<8x1xf32>
  %m = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1]
      : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
  %rows = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x64xf32>
  %difference = stablehlo.subtract %x, %rows : tensor<8x64xf32>
  %e = stablehlo.exponential %difference : tensor<8x64xf32>
  %total = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
  %column = stablehlo.reshape %total : (tensor<8xf32>) -> tensor<8x1xf32>
  %totals = stablehlo.broadcast_in_dim %column, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x64xf32>
  %p = stablehlo.divide %e, %totals : tensor<8x64xf32>
  %squared = stablehlo.multiply %column, %column : tensor<8x1xf32>
  %inverse = stablehlo.divide %one, %squared : tensor<8x1xf32>
  %inverses = stablehlo.broadcast_in_dim %inverse, dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x64xf32>
  %0 = stablehlo.multiply %c, %inverses : tensor<8x64xf32>
  %1 = stablehlo.multiply %0, %e : tensor<8x64xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = stablehlo.negate %2 : tensor<8xf32>
  %4 = stablehlo.divide %c, %totals : tensor<8x64xf32>
  %5 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<8xf32>) -> tensor<8x64xf32>
  %6 = stablehlo.add %4, %5 : tensor<8x64xf32>
  %7 = stablehlo.multiply %6, %e : tensor<8x64xf32>
  return %p, %7 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// CHECK-LABEL: func.func @silu(
// CHECK: stablehlo.multiply {{.*}}scalify.block = "silu", {{.*}}scalify.scale = "s1 rms=0.596 mean=0.207"
// OFF-LABEL: func.func @silu(
// OFF-NOT: scalify.block
// OFF: return
func.func @silu(%x: tensor<64xf32>) -> tensor<64xf32> {
  %gate = stablehlo.logistic %x : tensor<64xf32>
  %y = stablehlo.multiply %x, %gate : tensor<64xf32>
  return %y : tensor<64xf32>
}

// -----

// CHECK-LABEL: func.func @rms_norm(
// CHECK: stablehlo.multiply {{.*}}scalify.block = "normalisation", {{.*}}scalify.scale = "2^0 rms=1"
// OFF-LABEL: func.func @rms_norm(
// OFF-NOT: scalify.block
// OFF: return
func.func @rms_norm(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %count = stablehlo.constant dense<64.0> : tensor<8xf32>
  %epsilon = stablehlo.constant dense<1.0e-6> : tensor<8xf32>
  %square = stablehlo.multiply %x, %x : tensor<8x64xf32>
  %sum = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
  %mean = stablehlo.divide %sum, %count : tensor<8xf32>
  %guarded = stablehlo.add %mean, %epsilon : tensor<8xf32>
  %inverse = stablehlo.rsqrt %guarded : tensor<8xf32>
  %inverses = stablehlo.broadcast_in_dim %inverse, dims = [0] : (tensor<8xf32>) -> tensor<8x64xf32>
  %y = stablehlo.multiply %x, %inverses : tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}

// -----

// x tanh(x) only looks like gelu.
// CHECK-LABEL: func.func @not_gelu(
// CHECK-NOT: scalify.block
// CHECK: return
// OFF-LABEL: func.func @not_gelu(
// OFF: return
func.func @not_gelu(%x: tensor<64xf32>) -> tensor<64xf32> {
  %t = stablehlo.tanh %x : tensor<64xf32>
  %y = stablehlo.multiply %x, %t : tensor<64xf32>
  return %y : tensor<64xf32>
}
