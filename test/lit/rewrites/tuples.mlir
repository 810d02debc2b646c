// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @tuple(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.subtract %[[V2]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @tuple(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {

    %t = stablehlo.tuple %0, %1 : tuple<tensor<3x4xf32>, tensor<3x4xf32>>
    %a = stablehlo.get_tuple_element %t[0] : (tuple<tensor<3x4xf32>, tensor<3x4xf32>>) -> tensor<3x4xf32>
    %b = stablehlo.get_tuple_element %t[1] : (tuple<tensor<3x4xf32>, tensor<3x4xf32>>) -> tensor<3x4xf32>
    %r = stablehlo.subtract %a, %b : tensor<3x4xf32>
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @tuple_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.subtract %[[V5]], %[[V10]] : tensor<3x4xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @tuple_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {

    %t = stablehlo.tuple %0, %1 : tuple<tensor<3x4xf16>, tensor<3x4xf16>>
    %a = stablehlo.get_tuple_element %t[0] : (tuple<tensor<3x4xf16>, tensor<3x4xf16>>) -> tensor<3x4xf16>
    %b = stablehlo.get_tuple_element %t[1] : (tuple<tensor<3x4xf16>, tensor<3x4xf16>>) -> tensor<3x4xf16>
    %r = stablehlo.subtract %a, %b : tensor<3x4xf16>
    return %r : tensor<3x4xf16>
}
