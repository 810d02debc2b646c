// A product of f16 that is rounded next gives f16: round(2^-3 (x . y)) = round((2^-3 x) . y).
// RUN: scalify-opt %s --scalify-narrow-results=serving=true | FileCheck %s

// CHECK-LABEL: func.func @scores(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<8x64xf16>, %[[K:[^:]*]]: tensor<64x128xf16>
// CHECK: %[[LESS:.+]] = stablehlo.multiply %[[Q]], %{{.+}} : tensor<8x64xf16>
// CHECK: %[[SUM:.+]] = stablehlo.dot_general %[[LESS]], %[[K]], {{.+}} -> tensor<8x128xf16>
// CHECK: return %[[SUM]]
func.func @scores(%q: tensor<8x64xf16>, %k: tensor<64x128xf16>) -> tensor<8x128xf16> {
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [0] : (tensor<8x64xf16>, tensor<64x128xf16>) -> tensor<8x128xf32>
  %c = stablehlo.constant dense<0.125> : tensor<8x128xf32>
  %1 = stablehlo.multiply %0, %c : tensor<8x128xf32>
  %2 = stablehlo.convert %1 : (tensor<8x128xf32>) -> tensor<8x128xf16>
  return %2 : tensor<8x128xf16>
}
