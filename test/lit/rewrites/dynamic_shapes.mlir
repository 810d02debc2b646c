// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @chlo_constant_like(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "chlo.constant_like"(%[[VARG0]]) <{value = 2.000000e+00 : f32}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_constant_like(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "chlo.constant_like"(%0) {value = 2.0 : f32} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @set_dimension_size(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x?xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<2> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.set_dimension_size %[[VARG0]], %[[VC]], dim = 1 : (tensor<3x4xf32>, tensor<i32>) -> tensor<3x?xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x?xf32>, tensor<f32>
func.func public @set_dimension_size(%0: tensor<3x4xf32>) -> (tensor<3x?xf32>) {
    %1 = stablehlo.constant dense<2> : tensor<i32>
    %r = "stablehlo.set_dimension_size"(%0, %1) {dimension = 1 : i64} : (tensor<3x4xf32>, tensor<i32>) -> (tensor<3x?xf32>)
    return %r : tensor<3x?xf32>
}

// -----

// CHECK-LABEL: func.func public @set_dimension_size_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x?xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<2> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.set_dimension_size %[[VARG0]], %[[VC]], dim = 1 : (tensor<3x4xf16>, tensor<i32>) -> tensor<3x?xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x?xf16>, tensor<f32>
func.func public @set_dimension_size_f16(%0: tensor<3x4xf16>) -> (tensor<3x?xf16>) {
    %1 = stablehlo.constant dense<2> : tensor<i32>
    %r = "stablehlo.set_dimension_size"(%0, %1) {dimension = 1 : i64} : (tensor<3x4xf16>, tensor<i32>) -> (tensor<3x?xf16>)
    return %r : tensor<3x?xf16>
}
