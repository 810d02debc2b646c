// A function written out as a piecewise polynomial is computed on the value, as one; or not, by option.
// RUN: scalify-opt %s --print-rules | FileCheck %s
// RUN: scalify-opt %s --print-rules --recognise=none | FileCheck %s --check-prefix=OFF

// CHECK-LABEL: func.func @polynomial(
// CHECK: %[[X:.+]] = stablehlo.multiply %{{.+}}, %{{.+}} : tensor<8xf32>
// CHECK: %[[SQUARE:.+]] = stablehlo.multiply %[[X]], %[[X]] : tensor<8xf32>
// CHECK-NOT: scalify.rule = "multiplicative"
// CHECK: stablehlo.select {{.*}}scalify.rule = "expansion", scalify.scale = "2^0 rms=1"
// CHECK: stablehlo.negate {{.*}}scalify.rule = "homogeneous", scalify.scale = "2^0 rms=1"
// OFF-LABEL: func.func @polynomial(
// OFF: stablehlo.multiply {{.*}}scalify.rule = "multiplicative"
// OFF-NOT: expansion
// OFF: return
func.func @polynomial(%x: tensor<8xf32>) -> tensor<8xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<8xf32>
  %a = stablehlo.constant dense<0.3> : tensor<8xf32>
  %b = stablehlo.constant dense<-0.7> : tensor<8xf32>
  %size = stablehlo.abs %x : tensor<8xf32>
  %small = stablehlo.compare LT, %size, %one : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %square = stablehlo.multiply %x, %x : tensor<8xf32>
  %0 = stablehlo.multiply %square, %a : tensor<8xf32>
  %1 = stablehlo.add %0, %b : tensor<8xf32>
  %2 = stablehlo.multiply %1, %square : tensor<8xf32>
  %3 = stablehlo.add %2, %one : tensor<8xf32>
  %4 = stablehlo.multiply %3, %x : tensor<8xf32>
  %inverse = stablehlo.divide %one, %square : tensor<8xf32>
  %5 = stablehlo.multiply %inverse, %a : tensor<8xf32>
  %6 = stablehlo.add %5, %b : tensor<8xf32>
  %7 = stablehlo.multiply %6, %inverse : tensor<8xf32>
  %f = stablehlo.select %small, %4, %7 : tensor<8xi1>, tensor<8xf32>
  %g = stablehlo.negate %f : tensor<8xf32>
  return %g : tensor<8xf32>
}
