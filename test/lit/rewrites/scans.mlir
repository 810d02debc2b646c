// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @chlo_scan(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<6x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<6x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<6x3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<6x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V4]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V5]] : tensor<3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]]:2 = chlo.scan(%[[V3]]) inits (%[[V6]]) dimension=0  {
// CHECK: ^bb0(%[[VINPUT:[A-Za-z_0-9]+]]: tensor<3xf32>, %[[VCARRY:[A-Za-z_0-9]+]]: tensor<3xf32>):
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.add %[[VINPUT]], %[[VCARRY]] : tensor<3xf32>
// CHECK: stablehlo.return %[[V8]], %[[V8]] : tensor<3xf32>, tensor<3xf32>
// CHECK: } : (tensor<6x3xf32>, tensor<3xf32>) -> (tensor<6x3xf32>, tensor<3xf32>)
// CHECK: return %[[V7]]#0, %[[V0]], %[[V7]]#1, %[[V0]] : tensor<6x3xf32>, tensor<f32>, tensor<3xf32>, tensor<f32>
func.func public @chlo_scan(%0: tensor<6x3xf32>, %1: tensor<3xf32>) -> (tensor<6x3xf32>, tensor<3xf32>) {
    %r:2 = "chlo.scan"(%0, %1) ({ ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>): %c = stablehlo.add %a, %b : tensor<3xf32> stablehlo.return %c, %c : tensor<3xf32>, tensor<3xf32> }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<6x3xf32>, tensor<3xf32>) -> (tensor<6x3xf32>, tensor<3xf32>)
    return %r#0, %r#1 : tensor<6x3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @chlo_scan_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<6x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<6x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<3xf32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<6x3xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<6x3xf16>) -> tensor<6x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<6x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<6x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<6x3xf32>) -> tensor<6x3xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3xf16>) -> tensor<3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<3xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<3xf32>) -> tensor<3xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V5]] : (tensor<6x3xf16>) -> tensor<6x3xf32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<3xf16>) -> tensor<3xf32>
// CHECK: %[[V13:[A-Za-z_0-9]+]]:2 = chlo.scan(%[[V11]]) inits (%[[V12]]) dimension=0  {
// CHECK: ^bb0(%[[VINPUT:[A-Za-z_0-9]+]]: tensor<3xf32>, %[[VCARRY:[A-Za-z_0-9]+]]: tensor<3xf32>):
// CHECK: %[[V19:[A-Za-z_0-9]+]] = stablehlo.add %[[VINPUT]], %[[VCARRY]] : tensor<3xf32>
// CHECK: stablehlo.return %[[V19]], %[[V19]] : tensor<3xf32>, tensor<3xf32>
// CHECK: } : (tensor<6x3xf32>, tensor<3xf32>) -> (tensor<6x3xf32>, tensor<3xf32>)
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V13]]#0, %[[VCST_1]] : tensor<6x3xf32>
// CHECK: %[[V15:[A-Za-z_0-9]+]] = stablehlo.convert %[[V14]] : (tensor<6x3xf32>) -> tensor<6x3xf16>
// CHECK: %[[V16:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V13]]#1, %[[VCST_0]] : tensor<3xf32>
// CHECK: %[[V17:[A-Za-z_0-9]+]] = stablehlo.convert %[[V16]] : (tensor<3xf32>) -> tensor<3xf16>
// CHECK: %[[V18:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V15]], %[[V18]], %[[V17]], %[[V18]] : tensor<6x3xf16>, tensor<f32>, tensor<3xf16>, tensor<f32>
func.func public @chlo_scan_f16(%0: tensor<6x3xf16>, %1: tensor<3xf16>) -> (tensor<6x3xf16>, tensor<3xf16>) {
    %r:2 = "chlo.scan"(%0, %1) ({ ^bb0(%a: tensor<3xf16>, %b: tensor<3xf16>): %c = stablehlo.add %a, %b : tensor<3xf16> stablehlo.return %c, %c : tensor<3xf16>, tensor<3xf16> }) {dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>} : (tensor<6x3xf16>, tensor<3xf16>) -> (tensor<6x3xf16>, tensor<3xf16>)
    return %r#0, %r#1 : tensor<6x3xf16>, tensor<3xf16>
}
