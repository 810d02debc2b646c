// What is known of the size of data: zeros put beside or around them count, and values that leave room for each other,
// as the gradients of slices do, add up to a full tensor.
// RUN: scalify-opt --no-vector-scales --split-input-file --print-rules %s | FileCheck %s

// CHECK-LABEL: func.func @gradient_of_slices(
// CHECK-COUNT-3: stablehlo.pad {{.*}}rms=0.577
// CHECK: stablehlo.add {{.*}}rms=0.816
// CHECK: stablehlo.add {{.*}}rms=2"
func.func @gradient_of_slices(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x24xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %zero, low = [0, 0], high = [0, 16], interior = [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x24xf32>
  %1 = stablehlo.pad %b, %zero, low = [0, 8], high = [0, 8], interior = [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x24xf32>
  %2 = stablehlo.pad %c, %zero, low = [0, 16], high = [0, 0], interior = [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x24xf32>
  %3 = stablehlo.add %0, %1 : tensor<4x24xf32>
  %4 = stablehlo.add %3, %2 : tensor<4x24xf32>
  %5 = stablehlo.add %4, %4 : tensor<4x24xf32>
  return %5 : tensor<4x24xf32>
}

// -----

// CHECK-LABEL: func.func @beside_zeros(
// CHECK: stablehlo.concatenate {{.*}}rms=0.5"
func.func @beside_zeros(%a: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<4x24xf32>
  %0 = stablehlo.concatenate %a, %zeros, dim = 1 : (tensor<4x8xf32>, tensor<4x24xf32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// -----

// A padding of infinities has no size.
// CHECK-LABEL: func.func @around_infinities(
// CHECK: stablehlo.pad {{.*}}rms=1"
func.func @around_infinities(%a: tensor<4x8xf32>) -> tensor<4x32xf32> {
  %mask = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.pad %a, %mask, low = [0, 0], high = [0, 24], interior = [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}

// -----

// A sum over the iterations of a loop, from zeros on, is about 2^(3/4 log2 n) times a term: 16^0.75 = 8.
// CHECK-LABEL: func.func @over_iterations(
// CHECK: stablehlo.negate {{.*}}scale = "s{{[0-9]+}} rms=8"
// CHECK: stablehlo.negate {{.*}}scale = "s{{[0-9]+}} rms=1"
func.func @over_iterations(%a: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %first = stablehlo.constant dense<0> : tensor<i32>
  %last = stablehlo.constant dense<16> : tensor<i32>
  %step = stablehlo.constant dense<1> : tensor<i32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %0:3 = stablehlo.while(%i = %first, %sum = %zeros, %other = %a) : tensor<i32>, tensor<4x8xf32>, tensor<4x8xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %i, %step : tensor<i32>
    %2 = stablehlo.add %sum, %a : tensor<4x8xf32>
    %3 = stablehlo.add %other, %a : tensor<4x8xf32>
    stablehlo.return %1, %2, %3 : tensor<i32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
  %4 = stablehlo.negate %0#1 : tensor<4x8xf32>
  %5 = stablehlo.negate %0#2 : tensor<4x8xf32>
  return %4, %5 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Of four terms alike in size, the sum is twice as large as one: the fourth counts twice.
// CHECK-LABEL: func.func @terms(
// CHECK-SAME: %[[LAST:[a-z0-9]+]]: tensor<f32> {scalify.role = "scale"}) ->
// CHECK: %[[HALF:.+]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK-COUNT-2: stablehlo.maximum
// CHECK: %[[THREE:.+]] = stablehlo.maximum {{.*}} : tensor<f32>
// CHECK: %[[HALVED:.+]] = stablehlo.multiply %[[THREE]], %[[HALF]] {{.*}}: tensor<f32>
// CHECK: stablehlo.maximum %[[LAST]], %[[HALVED]] {{.*}}: tensor<f32>
// CHECK: stablehlo.add {{.*}}scalify.scale = "2^1*s
func.func @terms(%x: tensor<4x8xf16>, %a: tensor<4x8xf16>, %b: tensor<4x8xf16>, %c: tensor<4x8xf16>, %d: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %0 = stablehlo.add %x, %a : tensor<4x8xf16>
  %1 = stablehlo.add %0, %b : tensor<4x8xf16>
  %2 = stablehlo.add %1, %c : tensor<4x8xf16>
  %3 = stablehlo.add %2, %d : tensor<4x8xf16>
  return %3 : tensor<4x8xf16>
}

// -----

// One of 16 labels is the right one: 1/4, not the root of half of the elements.
// CHECK-LABEL: func.func @one_hot(
// CHECK: stablehlo.multiply {{.*}}rms=0.25"
func.func @one_hot(%x: tensor<4x16xf32>, %labels: tensor<4x16xi32>) -> tensor<4x16xf32> {
  %0 = stablehlo.iota dim = 1 : tensor<4x16xi32>
  %1 = stablehlo.compare EQ, %labels, %0 : (tensor<4x16xi32>, tensor<4x16xi32>) -> tensor<4x16xi1>
  %2 = stablehlo.convert %1 : (tensor<4x16xi1>) -> tensor<4x16xf32>
  %3 = stablehlo.multiply %x, %2 : tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}
