// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @cbrt(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.cbrt %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.reduce_precision %[[V0]], format = e8m0 : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.cbrt %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[V4]], %[[V5]] : tensor<3x4xf32>
// CHECK: return %[[V6]], %[[V1]] : tensor<3x4xf32>, tensor<f32>
func.func public @cbrt(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.cbrt"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @cbrt_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.cbrt %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.reduce_precision %[[V0]], format = e8m0 : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST]], %[[V1]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V3]], %[[V4]] : tensor<f32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V4]] : tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V6]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.convert %[[V8]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.cbrt %[[V9]] : tensor<3x4xf16>
// CHECK: return %[[V10]], %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @cbrt_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.cbrt"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @chlo_square(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VARG0]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_square(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.square"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_square_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VARG0]] : tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
func.func public @chlo_square_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "chlo.square"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @divide(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG0]], %[[VARG2]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf32>, tensor<f32>
func.func public @divide(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.divide"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @divide_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG0]], %[[VARG2]] : tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
func.func public @divide_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.divide"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @divide_by_a_constant(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<3.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG0]], %[[VCST]] : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @divide_by_a_constant(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<3.0> : tensor<3x4xf32>
    %r = "stablehlo.divide"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @divide_by_a_constant_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<3.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG0]], %[[VCST]] : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
