// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @composite(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = call @halves.impl_scaled(%[[VARG0]]) : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
// CHECK-LABEL: func.func private @halves.impl_scaled(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32>) -> tensor<3x4xf32> {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VCST]] : tensor<3x4xf32>
// CHECK: return %[[V0]] : tensor<3x4xf32>
func.func public @composite(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.composite"(%0) {name = "test.halves", decomposition = @halves.impl, version = 1 : i32} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

func.func private @halves.impl(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %h = stablehlo.constant dense<0.5> : tensor<3x4xf32>
  %0 = stablehlo.multiply %x, %h : tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @composite_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = call @halves.impl_scaled(%[[VARG0]]) : (tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
// CHECK-LABEL: func.func private @halves.impl_scaled(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16>) -> tensor<3x4xf16> {
// CHECK: return %[[VARG0]] : tensor<3x4xf16>
func.func public @composite_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.composite"(%0) {name = "test.halves", decomposition = @halves.impl, version = 1 : i32} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

func.func private @halves.impl(%x: tensor<3x4xf16>) -> tensor<3x4xf16> {
  %h = stablehlo.constant dense<0.5> : tensor<3x4xf16>
  %0 = stablehlo.multiply %x, %h : tensor<3x4xf16>
  return %0 : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @composite_set_scaling(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<8.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.250000e-01> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<3x4xf32>
// CHECK: return %[[V2]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @composite_set_scaling(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %1 = stablehlo.constant dense<8.0> : tensor<f32>
    %r = "stablehlo.composite"(%0, %1) {name = "scalify.set_scaling", decomposition = @scalify.set_scaling, version = 1 : i32} : (tensor<3x4xf32>, tensor<f32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

func.func private @scalify.set_scaling(%x: tensor<3x4xf32>, %s: tensor<f32>) -> tensor<3x4xf32> {
  return %x : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @composite_set_scaling_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<8.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.250000e-01> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.convert %[[V3]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: return %[[V4]], %[[VCST]] : tensor<3x4xf16>, tensor<f32>
func.func public @composite_set_scaling_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %1 = stablehlo.constant dense<8.0> : tensor<f32>
    %r = "stablehlo.composite"(%0, %1) {name = "scalify.set_scaling", decomposition = @scalify.set_scaling, version = 1 : i32} : (tensor<3x4xf16>, tensor<f32>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

func.func private @scalify.set_scaling(%x: tensor<3x4xf16>, %s: tensor<f32>) -> tensor<3x4xf16> {
  return %x : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @composite_stop_scaling(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: return %[[V1]], %[[VCST]] : tensor<3x4xf32>, tensor<f32>
func.func public @composite_stop_scaling(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.composite"(%0) {name = "scalify.stop_scaling", decomposition = @scalify.stop_scaling, version = 1 : i32} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

func.func private @scalify.stop_scaling(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  return %x : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @composite_stop_scaling_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.convert %[[V2]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: return %[[V3]], %[[VCST]] : tensor<3x4xf16>, tensor<f32>
func.func public @composite_stop_scaling_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.composite"(%0) {name = "scalify.stop_scaling", decomposition = @scalify.stop_scaling, version = 1 : i32} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

func.func private @scalify.stop_scaling(%x: tensor<3x4xf16>) -> tensor<3x4xf16> {
  return %x : tensor<3x4xf16>
}
