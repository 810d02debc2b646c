// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @chlo_conj(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.complex %[[V3]], %[[V6]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = chlo.conj %[[V7]] : tensor<3x4xcomplex<f32>> -> tensor<3x4xcomplex<f32>>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.real %[[V8]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: return %[[V9]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @chlo_conj(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
%z = stablehlo.complex %0, %1 : tensor<3x4xcomplex<f32>> %w = "chlo.conj"(%z) : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xcomplex<f32>> %r = stablehlo.real %w : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32> return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @complex(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> tensor<3x4xcomplex<f32>> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.complex %[[V3]], %[[V6]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.real %[[V7]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.imag %[[V7]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V8]], %[[V10]] : tensor<3x4xf32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V9]], %[[V10]] : tensor<3x4xf32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.complex %[[V11]], %[[V12]] : tensor<3x4xcomplex<f32>>
// CHECK: return %[[V13]] : tensor<3x4xcomplex<f32>>
func.func public @complex(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xcomplex<f32>>) {
    %r = "stablehlo.complex"(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xcomplex<f32>>)
    return %r : tensor<3x4xcomplex<f32>>
}

// -----

// CHECK-LABEL: func.func public @imag(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.imag %[[VARG0]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: return %[[V0]] : tensor<3x4xf32>
func.func public @imag(%0: tensor<3x4xcomplex<f32>>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.imag"(%0) : (tensor<3x4xcomplex<f32>>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @real(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32> {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.real %[[VARG0]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: return %[[V0]] : tensor<3x4xf32>
func.func public @real(%0: tensor<3x4xcomplex<f32>>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.real"(%0) : (tensor<3x4xcomplex<f32>>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @real_after_negate(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.complex %[[V3]], %[[V6]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.negate %[[V7]] : tensor<3x4xcomplex<f32>>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.real %[[V8]] : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
// CHECK: return %[[V9]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @real_after_negate(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
%z = stablehlo.complex %0, %1 : tensor<3x4xcomplex<f32>> %w = stablehlo.negate %z : tensor<3x4xcomplex<f32>> %r = stablehlo.real %w : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32> return %r : tensor<3x4xf32>
}
