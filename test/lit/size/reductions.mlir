// Sizes: Elements that become one.
// RUN: scalify-opt %s --split-input-file --scalify-size | FileCheck %s

// N^(3/4), half-way between independent and equal terms
// CHECK-LABEL: func.func @reduce_add(
// CHECK: stablehlo.reduce{{.*}}scalify.size = "s0 rms=8"
func.func @reduce_add(%x: tensor<4x16xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// N, and N^(3/4) times their deviation around it
// CHECK-LABEL: func.func @reduce_add_of_squares(
// CHECK: stablehlo.reduce{{.*}}scalify.size = "s0^2 rms=19.6 mean=16 nonnegative"
func.func @reduce_add_of_squares(%x: tensor<4x16xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %q = stablehlo.multiply %x, %x : tensor<4x16xf32>
  %r = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// the largest is 1
// CHECK-LABEL: func.func @reduce_exponentials(
// CHECK: stablehlo.reduce{{.*}}scalify.size = "1 rms=10.6 mean=8 nonnegative least=2.2"
func.func @reduce_exponentials(%x: tensor<4x16xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %q = stablehlo.exponential %x : tensor<4x16xf32>
  %r = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// the largest of 16
// CHECK-LABEL: func.func @reduce_maximum(
// CHECK: stablehlo.reduce{{.*}}scalify.size = "s0 rms=1.85 mean=1.85"
func.func @reduce_maximum(%x: tensor<4x16xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @reduce_multiply(
// CHECK: stablehlo.reduce{{.*}}scalify.size = "s0^3 rms=1"
func.func @reduce_multiply(%x: tensor<4x3xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.multiply across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// windows of 4
// CHECK-LABEL: func.func @reduce_window(
// CHECK: }) {{.*}}scalify.size = "s0 rms=2.83"
func.func @reduce_window(%x: tensor<4x16xf32>) -> tensor<4x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 4>, window_strides = array<i64: 1, 4>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// half of each window is padding
// CHECK-LABEL: func.func @cumulative_sum(
// CHECK: }) {{.*}}scalify.size = "s0 rms=4.76"
func.func @cumulative_sum(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 16>, padding = dense<[[0, 0], [15, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// 4 of 16 rows
// CHECK-LABEL: func.func @scatter_add(
// CHECK: }) {{.*}}scalify.size = "s0 rms=0.5"
func.func @scatter_add(%u: tensor<4x8xf32>, %i: tensor<4x1xi32>) -> tensor<16x8xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<16x8xf32>
  %r = "stablehlo.scatter"(%z, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16x8xf32>, tensor<4x1xi32>, tensor<4x8xf32>) -> tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}

// -----

// one of 4
// CHECK-LABEL: func.func @select_and_scatter(
// CHECK: }) {{.*}}scalify.size = "s1 rms=0.5"
func.func @select_and_scatter(%x: tensor<4x16xf32>, %u: tensor<4x4xf32>) -> tensor<4x16xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.select_and_scatter"(%x, %u, %zero) <{window_dimensions = array<i64: 1, 4>, window_strides = array<i64: 1, 4>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x16xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// over 4 devices
// CHECK-LABEL: func.func @all_reduce(
// CHECK: }) {{.*}}scalify.size = "s0 rms=2.83"
func.func @all_reduce(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @reduce_scatter(
// CHECK: }) {{.*}}scalify.size = "s0 rms=2.83"
func.func @reduce_scatter(%x: tensor<4x16xf32>) -> tensor<1x16xf32> {
  %r = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<1x16xf32>
  return %r : tensor<1x16xf32>
}

// -----

// CHECK-LABEL: func.func @cross_replica_sum(
// CHECK: stablehlo.cross-replica-sum{{.*}}scalify.size = "s0 rms=2.83"
func.func @cross_replica_sum(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @sort(
// CHECK: }) {{.*}}scalify.size = "s0 rms=1"
func.func @sort(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func.func @map(
// CHECK: }) {{.*}}scalify.size = "(s0 + s1) rms=1"
func.func @map(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %r = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %r : tensor<4x16xf32>
}
