// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @sdy_manual_computation(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<8x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<8x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<8x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = sdy.manual_computation(%[[VARG0]], %[[VARG2]], %[[VARG1]], %[[VARG3]]) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, []>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%[[VARG4:[A-Za-z_0-9]+]]: tensor<4x4xf32>, %[[VARG5:[A-Za-z_0-9]+]]: tensor<4x4xf32>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG7:[A-Za-z_0-9]+]]: tensor<f32>) {
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG4]], %[[VARG5]] : tensor<4x4xf32>
// CHECK: sdy.return %[[V3]] : tensor<4x4xf32>
// CHECK: } : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> tensor<8x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<8x4xf32>, tensor<f32>
// CHECK: sdy.mesh @mesh = <["x"=2]>
func.func public @sdy_manual_computation(%0: tensor<8x4xf32>, %1: tensor<8x4xf32>) -> (tensor<8x4xf32>) {

    %r = sdy.manual_computation(%0, %1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]
        out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<4x4xf32>, %b: tensor<4x4xf32>) {
      %c = stablehlo.multiply %a, %b : tensor<4x4xf32>
      sdy.return %c : tensor<4x4xf32>
    } : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    return %r : tensor<8x4xf32>
}
sdy.mesh @mesh = <["x"=2]>

// -----

// CHECK-LABEL: func.func public @sdy_manual_computation_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<8x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<8x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<8x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = sdy.manual_computation(%[[VARG0]], %[[VARG2]], %[[VARG1]], %[[VARG3]]) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, []>, <@mesh, []>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%[[VARG4:[A-Za-z_0-9]+]]: tensor<4x4xf16>, %[[VARG5:[A-Za-z_0-9]+]]: tensor<4x4xf16>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG7:[A-Za-z_0-9]+]]: tensor<f32>) {
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG4]], %[[VARG5]] : tensor<4x4xf16>
// CHECK: sdy.return %[[V3]] : tensor<4x4xf16>
// CHECK: } : (tensor<8x4xf16>, tensor<8x4xf16>, tensor<f32>, tensor<f32>) -> tensor<8x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<8x4xf16>, tensor<f32>
// CHECK: sdy.mesh @mesh = <["x"=2]>
func.func public @sdy_manual_computation_f16(%0: tensor<8x4xf16>, %1: tensor<8x4xf16>) -> (tensor<8x4xf16>) {

    %r = sdy.manual_computation(%0, %1) in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]
        out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%a: tensor<4x4xf16>, %b: tensor<4x4xf16>) {
      %c = stablehlo.multiply %a, %b : tensor<4x4xf16>
      sdy.return %c : tensor<4x4xf16>
    } : (tensor<8x4xf16>, tensor<8x4xf16>) -> tensor<8x4xf16>
    return %r : tensor<8x4xf16>
}
sdy.mesh @mesh = <["x"=2]>
