// Every fourth row of what is computed elementwise is computed from every fourth row of what it is computed from.
// RUN: scalify-opt %s --scalify-samples | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[W:[^:]*]]: tensor<8x16xf32>, %[[U:[^:]*]]: tensor<8x16xf32>
// CHECK: %[[PRODUCT:.+]] = stablehlo.multiply %[[U]], %{{.+}} : tensor<8x16xf32>
// CHECK: %[[NEW:.+]] = stablehlo.subtract %[[W]], %[[PRODUCT]] : tensor<8x16xf32>
// CHECK: %[[RATE:.+]] = stablehlo.broadcast_in_dim %{{.+}}, dims = [] : (tensor<f32>) -> tensor<2x16xf32>
// CHECK: %[[US:.+]] = stablehlo.slice %[[U]] [0:8:4, 0:16]
// CHECK: %[[SMALL:.+]] = stablehlo.multiply %[[US]], %[[RATE]] : tensor<2x16xf32>
// CHECK: %[[WS:.+]] = stablehlo.slice %[[W]] [0:8:4, 0:16]
// CHECK: %[[SAMPLE:.+]] = stablehlo.subtract %[[WS]], %[[SMALL]] : tensor<2x16xf32>
// CHECK: return %[[NEW]], %[[SAMPLE]]
func.func @main(%w: tensor<8x16xf32>, %u: tensor<8x16xf32>, %rate: tensor<f32>)
    -> (tensor<8x16xf32>, tensor<2x16xf32>) {
  %r = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
  %p = stablehlo.multiply %u, %r : tensor<8x16xf32>
  %new = stablehlo.subtract %w, %p : tensor<8x16xf32>
  %sample = stablehlo.slice %new [0:8:4, 0:16] : (tensor<8x16xf32>) -> tensor<2x16xf32>
  return %new, %sample : tensor<8x16xf32>, tensor<2x16xf32>
}

// What is taken of one number for each row, spread over the row, is one number for each row that is taken.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x16xf32>, %[[ROWS:[^:]*]]: tensor<8x1xf32>
// CHECK: %[[TAKEN:.+]] = stablehlo.slice %[[ROWS]] [0:8:4, 0:1]
// CHECK: %[[FLAT:.+]] = stablehlo.reshape %[[TAKEN]] : (tensor<2x1xf32>) -> tensor<2xf32>
// CHECK: %[[SPREAD:.+]] = stablehlo.broadcast_in_dim %[[FLAT]], dims = [0] : (tensor<2xf32>) -> tensor<2x16xf32>
// CHECK: %[[XS:.+]] = stablehlo.slice %[[X]] [0:8:4, 0:16]
// CHECK: %[[SAMPLE:.+]] = stablehlo.divide %[[XS]], %[[SPREAD]] : tensor<2x16xf32>
func.func @rows(%x: tensor<8x16xf32>, %rows: tensor<8x1xf32>) -> (tensor<8x16xf32>, tensor<2x16xf32>) {
  %flat = stablehlo.reshape %rows : (tensor<8x1xf32>) -> tensor<8xf32>
  %spread = stablehlo.broadcast_in_dim %flat, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
  %y = stablehlo.divide %x, %spread : tensor<8x16xf32>
  %sample = stablehlo.slice %y [0:8:4, 0:16] : (tensor<8x16xf32>) -> tensor<2x16xf32>
  return %y, %sample : tensor<8x16xf32>, tensor<2x16xf32>
}

// A sample of a softmax sums the rows that it takes, not those of the whole, which only one kernel reads then.
// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[S:[^:]*]]: tensor<4x2049x2048xf32>
// CHECK: %[[TAKEN:.+]] = stablehlo.slice %[[S]] [0:4, 0:2049:32, 0:2048]
// CHECK: %[[EXP:.+]] = stablehlo.exponential %[[TAKEN]] : tensor<4x65x2048xf32>
// CHECK: %[[SUM:.+]] = stablehlo.reduce(%[[EXP]] init: %{{.+}}) applies stablehlo.add across dimensions = [2]
// CHECK: %[[SUMS:.+]] = stablehlo.broadcast_in_dim %[[SUM]], dims = [0, 1] : (tensor<4x65xf32>) -> tensor<4x65x2048xf32>
// CHECK: stablehlo.divide %[[EXP]], %[[SUMS]] : tensor<4x65x2048xf32>
func.func @softmax(%s: tensor<4x2049x2048xf32>) -> (tensor<4x2049x2048xf32>, tensor<4x65x2048xf32>) {
  %e = stablehlo.exponential %s : tensor<4x2049x2048xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2]
    : (tensor<4x2049x2048xf32>, tensor<f32>) -> tensor<4x2049xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<4x2049xf32>) -> tensor<4x2049x2048xf32>
  %y = stablehlo.divide %e, %sums : tensor<4x2049x2048xf32>
  %sample = stablehlo.slice %y [0:4, 0:2049:32, 0:2048] : (tensor<4x2049x2048xf32>) -> tensor<4x65x2048xf32>
  return %y, %sample : tensor<4x2049x2048xf32>, tensor<4x65x2048xf32>
}

// One number for each row that is the same for all rows is that number at the shape of the sample.
// CHECK-LABEL: func.func @numbers(
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x16xf32>
// CHECK: %[[TWOS:.+]] = stablehlo.constant dense<2.000000e+00> : tensor<2x16xf32>
// CHECK: %[[XS:.+]] = stablehlo.slice %[[X]] [0:8:4, 0:16]
// CHECK: stablehlo.multiply %[[XS]], %[[TWOS]] : tensor<2x16xf32>
func.func @numbers(%x: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<2x16xf32>) {
  %c = stablehlo.constant dense<2.0> : tensor<8xf32>
  %rows = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<8xf32>) -> tensor<8x16xf32>
  %y = stablehlo.multiply %x, %rows : tensor<8x16xf32>
  %sample = stablehlo.slice %y [0:8:4, 0:16] : (tensor<8x16xf32>) -> tensor<2x16xf32>
  return %y, %sample : tensor<8x16xf32>, tensor<2x16xf32>
}
