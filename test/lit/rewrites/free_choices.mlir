// RUN: scalify-opt %s --split-input-file | FileCheck %s

// The magnitude of (x, y), and x divided by it, as jax writes them from 0.12 on: what is chosen by the size of x and y
// leaves neither. It is chosen by the data at their common scale, and no factor becomes a scale.
// CHECK-LABEL: func.func @magnitude(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {scalify.role = "data"}, %[[S:.*]]: tensor<f32> {scalify.role = "scale"}, %{{.*}}: tensor<4xf32> {scalify.role = "data"}, %[[T:.*]]: tensor<f32> {scalify.role = "scale"}
// CHECK-DAG: %[[ONE:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG: %[[BOUND:.*]] = stablehlo.constant dense<2.44140625E-4> : tensor<4xf32>
// CHECK-DAG: %[[UP:.*]] = stablehlo.constant dense<3.77789319E+22> : tensor<4xf32>
// CHECK-DAG: %[[DOWN:.*]] = stablehlo.constant dense<2.64697796E-23> : tensor<4xf32>
// CHECK: %[[M:.*]] = stablehlo.maximum %[[S]], %[[T]] : tensor<f32>
// CHECK: %[[SIZES:.*]] = stablehlo.divide %{{.*}}, %{{.*}} : tensor<4xf32>
// CHECK: %[[SMALL:.*]] = stablehlo.compare LE, %[[SIZES]], %[[BOUND]]
// CHECK: %[[LARGER:.*]] = stablehlo.multiply %{{.*}}, %[[UP]]
// CHECK: %[[U:.*]] = stablehlo.select %[[SMALL]], %[[LARGER]], %{{.*}}
// CHECK: stablehlo.select %[[SMALL]]
// CHECK: %[[K:.*]] = stablehlo.select %[[SMALL]], %[[DOWN]], %{{.*}}
// CHECK: stablehlo.multiply %[[U]], %[[U]]
// CHECK: %[[ROOT:.*]] = stablehlo.sqrt
// CHECK: %[[MAGNITUDE:.*]] = stablehlo.multiply %[[ROOT]], %[[K]]
// CHECK: %[[QUOTIENT:.*]] = stablehlo.divide %[[U]], %[[ROOT]]
// CHECK: return %[[MAGNITUDE]], %[[M]], %[[QUOTIENT]], %[[ONE]]
func.func @magnitude(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %small = stablehlo.constant dense<0.000244140625> : tensor<4xf32>
  %up = stablehlo.constant dense<3.77789319E+22> : tensor<4xf32>
  %down = stablehlo.constant dense<2.64697796E-23> : tensor<4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %ax = stablehlo.abs %x : tensor<4xf32>
  %ay = stablehlo.abs %y : tensor<4xf32>
  %m = stablehlo.maximum %ax, %ay : tensor<4xf32>
  %p = stablehlo.compare LE, %m, %small : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %xk = stablehlo.multiply %x, %up : tensor<4xf32>
  %u = stablehlo.select %p, %xk, %x : tensor<4xi1>, tensor<4xf32>
  %yk = stablehlo.multiply %y, %up : tensor<4xf32>
  %v = stablehlo.select %p, %yk, %y : tensor<4xi1>, tensor<4xf32>
  %k = stablehlo.select %p, %down, %one : tensor<4xi1>, tensor<4xf32>
  %uu = stablehlo.multiply %u, %u : tensor<4xf32>
  %vv = stablehlo.multiply %v, %v : tensor<4xf32>
  %s = stablehlo.add %uu, %vv : tensor<4xf32>
  %r = stablehlo.sqrt %s : tensor<4xf32>
  %h = stablehlo.multiply %r, %k : tensor<4xf32>
  %q = stablehlo.divide %u, %r : tensor<4xf32>
  return %h, %q : tensor<4xf32>, tensor<4xf32>
}

// -----

// What is returned is one multiple or the other: the values are compared.
// CHECK-LABEL: func.func @multiple(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {scalify.role = "data"}, %[[S:.*]]: tensor<f32> {scalify.role = "scale"}
// CHECK: %[[SIZE:.*]] = stablehlo.abs %[[X]]
// CHECK: %[[SPREAD:.*]] = stablehlo.broadcast_in_dim %[[S]]
// CHECK: %[[VALUE:.*]] = stablehlo.multiply %[[SIZE]], %[[SPREAD]]
// CHECK: stablehlo.compare LE, %[[VALUE]]
func.func @multiple(%x: tensor<4xf32>) -> tensor<4xf32> {
  %small = stablehlo.constant dense<0.000244140625> : tensor<4xf32>
  %up = stablehlo.constant dense<3.77789319E+22> : tensor<4xf32>
  %ax = stablehlo.abs %x : tensor<4xf32>
  %p = stablehlo.compare LE, %ax, %small : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %xk = stablehlo.multiply %x, %up : tensor<4xf32>
  %u = stablehlo.select %p, %xk, %x : tensor<4xi1>, tensor<4xf32>
  return %u : tensor<4xf32>
}
