// RUN: scalify-opt %s | FileCheck %s

// A mean, 2^-6 of a sum, is brought to its own scale and then to that of the rows it is subtracted from: one factor.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x64xf16>
// CHECK: %[[SUM:.*]] = stablehlo.reduce(
// CHECK: %[[SIXTY_FOURTH:.*]] = stablehlo.constant dense<1.562500e-02> : tensor<8xf32>
// CHECK: %[[MEAN:.*]] = stablehlo.multiply %[[SUM]], %[[SIXTY_FOURTH]]
// CHECK: %[[ROUNDED:.*]] = stablehlo.convert %[[MEAN]]
// CHECK: %[[ROWS:.*]] = stablehlo.broadcast_in_dim %[[ROUNDED]]
// CHECK-NOT: stablehlo.multiply
// CHECK: stablehlo.subtract %[[X]], %[[ROWS]]
func.func @main(%x: tensor<8x64xf16>) -> tensor<8x64xf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<f16>
  %count = stablehlo.constant dense<64.0> : tensor<8xf16>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<8x64xf16>, tensor<f16>) -> tensor<8xf16>
  %mean = stablehlo.divide %sum, %count : tensor<8xf16>
  %rows = stablehlo.broadcast_in_dim %mean, dims = [0] : (tensor<8xf16>) -> tensor<8x64xf16>
  %centred = stablehlo.subtract %x, %rows : tensor<8x64xf16>
  return %centred : tensor<8x64xf16>
}