func.func public @divide_by_a_constant_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<3.0> : tensor<3x4xf16>
    %r = "stablehlo.divide"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @divide_by_a_power_of_two(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<4.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG0]], %[[VCST]] : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @divide_by_a_power_of_two(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<4.0> : tensor<3x4xf32>
    %r = "stablehlo.divide"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @divide_by_a_power_of_two_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.500000e-01> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[VARG0]], %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @divide_by_a_power_of_two_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<4.0> : tensor<3x4xf16>
    %r = "stablehlo.divide"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @divide_of_complex_numbers(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.complex %[[V3]], %[[V6]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[V7]], %[[V7]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.real %[[V8]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: return %[[V9]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @divide_of_complex_numbers(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
%z = stablehlo.complex %0, %1 : tensor<3x4xcomplex<f32>> %w = stablehlo.divide %z, %z : tensor<3x4xcomplex<f32>> %r = stablehlo.real %w : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32> return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @divide_of_one(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST_1]], %[[VARG0]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST_0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf32>, tensor<f32>
func.func public @divide_of_one(%1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %0 = stablehlo.constant dense<1.0> : tensor<3x4xf32>
    %r = "stablehlo.divide"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @divide_of_one_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST_1]], %[[VARG0]] : tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST_0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
func.func public @divide_of_one_f16(%1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %0 = stablehlo.constant dense<1.0> : tensor<3x4xf16>
    %r = "stablehlo.divide"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @multiply(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VARG2]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf32>, tensor<f32>
func.func public @multiply(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.multiply"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @multiply_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VARG2]] : tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
func.func public @multiply_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.multiply"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @multiply_by_a_constant(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.899999976> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VCST]] : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @multiply_by_a_constant(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<0.9> : tensor<3x4xf32>
    %r = "stablehlo.multiply"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @multiply_by_a_constant_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<8.999020e-01> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VCST]] : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
func.func public @multiply_by_a_constant_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<0.9> : tensor<3x4xf16>
    %r = "stablehlo.multiply"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @multiply_by_a_power_of_two(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.500000e-01> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VCST]] : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @multiply_by_a_power_of_two(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<0.25> : tensor<3x4xf32>
    %r = "stablehlo.multiply"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @multiply_by_a_power_of_two_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.500000e-01> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[VARG0]], %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @multiply_by_a_power_of_two_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<0.25> : tensor<3x4xf16>
    %r = "stablehlo.multiply"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @multiply_by_itself(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VARG0]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf32>, tensor<f32>
func.func public @multiply_by_itself(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
%r = stablehlo.multiply %0, %0 : tensor<3x4xf32> return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @multiply_by_itself_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VARG0]] : tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
func.func public @multiply_by_itself_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
%r = stablehlo.multiply %0, %0 : tensor<3x4xf16> return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @multiply_of_complex_numbers(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.complex %[[V3]], %[[V6]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V7]], %[[V7]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.real %[[V8]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V0]] : tensor<f32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V10]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V9]], %[[V11]] : tensor<3x4xf32>, tensor<f32>
func.func public @multiply_of_complex_numbers(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
%z = stablehlo.complex %0, %1 : tensor<3x4xcomplex<f32>> %w = stablehlo.multiply %z, %z : tensor<3x4xcomplex<f32>> %r = stablehlo.real %w : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32> return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @power_cube(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<3.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.power %[[VARG0]], %[[VCST_0]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V2]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V3]] : tensor<3x4xf32>, tensor<f32>
func.func public @power_cube(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<3.0> : tensor<3x4xf32>
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @power_cube_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<3.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.power %[[VARG0]], %[[VCST_0]] : tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V2]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V3]] : tensor<3x4xf16>, tensor<f32>
func.func public @power_cube_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<3.0> : tensor<3x4xf16>
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @power_of_a_variable_exponent(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.power %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: return %[[V4]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @power_of_a_variable_exponent(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @power_of_a_variable_exponent_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V3]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.power %[[V2]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.convert %[[V6]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: return %[[V7]], %[[VCST]] : tensor<3x4xf16>, tensor<f32>
func.func public @power_of_a_variable_exponent_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @power_reciprocal(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<-1.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.power %[[VARG0]], %[[VCST_1]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST_0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf32>, tensor<f32>
func.func public @power_reciprocal(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<-1.0> : tensor<3x4xf32>
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @power_reciprocal_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<-1.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.power %[[VARG0]], %[[VCST_1]] : tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST_0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
func.func public @power_reciprocal_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<-1.0> : tensor<3x4xf16>
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @power_seventh(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<7.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.power %[[V1]], %[[VCST_0]] : tensor<3x4xf32>
// CHECK: return %[[V2]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @power_seventh(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<7.0> : tensor<3x4xf32>
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @power_seventh_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.562500e-02> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<6.400000e+01> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<7.37869762E+19> : tensor<f32>
// CHECK: %[[VCST_2:[A-Za-z_0-9]+]] = stablehlo.constant dense<7.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V1]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.minimum %[[VCST_1]], %[[V3]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST_0]], %[[V4]] : tensor<f32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.power %[[V8]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[VCST]] : tensor<f32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V11]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.divide %[[V10]], %[[V12]] : tensor<3x4xf32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.convert %[[V13]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: return %[[V14]], %[[V11]] : tensor<3x4xf16>, tensor<f32>
func.func public @power_seventh_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<7.0> : tensor<3x4xf16>
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @power_square(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.power %[[VARG0]], %[[VCST_0]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf32>, tensor<f32>
func.func public @power_square(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<2.0> : tensor<3x4xf32>
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @power_square_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.power %[[VARG0]], %[[VCST_0]] : tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
func.func public @power_square_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<2.0> : tensor<3x4xf16>
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @power_square_root(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.sqrt %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.reduce_precision %[[V0]], format = e8m0 : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.power %[[V3]], %[[VCST]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[V4]], %[[V5]] : tensor<3x4xf32>
// CHECK: return %[[V6]], %[[V1]] : tensor<3x4xf32>, tensor<f32>
func.func public @power_square_root(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<0.5> : tensor<3x4xf32>
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @power_square_root_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.sqrt %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.reduce_precision %[[V0]], format = e8m0 : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST]], %[[V1]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V3]], %[[V4]] : tensor<f32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V5]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.convert %[[V7]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.power %[[V8]], %[[VCST_0]] : tensor<3x4xf16>
// CHECK: return %[[V9]], %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @power_square_root_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<0.5> : tensor<3x4xf16>
    %r = "stablehlo.power"(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @rsqrt(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.sqrt %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.reduce_precision %[[V0]], format = e8m0 : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.rsqrt %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V4]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST_0]], %[[V1]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V7]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V6]], %[[V8]] : tensor<3x4xf32>, tensor<f32>
func.func public @rsqrt(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.rsqrt"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @rsqrt_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.sqrt %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.reduce_precision %[[V0]], format = e8m0 : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST_0]], %[[V1]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V3]], %[[V4]] : tensor<f32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V5]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.convert %[[V7]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.rsqrt %[[V8]] : tensor<3x4xf16>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V4]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V9]], %[[V10]] : tensor<3x4xf16>, tensor<f32>
func.func public @rsqrt_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.rsqrt"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @sqrt(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.sqrt %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.reduce_precision %[[V0]], format = e8m0 : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.sqrt %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.divide %[[V4]], %[[V5]] : tensor<3x4xf32>
// CHECK: return %[[V6]], %[[V1]] : tensor<3x4xf32>, tensor<f32>
func.func public @sqrt(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.sqrt"(%0) : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @sqrt_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.sqrt %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.reduce_precision %[[V0]], format = e8m0 : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST]], %[[V1]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V3]], %[[V4]] : tensor<f32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V5]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.convert %[[V7]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.sqrt %[[V8]] : tensor<3x4xf16>
// CHECK: return %[[V9]], %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @sqrt_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.sqrt"(%0) : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}
