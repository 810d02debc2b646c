// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @chlo_top_k(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x2xi32>) {
// CHECK: %[[VVALUES:[A-Za-z_0-9]+]], %[[VINDICES:[A-Za-z_0-9]+]] = chlo.top_k(%[[VARG0]], k = 2) : tensor<3x6xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
// CHECK: return %[[VVALUES]], %[[VARG1]], %[[VINDICES]] : tensor<3x2xf32>, tensor<f32>, tensor<3x2xi32>
func.func public @chlo_top_k(%0: tensor<3x6xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
    %r:2 = "chlo.top_k"(%0) {k = 2 : i64} : (tensor<3x6xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
    return %r#0, %r#1 : tensor<3x2xf32>, tensor<3x2xi32>
}

// -----

// CHECK-LABEL: func.func public @chlo_top_k_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x2xi32>) {
// CHECK: %[[VVALUES:[A-Za-z_0-9]+]], %[[VINDICES:[A-Za-z_0-9]+]] = chlo.top_k(%[[VARG0]], k = 2) : tensor<3x6xf16> -> (tensor<3x2xf16>, tensor<3x2xi32>)
// CHECK: return %[[VVALUES]], %[[VARG1]], %[[VINDICES]] : tensor<3x2xf16>, tensor<f32>, tensor<3x2xi32>
func.func public @chlo_top_k_f16(%0: tensor<3x6xf16>) -> (tensor<3x2xf16>, tensor<3x2xi32>) {
    %r:2 = "chlo.top_k"(%0) {k = 2 : i64} : (tensor<3x6xf16>) -> (tensor<3x2xf16>, tensor<3x2xi32>)
    return %r#0, %r#1 : tensor<3x2xf16>, tensor<3x2xi32>
}

// -----

// CHECK-LABEL: func.func public @map(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<3x4xf32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VARG2]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST_0]], %[[V1]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.add %[[V4]], %[[VCST]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: return %[[V7]], %[[V2]] : tensor<3x4xf32>, tensor<f32>
func.func public @map(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.map"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.multiply %a, %b : tensor<f32> %h = stablehlo.constant dense<0.5> : tensor<f32> %d = stablehlo.add %c, %h : tensor<f32> stablehlo.return %d : tensor<f32> }) {dimensions = array<i64: 0, 1>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @map_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST_0]], %[[V3]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.divide %[[V3]], %[[V4]] : tensor<f32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V5]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.convert %[[V7]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_1]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.divide %[[VCST]], %[[V4]] : tensor<f32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V10]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V11]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V9]], %[[V12]] : tensor<3x4xf32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.convert %[[V13]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V15:[A-Za-z_0-9]+]] = stablehlo.add %[[V8]], %[[V14]] : tensor<3x4xf16>
// CHECK: return %[[V15]], %[[V4]] : tensor<3x4xf16>, tensor<f32>
func.func public @map_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.map"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.multiply %a, %b : tensor<f16> %h = stablehlo.constant dense<0.5> : tensor<f16> %d = stablehlo.add %c, %h : tensor<f16> stablehlo.return %d : tensor<f16> }) {dimensions = array<i64: 0, 1>} : (tensor<3x4xf16>, tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_add(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VCST]]) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3xf32>, tensor<f32>
func.func public @reduce_add(%0: tensor<3x6xf32>) -> (tensor<3xf32>) {
    %1 = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {dimensions = array<i64: 1>} : (tensor<3x6xf32>, tensor<f32>) -> (tensor<3xf32>)
    return %r : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_add_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<3x6xf16>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VCST_0]] : tensor<3x6xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[V0]] init: %[[VCST_1]]) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf16>, tensor<f16>) -> tensor<3xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<3xf16>, tensor<f32>
func.func public @reduce_add_f16(%0: tensor<3x6xf16>) -> (tensor<3xf16>) {
    %1 = stablehlo.constant dense<0.0> : tensor<f16>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.add %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {dimensions = array<i64: 1>} : (tensor<3x6xf16>, tensor<f16>) -> (tensor<3xf16>)
    return %r : tensor<3xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_add_all(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<f32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VCST]]) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<f32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<f32>, tensor<f32>
func.func public @reduce_add_all(%0: tensor<3x6xf32>) -> (tensor<f32>) {
    %1 = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {dimensions = array<i64: 0, 1>} : (tensor<3x6xf32>, tensor<f32>) -> (tensor<f32>)
    return %r : tensor<f32>
}

// -----

// CHECK-LABEL: func.func public @reduce_add_all_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<f16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<8.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.250000e-01> : tensor<f32>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x6xf16>) -> tensor<3x6xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_1]] : (tensor<f16>) -> tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[V0]] init: %[[V1]]) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.convert %[[V3]] : (tensor<f32>) -> tensor<f16>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V4]], %[[V5]] : tensor<f16>, tensor<f32>
func.func public @reduce_add_all_f16(%0: tensor<3x6xf16>) -> (tensor<f16>) {
    %1 = stablehlo.constant dense<0.0> : tensor<f16>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.add %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {dimensions = array<i64: 0, 1>} : (tensor<3x6xf16>, tensor<f16>) -> (tensor<f16>)
    return %r : tensor<f16>
}

// -----

// CHECK-LABEL: func.func public @reduce_add_to_an_initial_value(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x6xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x6xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V4]] : tensor<f32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[V3]] init: %[[V5]]) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: return %[[V6]], %[[V0]] : tensor<3xf32>, tensor<f32>
func.func public @reduce_add_to_an_initial_value(%0: tensor<3x6xf32>, %1: tensor<f32>) -> (tensor<3xf32>) {
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {dimensions = array<i64: 1>} : (tensor<3x6xf32>, tensor<f32>) -> (tensor<3xf32>)
    return %r : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_add_to_an_initial_value_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<3xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x6xf16>) -> tensor<3x6xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x6xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x6xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x6xf32>) -> tensor<3x6xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG2]] : (tensor<f16>) -> tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V7]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.convert %[[V8]] : (tensor<f32>) -> tensor<f16>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V5]] : (tensor<3x6xf16>) -> tensor<3x6xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<f16>) -> tensor<f32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[V10]] init: %[[V11]]) applies stablehlo.add across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V12]], %[[VCST_0]] : tensor<3xf32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.convert %[[V13]] : (tensor<3xf32>) -> tensor<3xf16>
// CHECK: %[[V15:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V14]], %[[V15]] : tensor<3xf16>, tensor<f32>
func.func public @reduce_add_to_an_initial_value_f16(%0: tensor<3x6xf16>, %1: tensor<f16>) -> (tensor<3xf16>) {
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.add %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {dimensions = array<i64: 1>} : (tensor<3x6xf16>, tensor<f16>) -> (tensor<3xf16>)
    return %r : tensor<3xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_and_of_booleans(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xi1>) -> tensor<3xi1> {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<true> : tensor<i1>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VC]]) applies stablehlo.and across dimensions = [1] : (tensor<3x6xi1>, tensor<i1>) -> tensor<3xi1>
// CHECK: return %[[V0]] : tensor<3xi1>
func.func public @reduce_and_of_booleans(%0: tensor<3x6xi1>) -> (tensor<3xi1>) {
    %1 = stablehlo.constant dense<true> : tensor<i1>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<i1>, %b: tensor<i1>): %c = stablehlo.and %a, %b : tensor<i1> stablehlo.return %c : tensor<i1> }) {dimensions = array<i64: 1>} : (tensor<3x6xi1>, tensor<i1>) -> (tensor<3xi1>)
    return %r : tensor<3xi1>
}

// -----

// CHECK-LABEL: func.func public @reduce_and_of_booleans_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xi1>) -> tensor<3xi1> {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<true> : tensor<i1>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VC]]) applies stablehlo.and across dimensions = [1] : (tensor<3x6xi1>, tensor<i1>) -> tensor<3xi1>
// CHECK: return %[[V0]] : tensor<3xi1>
func.func public @reduce_and_of_booleans_f16(%0: tensor<3x6xi1>) -> (tensor<3xi1>) {
    %1 = stablehlo.constant dense<true> : tensor<i1>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<i1>, %b: tensor<i1>): %c = stablehlo.and %a, %b : tensor<i1> stablehlo.return %c : tensor<i1> }) {dimensions = array<i64: 1>} : (tensor<3x6xi1>, tensor<i1>) -> (tensor<3xi1>)
    return %r : tensor<3xi1>
}

// -----

// CHECK-LABEL: func.func public @reduce_argmax(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x6xi32>) -> (tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3xi32>) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:2 = stablehlo.reduce(%[[VARG0]] init: %[[VCST]]), (%[[VARG2]] init: %[[VC]]) across dimensions = [1] : (tensor<3x6xf32>, tensor<3x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
// CHECK: reducer(%[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f32>) (%[[VARG4:[A-Za-z_0-9]+]]: tensor<i32>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<i32>)  {
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[VARG3]], %[[VARG5]] : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.select %[[V1]], %[[VARG3]], %[[VARG5]] : tensor<i1>, tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.select %[[V1]], %[[VARG4]], %[[VARG6]] : tensor<i1>, tensor<i32>
// CHECK: stablehlo.return %[[V2]], %[[V3]] : tensor<f32>, tensor<i32>
// CHECK: return %[[V0]]#0, %[[VARG1]], %[[V0]]#1 : tensor<3xf32>, tensor<f32>, tensor<3xi32>
func.func public @reduce_argmax(%0: tensor<3x6xf32>, %1: tensor<3x6xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
    %2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %3 = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = "stablehlo.reduce"(%0, %1, %2, %3) ({ ^bb0(%a: tensor<f32>, %i: tensor<i32>, %b: tensor<f32>, %j: tensor<i32>):
      %greater = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %value = stablehlo.select %greater, %a, %b : tensor<i1>, tensor<f32>
      %index = stablehlo.select %greater, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %value, %index : tensor<f32>, tensor<i32> }) {dimensions = array<i64: 1>} : (tensor<3x6xf32>, tensor<3x6xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
    return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>
}

// -----

// CHECK-LABEL: func.func public @reduce_argmax_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x6xi32>) -> (tensor<3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3xi32>) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0xFC00> : tensor<f16>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:2 = stablehlo.reduce(%[[VARG0]] init: %[[VCST]]), (%[[VARG2]] init: %[[VC]]) across dimensions = [1] : (tensor<3x6xf16>, tensor<3x6xi32>, tensor<f16>, tensor<i32>) -> (tensor<3xf16>, tensor<3xi32>)
// CHECK: reducer(%[[VARG3:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f16>) (%[[VARG4:[A-Za-z_0-9]+]]: tensor<i32>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<i32>)  {
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[VARG3]], %[[VARG5]] : (tensor<f16>, tensor<f16>) -> tensor<i1>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.select %[[V1]], %[[VARG3]], %[[VARG5]] : tensor<i1>, tensor<f16>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.select %[[V1]], %[[VARG4]], %[[VARG6]] : tensor<i1>, tensor<i32>
// CHECK: stablehlo.return %[[V2]], %[[V3]] : tensor<f16>, tensor<i32>
// CHECK: return %[[V0]]#0, %[[VARG1]], %[[V0]]#1 : tensor<3xf16>, tensor<f32>, tensor<3xi32>
func.func public @reduce_argmax_f16(%0: tensor<3x6xf16>, %1: tensor<3x6xi32>) -> (tensor<3xf16>, tensor<3xi32>) {
    %2 = stablehlo.constant dense<0xFC00> : tensor<f16>
    %3 = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = "stablehlo.reduce"(%0, %1, %2, %3) ({ ^bb0(%a: tensor<f16>, %i: tensor<i32>, %b: tensor<f16>, %j: tensor<i32>):
      %greater = stablehlo.compare GT, %a, %b : (tensor<f16>, tensor<f16>) -> tensor<i1>
      %value = stablehlo.select %greater, %a, %b : tensor<i1>, tensor<f16>
      %index = stablehlo.select %greater, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %value, %index : tensor<f16>, tensor<i32> }) {dimensions = array<i64: 1>} : (tensor<3x6xf16>, tensor<3x6xi32>, tensor<f16>, tensor<i32>) -> (tensor<3xf16>, tensor<3xi32>)
    return %r#0, %r#1 : tensor<3xf16>, tensor<3xi32>
}

// -----

// CHECK-LABEL: func.func public @reduce_last(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VCST]]) across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: reducer(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>)  {
// CHECK: stablehlo.return %[[VARG3]] : tensor<f32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3xf32>, tensor<f32>
func.func public @reduce_last(%0: tensor<3x6xf32>) -> (tensor<3xf32>) {
    %1 = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): stablehlo.return %b : tensor<f32> }) {dimensions = array<i64: 1>} : (tensor<3x6xf32>, tensor<f32>) -> (tensor<3xf32>)
    return %r : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_last_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VCST]]) across dimensions = [1] : (tensor<3x6xf16>, tensor<f16>) -> tensor<3xf16>
// CHECK: reducer(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f16>)  {
// CHECK: stablehlo.return %[[VARG3]] : tensor<f16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3xf16>, tensor<f32>
func.func public @reduce_last_f16(%0: tensor<3x6xf16>) -> (tensor<3xf16>) {
    %1 = stablehlo.constant dense<0.0> : tensor<f16>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): stablehlo.return %b : tensor<f16> }) {dimensions = array<i64: 1>} : (tensor<3x6xf16>, tensor<f16>) -> (tensor<3xf16>)
    return %r : tensor<3xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_logsumexp(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x6xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x6xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[V1]] init: %[[VCST_0]]) across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: reducer(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>)  {
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.exponential %[[VARG2]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.exponential %[[VARG3]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.add %[[V3]], %[[V4]] : tensor<f32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.log %[[V5]] : tensor<f32>
// CHECK: stablehlo.return %[[V6]] : tensor<f32>
// CHECK: return %[[V2]], %[[VCST]] : tensor<3xf32>, tensor<f32>
func.func public @reduce_logsumexp(%0: tensor<3x6xf32>) -> (tensor<3xf32>) {
    %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.exponential %a : tensor<f32>
      %t = stablehlo.exponential %b : tensor<f32>
      %u = stablehlo.add %s, %t : tensor<f32>
      %v = stablehlo.log %u : tensor<f32>
      stablehlo.return %v : tensor<f32> }) {dimensions = array<i64: 1>} : (tensor<3x6xf32>, tensor<f32>) -> (tensor<3xf32>)
    return %r : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_logsumexp_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<0xFC00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x6xf16>) -> tensor<3x6xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x6xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V2]] : tensor<3x6xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_0]] : (tensor<f16>) -> tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[V3]] init: %[[V4]]) across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: reducer(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>)  {
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.exponential %[[VARG2]] : tensor<f32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.exponential %[[VARG3]] : tensor<f32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.add %[[V9]], %[[V10]] : tensor<f32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.log %[[V11]] : tensor<f32>
// CHECK: stablehlo.return %[[V12]] : tensor<f32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.convert %[[V7]] : (tensor<3xf32>) -> tensor<3xf16>
// CHECK: return %[[V8]], %[[V0]] : tensor<3xf16>, tensor<f32>
func.func public @reduce_logsumexp_f16(%0: tensor<3x6xf16>) -> (tensor<3xf16>) {
    %1 = stablehlo.constant dense<0xFC00> : tensor<f16>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>):
      %s = stablehlo.exponential %a : tensor<f16>
      %t = stablehlo.exponential %b : tensor<f16>
      %u = stablehlo.add %s, %t : tensor<f16>
      %v = stablehlo.log %u : tensor<f16>
      stablehlo.return %v : tensor<f16> }) {dimensions = array<i64: 1>} : (tensor<3x6xf16>, tensor<f16>) -> (tensor<3xf16>)
    return %r : tensor<3xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_maximum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VCST]]) applies stablehlo.maximum across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3xf32>, tensor<f32>
func.func public @reduce_maximum(%0: tensor<3x6xf32>) -> (tensor<3xf32>) {
    %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.maximum %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {dimensions = array<i64: 1>} : (tensor<3x6xf32>, tensor<f32>) -> (tensor<3xf32>)
    return %r : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_maximum_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0xFC00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VCST]]) applies stablehlo.maximum across dimensions = [1] : (tensor<3x6xf16>, tensor<f16>) -> tensor<3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3xf16>, tensor<f32>
func.func public @reduce_maximum_f16(%0: tensor<3x6xf16>) -> (tensor<3xf16>) {
    %1 = stablehlo.constant dense<0xFC00> : tensor<f16>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.maximum %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {dimensions = array<i64: 1>} : (tensor<3x6xf16>, tensor<f16>) -> (tensor<3xf16>)
    return %r : tensor<3xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_minimum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0x7F800000> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VCST]]) applies stablehlo.minimum across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3xf32>, tensor<f32>
func.func public @reduce_minimum(%0: tensor<3x6xf32>) -> (tensor<3xf32>) {
    %1 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.minimum %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {dimensions = array<i64: 1>} : (tensor<3x6xf32>, tensor<f32>) -> (tensor<3xf32>)
    return %r : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_minimum_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0x7C00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VCST]]) applies stablehlo.minimum across dimensions = [1] : (tensor<3x6xf16>, tensor<f16>) -> tensor<3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3xf16>, tensor<f32>
func.func public @reduce_minimum_f16(%0: tensor<3x6xf16>) -> (tensor<3xf16>) {
    %1 = stablehlo.constant dense<0x7C00> : tensor<f16>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.minimum %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {dimensions = array<i64: 1>} : (tensor<3x6xf16>, tensor<f16>) -> (tensor<3xf16>)
    return %r : tensor<3xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_multiply(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x6xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x6xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[V1]] init: %[[VCST_0]]) applies stablehlo.multiply across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: return %[[V2]], %[[VCST]] : tensor<3xf32>, tensor<f32>
func.func public @reduce_multiply(%0: tensor<3x6xf32>) -> (tensor<3xf32>) {
    %1 = stablehlo.constant dense<1.0> : tensor<f32>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.multiply %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {dimensions = array<i64: 1>} : (tensor<3x6xf32>, tensor<f32>) -> (tensor<3xf32>)
    return %r : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_multiply_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x6xf16>) -> tensor<3x6xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x6xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V2]] : tensor<3x6xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.convert %[[VCST_0]] : (tensor<f16>) -> tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[V3]] init: %[[V4]]) applies stablehlo.multiply across dimensions = [1] : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<3xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.convert %[[V7]] : (tensor<3xf32>) -> tensor<3xf16>
// CHECK: return %[[V8]], %[[V0]] : tensor<3xf16>, tensor<f32>
func.func public @reduce_multiply_f16(%0: tensor<3x6xf16>) -> (tensor<3xf16>) {
    %1 = stablehlo.constant dense<1.0> : tensor<f16>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.multiply %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {dimensions = array<i64: 1>} : (tensor<3x6xf16>, tensor<f16>) -> (tensor<3xf16>)
    return %r : tensor<3xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_multiply_few(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VCST_0]]) applies stablehlo.multiply across dimensions = [1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V2]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V3]] : tensor<3xf32>, tensor<f32>
func.func public @reduce_multiply_few(%0: tensor<3x3xf32>) -> (tensor<3xf32>) {
    %1 = stablehlo.constant dense<1.0> : tensor<f32>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.multiply %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {dimensions = array<i64: 1>} : (tensor<3x3xf32>, tensor<f32>) -> (tensor<3xf32>)
    return %r : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_multiply_few_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.reduce(%[[VARG0]] init: %[[VCST_0]]) applies stablehlo.multiply across dimensions = [1] : (tensor<3x3xf16>, tensor<f16>) -> tensor<3xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V2]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V3]] : tensor<3xf16>, tensor<f32>
func.func public @reduce_multiply_few_f16(%0: tensor<3x3xf16>) -> (tensor<3xf16>) {
    %1 = stablehlo.constant dense<1.0> : tensor<f16>
    %r = "stablehlo.reduce"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.multiply %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {dimensions = array<i64: 1>} : (tensor<3x3xf16>, tensor<f16>) -> (tensor<3xf16>)
    return %r : tensor<3xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_window_add(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.reduce_window"(%[[VARG0]], %[[VCST]]) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V1]] : tensor<f32>
// CHECK: }) : (tensor<3x6xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x3xf32>, tensor<f32>
func.func public @reduce_window_add(%0: tensor<3x6xf32>) -> (tensor<3x3xf32>) {
    %1 = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.reduce_window"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>} : (tensor<3x6xf32>, tensor<f32>) -> (tensor<3x3xf32>)
    return %r : tensor<3x3xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_window_add_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.reduce_window"(%[[VARG0]], %[[VCST]]) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f16>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG2]], %[[VARG3]] : tensor<f16>
// CHECK: stablehlo.return %[[V1]] : tensor<f16>
// CHECK: }) : (tensor<3x6xf16>, tensor<f16>) -> tensor<3x3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x3xf16>, tensor<f32>
func.func public @reduce_window_add_f16(%0: tensor<3x6xf16>) -> (tensor<3x3xf16>) {
    %1 = stablehlo.constant dense<0.0> : tensor<f16>
    %r = "stablehlo.reduce_window"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.add %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>} : (tensor<3x6xf16>, tensor<f16>) -> (tensor<3x3xf16>)
    return %r : tensor<3x3xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_window_cumulative_sum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<6xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.reduce_window"(%[[VARG0]], %[[VCST]]) <{padding = dense<{{\[\[}}5, 0{{\]\]}}> : tensor<1x2xi64>, window_dimensions = array<i64: 6>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V1]] : tensor<f32>
// CHECK: }) : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<6xf32>, tensor<f32>
func.func public @reduce_window_cumulative_sum(%0: tensor<6xf32>) -> (tensor<6xf32>) {
    %1 = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.reduce_window"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {window_dimensions = array<i64: 6>, padding = dense<[[5, 0]]> : tensor<1x2xi64>} : (tensor<6xf32>, tensor<f32>) -> (tensor<6xf32>)
    return %r : tensor<6xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_window_cumulative_sum_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<6xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<5.000000e-01> : tensor<6xf16>
// CHECK: %[[VCST_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VCST_0]] : tensor<6xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = "stablehlo.reduce_window"(%[[V0]], %[[VCST_1]]) <{padding = dense<{{\[\[}}5, 0{{\]\]}}> : tensor<1x2xi64>, window_dimensions = array<i64: 6>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f16>):
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG2]], %[[VARG3]] : tensor<f16>
// CHECK: stablehlo.return %[[V3]] : tensor<f16>
// CHECK: }) : (tensor<6xf16>, tensor<f16>) -> tensor<6xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<6xf16>, tensor<f32>
func.func public @reduce_window_cumulative_sum_f16(%0: tensor<6xf16>) -> (tensor<6xf16>) {
    %1 = stablehlo.constant dense<0.0> : tensor<f16>
    %r = "stablehlo.reduce_window"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.add %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {window_dimensions = array<i64: 6>, padding = dense<[[5, 0]]> : tensor<1x2xi64>} : (tensor<6xf16>, tensor<f16>) -> (tensor<6xf16>)
    return %r : tensor<6xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_window_maximum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.reduce_window"(%[[VARG0]], %[[VCST]]) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V1]] : tensor<f32>
// CHECK: }) : (tensor<3x6xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x3xf32>, tensor<f32>
func.func public @reduce_window_maximum(%0: tensor<3x6xf32>) -> (tensor<3x3xf32>) {
    %1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %r = "stablehlo.reduce_window"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.maximum %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>} : (tensor<3x6xf32>, tensor<f32>) -> (tensor<3x3xf32>)
    return %r : tensor<3x3xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_window_maximum_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0xFC00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.reduce_window"(%[[VARG0]], %[[VCST]]) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f16>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f16>
// CHECK: stablehlo.return %[[V1]] : tensor<f16>
// CHECK: }) : (tensor<3x6xf16>, tensor<f16>) -> tensor<3x3xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x3xf16>, tensor<f32>
func.func public @reduce_window_maximum_f16(%0: tensor<3x6xf16>) -> (tensor<3x3xf16>) {
    %1 = stablehlo.constant dense<0xFC00> : tensor<f16>
    %r = "stablehlo.reduce_window"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.maximum %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>} : (tensor<3x6xf16>, tensor<f16>) -> (tensor<3x3xf16>)
    return %r : tensor<3x3xf16>
}

// -----

// CHECK-LABEL: func.func public @reduce_window_multiply(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.reduce_window"(%[[VARG0]], %[[VCST_0]]) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V3]] : tensor<f32>
// CHECK: }) : (tensor<3x6xf32>, tensor<f32>) -> tensor<3x3xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x3xf32>, tensor<f32>
func.func public @reduce_window_multiply(%0: tensor<3x6xf32>) -> (tensor<3x3xf32>) {
    %1 = stablehlo.constant dense<1.0> : tensor<f32>
    %r = "stablehlo.reduce_window"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.multiply %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>} : (tensor<3x6xf32>, tensor<f32>) -> (tensor<3x3xf32>)
    return %r : tensor<3x3xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_window_multiply_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.reduce_window"(%[[VARG0]], %[[VCST_0]]) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f16>):
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[VARG3]] : tensor<f16>
// CHECK: stablehlo.return %[[V3]] : tensor<f16>
// CHECK: }) : (tensor<3x6xf16>, tensor<f16>) -> tensor<3x3xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x3xf16>, tensor<f32>
func.func public @reduce_window_multiply_f16(%0: tensor<3x6xf16>) -> (tensor<3x3xf16>) {
    %1 = stablehlo.constant dense<1.0> : tensor<f16>
    %r = "stablehlo.reduce_window"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.multiply %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>} : (tensor<3x6xf16>, tensor<f16>) -> (tensor<3x3xf16>)
    return %r : tensor<3x3xf16>
}

// -----

// CHECK-LABEL: func.func public @scatter_add(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<4x3xf32> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<5x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<5x3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG4]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG3]], %[[V3]] : tensor<4x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = "stablehlo.scatter"(%[[V2]], %[[VARG2]], %[[V4]]) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK: ^bb0(%[[VARG5:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG5]], %[[VARG6]] : tensor<f32>
// CHECK: stablehlo.return %[[V8]] : tensor<f32>
// CHECK: }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<5x3xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<5x3xf32>, tensor<f32>
func.func public @scatter_add(%0: tensor<5x3xf32>, %1: tensor<4x1xi32>, %2: tensor<4x3xf32>) -> (tensor<5x3xf32>) {
    %r = "stablehlo.scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> (tensor<5x3xf32>)
    return %r : tensor<5x3xf32>
}

// -----

// CHECK-LABEL: func.func public @scatter_add_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<4x3xf16> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<5x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<5x3xf16>) -> tensor<5x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<5x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<5x3xf32>) -> tensor<5x3xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG3]] : (tensor<4x3xf16>) -> tensor<4x3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG4]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<4x3xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<4x3xf32>) -> tensor<4x3xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = "stablehlo.scatter"(%[[V5]], %[[VARG2]], %[[V10]]) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK: ^bb0(%[[VARG5:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<f16>):
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG5]], %[[VARG6]] : tensor<f16>
// CHECK: stablehlo.return %[[V12]] : tensor<f16>
// CHECK: }) : (tensor<5x3xf16>, tensor<4x1xi32>, tensor<4x3xf16>) -> tensor<5x3xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<5x3xf16>, tensor<f32>
func.func public @scatter_add_f16(%0: tensor<5x3xf16>, %1: tensor<4x1xi32>, %2: tensor<4x3xf16>) -> (tensor<5x3xf16>) {
    %r = "stablehlo.scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.add %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x3xf16>, tensor<4x1xi32>, tensor<4x3xf16>) -> (tensor<5x3xf16>)
    return %r : tensor<5x3xf16>
}

// -----

// CHECK-LABEL: func.func public @scatter_add_to_zeros(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x1xi32>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<4x3xf32> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<5x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<5x3xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.scatter"(%[[VCST]], %[[VARG0]], %[[VARG1]]) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK: ^bb0(%[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG3]], %[[VARG4]] : tensor<f32>
// CHECK: stablehlo.return %[[V1]] : tensor<f32>
// CHECK: }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
// CHECK: return %[[V0]], %[[VARG2]] : tensor<5x3xf32>, tensor<f32>
func.func public @scatter_add_to_zeros(%1: tensor<4x1xi32>, %2: tensor<4x3xf32>) -> (tensor<5x3xf32>) {
    %0 = stablehlo.constant dense<0.0> : tensor<5x3xf32>
    %r = "stablehlo.scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> (tensor<5x3xf32>)
    return %r : tensor<5x3xf32>
}

// -----

// CHECK-LABEL: func.func public @scatter_add_to_zeros_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x1xi32>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<4x3xf16> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<5x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<5x3xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.scatter"(%[[VCST]], %[[VARG0]], %[[VARG1]]) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK: ^bb0(%[[VARG3:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f16>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG3]], %[[VARG4]] : tensor<f16>
// CHECK: stablehlo.return %[[V1]] : tensor<f16>
// CHECK: }) : (tensor<5x3xf16>, tensor<4x1xi32>, tensor<4x3xf16>) -> tensor<5x3xf16>
// CHECK: return %[[V0]], %[[VARG2]] : tensor<5x3xf16>, tensor<f32>
func.func public @scatter_add_to_zeros_f16(%1: tensor<4x1xi32>, %2: tensor<4x3xf16>) -> (tensor<5x3xf16>) {
    %0 = stablehlo.constant dense<0.0> : tensor<5x3xf16>
    %r = "stablehlo.scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.add %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x3xf16>, tensor<4x1xi32>, tensor<4x3xf16>) -> (tensor<5x3xf16>)
    return %r : tensor<5x3xf16>
}

// -----

// CHECK-LABEL: func.func public @scatter_maximum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<4x3xf32> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<5x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<5x3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG4]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG3]], %[[V3]] : tensor<4x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = "stablehlo.scatter"(%[[V2]], %[[VARG2]], %[[V4]]) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK: ^bb0(%[[VARG5:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG5]], %[[VARG6]] : tensor<f32>
// CHECK: stablehlo.return %[[V8]] : tensor<f32>
// CHECK: }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<5x3xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<5x3xf32>, tensor<f32>
func.func public @scatter_maximum(%0: tensor<5x3xf32>, %1: tensor<4x1xi32>, %2: tensor<4x3xf32>) -> (tensor<5x3xf32>) {
    %r = "stablehlo.scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.maximum %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> (tensor<5x3xf32>)
    return %r : tensor<5x3xf32>
}

// -----

// CHECK-LABEL: func.func public @scatter_maximum_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<4x3xf16> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<5x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<5x3xf16>) -> tensor<5x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<5x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<5x3xf32>) -> tensor<5x3xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG3]] : (tensor<4x3xf16>) -> tensor<4x3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG4]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<4x3xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<4x3xf32>) -> tensor<4x3xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = "stablehlo.scatter"(%[[V5]], %[[VARG2]], %[[V10]]) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK: ^bb0(%[[VARG5:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<f16>):
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG5]], %[[VARG6]] : tensor<f16>
// CHECK: stablehlo.return %[[V12]] : tensor<f16>
// CHECK: }) : (tensor<5x3xf16>, tensor<4x1xi32>, tensor<4x3xf16>) -> tensor<5x3xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<5x3xf16>, tensor<f32>
func.func public @scatter_maximum_f16(%0: tensor<5x3xf16>, %1: tensor<4x1xi32>, %2: tensor<4x3xf16>) -> (tensor<5x3xf16>) {
    %r = "stablehlo.scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.maximum %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x3xf16>, tensor<4x1xi32>, tensor<4x3xf16>) -> (tensor<5x3xf16>)
    return %r : tensor<5x3xf16>
}

// -----

// CHECK-LABEL: func.func public @scatter_multiply(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<4x3xf32> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<5x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<5x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG4]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG3]], %[[V2]] : tensor<4x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = "stablehlo.scatter"(%[[V1]], %[[VARG2]], %[[V3]]) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK: ^bb0(%[[VARG5:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG5]], %[[VARG6]] : tensor<f32>
// CHECK: stablehlo.return %[[V5]] : tensor<f32>
// CHECK: }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
// CHECK: return %[[V4]], %[[VCST]] : tensor<5x3xf32>, tensor<f32>
func.func public @scatter_multiply(%0: tensor<5x3xf32>, %1: tensor<4x1xi32>, %2: tensor<4x3xf32>) -> (tensor<5x3xf32>) {
    %r = "stablehlo.scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.multiply %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> (tensor<5x3xf32>)
    return %r : tensor<5x3xf32>
}

// -----

// CHECK-LABEL: func.func public @scatter_multiply_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<4x3xf16> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<5x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<5x3xf16>) -> tensor<5x3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[V3]] : tensor<5x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG3]] : (tensor<4x3xf16>) -> tensor<4x3xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG4]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V6]] : tensor<4x3xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = "stablehlo.scatter"(%[[V4]], %[[VARG2]], %[[V7]]) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK: ^bb0(%[[VARG5:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG5]], %[[VARG6]] : tensor<f32>
// CHECK: stablehlo.return %[[V12]] : tensor<f32>
// CHECK: }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.divide %[[V8]], %[[V9]] : tensor<5x3xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.convert %[[V10]] : (tensor<5x3xf32>) -> tensor<5x3xf16>
// CHECK: return %[[V11]], %[[V1]] : tensor<5x3xf16>, tensor<f32>
func.func public @scatter_multiply_f16(%0: tensor<5x3xf16>, %1: tensor<4x1xi32>, %2: tensor<4x3xf16>) -> (tensor<5x3xf16>) {
    %r = "stablehlo.scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.multiply %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x3xf16>, tensor<4x1xi32>, tensor<4x3xf16>) -> (tensor<5x3xf16>)
    return %r : tensor<5x3xf16>
}

// -----

// CHECK-LABEL: func.func public @scatter_update(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<4x3xf32> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<5x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<5x3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG4]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG3]], %[[V3]] : tensor<4x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = "stablehlo.scatter"(%[[V2]], %[[VARG2]], %[[V4]]) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK: ^bb0(%[[VARG5:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: stablehlo.return %[[VARG6]] : tensor<f32>
// CHECK: }) : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<5x3xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[V5]], %[[V6]] : tensor<5x3xf32>
// CHECK: return %[[V7]], %[[V0]] : tensor<5x3xf32>, tensor<f32>
func.func public @scatter_update(%0: tensor<5x3xf32>, %1: tensor<4x1xi32>, %2: tensor<4x3xf32>) -> (tensor<5x3xf32>) {
    %r = "stablehlo.scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): stablehlo.return %b : tensor<f32> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> (tensor<5x3xf32>)
    return %r : tensor<5x3xf32>
}

// -----

// CHECK-LABEL: func.func public @scatter_update_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<5x3xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<4x1xi32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<4x3xf16> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<5x3xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG1]], %[[VARG4]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<5x3xf16>) -> tensor<5x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<5x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<5x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<5x3xf32>) -> tensor<5x3xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG3]] : (tensor<4x3xf16>) -> tensor<4x3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG4]], %[[V0]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V7]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V6]], %[[V8]] : tensor<4x3xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.convert %[[V9]] : (tensor<4x3xf32>) -> tensor<4x3xf16>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = "stablehlo.scatter"(%[[V5]], %[[VARG2]], %[[V10]]) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
// CHECK: ^bb0(%[[VARG5:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<f16>):
// CHECK: stablehlo.return %[[VARG6]] : tensor<f16>
// CHECK: }) : (tensor<5x3xf16>, tensor<4x1xi32>, tensor<4x3xf16>) -> tensor<5x3xf16>
// CHECK: return %[[V11]], %[[V0]] : tensor<5x3xf16>, tensor<f32>
func.func public @scatter_update_f16(%0: tensor<5x3xf16>, %1: tensor<4x1xi32>, %2: tensor<4x3xf16>) -> (tensor<5x3xf16>) {
    %r = "stablehlo.scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): stablehlo.return %b : tensor<f16> }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<5x3xf16>, tensor<4x1xi32>, tensor<4x3xf16>) -> (tensor<5x3xf16>)
    return %r : tensor<5x3xf16>
}

// -----

// CHECK-LABEL: func.func public @select_and_scatter(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x3xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x6xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.select_and_scatter"(%[[VARG0]], %[[VARG2]], %[[VCST]]) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
// CHECK: ^bb0(%[[VARG4:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.compare GE, %[[VARG4]], %[[VARG5]] : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V1]] : tensor<i1>
// CHECK: }, {
// CHECK: ^bb0(%[[VARG4]]: tensor<f32>, %[[VARG5]]: tensor<f32>):
// CHECK: %[[V1]] = stablehlo.add %[[VARG4]], %[[VARG5]] : tensor<f32>
// CHECK: stablehlo.return %[[V1]] : tensor<f32>
// CHECK: }) : (tensor<3x6xf32>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x6xf32>
// CHECK: return %[[V0]], %[[VARG3]] : tensor<3x6xf32>, tensor<f32>
func.func public @select_and_scatter(%0: tensor<3x6xf32>, %1: tensor<3x3xf32>) -> (tensor<3x6xf32>) {
    %2 = stablehlo.constant dense<0.0> : tensor<f32>
    %r = "stablehlo.select_and_scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %c : tensor<i1> }, { ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>} : (tensor<3x6xf32>, tensor<3x3xf32>, tensor<f32>) -> (tensor<3x6xf32>)
    return %r : tensor<3x6xf32>
}

// -----

// CHECK-LABEL: func.func public @select_and_scatter_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x3xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x6xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.select_and_scatter"(%[[VARG0]], %[[VARG2]], %[[VCST]]) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
// CHECK: ^bb0(%[[VARG4:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f16>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.compare GE, %[[VARG4]], %[[VARG5]] : (tensor<f16>, tensor<f16>) -> tensor<i1>
// CHECK: stablehlo.return %[[V1]] : tensor<i1>
// CHECK: }, {
// CHECK: ^bb0(%[[VARG4]]: tensor<f16>, %[[VARG5]]: tensor<f16>):
// CHECK: %[[V1]] = stablehlo.add %[[VARG4]], %[[VARG5]] : tensor<f16>
// CHECK: stablehlo.return %[[V1]] : tensor<f16>
// CHECK: }) : (tensor<3x6xf16>, tensor<3x3xf16>, tensor<f16>) -> tensor<3x6xf16>
// CHECK: return %[[V0]], %[[VARG3]] : tensor<3x6xf16>, tensor<f32>
func.func public @select_and_scatter_f16(%0: tensor<3x6xf16>, %1: tensor<3x3xf16>) -> (tensor<3x6xf16>) {
    %2 = stablehlo.constant dense<0.0> : tensor<f16>
    %r = "stablehlo.select_and_scatter"(%0, %1, %2) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.compare GE, %a, %b : (tensor<f16>, tensor<f16>) -> tensor<i1> stablehlo.return %c : tensor<i1> }, { ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.add %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>} : (tensor<3x6xf16>, tensor<3x3xf16>, tensor<f16>) -> (tensor<3x6xf16>)
    return %r : tensor<3x6xf16>
}

// -----

// CHECK-LABEL: func.func public @sort(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x6xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.sort"(%[[VARG0]]) <{dimension = 1 : i64, is_stable = true}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[VARG2]], %[[VARG3]] : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V1]] : tensor<i1>
// CHECK: }) : (tensor<3x6xf32>) -> tensor<3x6xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x6xf32>, tensor<f32>
func.func public @sort(%0: tensor<3x6xf32>) -> (tensor<3x6xf32>) {
    %r = "stablehlo.sort"(%0) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1> stablehlo.return %c : tensor<i1> }) {dimension = 1 : i64, is_stable = true} : (tensor<3x6xf32>) -> (tensor<3x6xf32>)
    return %r : tensor<3x6xf32>
}

// -----

// CHECK-LABEL: func.func public @sort_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x6xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.sort"(%[[VARG0]]) <{dimension = 1 : i64, is_stable = true}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f16>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.compare GT, %[[VARG2]], %[[VARG3]] : (tensor<f16>, tensor<f16>) -> tensor<i1>
// CHECK: stablehlo.return %[[V1]] : tensor<i1>
// CHECK: }) : (tensor<3x6xf16>) -> tensor<3x6xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x6xf16>, tensor<f32>
func.func public @sort_f16(%0: tensor<3x6xf16>) -> (tensor<3x6xf16>) {
    %r = "stablehlo.sort"(%0) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.compare GT, %a, %b : (tensor<f16>, tensor<f16>) -> tensor<i1> stablehlo.return %c : tensor<i1> }) {dimension = 1 : i64, is_stable = true} : (tensor<3x6xf16>) -> (tensor<3x6xf16>)
    return %r : tensor<3x6xf16>
}

// -----

// CHECK-LABEL: func.func public @sort_by_magnitude(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x6xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x6xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x6xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = "stablehlo.sort"(%[[V1]]) <{dimension = 1 : i64, is_stable = true}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.sine %[[VARG2]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.sine %[[VARG3]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[V3]], %[[V4]] : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V5]] : tensor<i1>
// CHECK: }) : (tensor<3x6xf32>) -> tensor<3x6xf32>
// CHECK: return %[[V2]], %[[VCST]] : tensor<3x6xf32>, tensor<f32>
func.func public @sort_by_magnitude(%0: tensor<3x6xf32>) -> (tensor<3x6xf32>) {
    %r = "stablehlo.sort"(%0) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.sine %a : tensor<f32>
      %t = stablehlo.sine %b : tensor<f32>
      %c = stablehlo.compare LT, %s, %t : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }) {dimension = 1 : i64, is_stable = true} : (tensor<3x6xf32>) -> (tensor<3x6xf32>)
    return %r : tensor<3x6xf32>
}

// -----

// CHECK-LABEL: func.func public @sort_by_magnitude_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x6xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x6xf16>) -> tensor<3x6xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x6xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V1]] : tensor<3x6xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = "stablehlo.sort"(%[[V2]]) <{dimension = 1 : i64, is_stable = true}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.sine %[[VARG2]] : tensor<f32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.sine %[[VARG3]] : tensor<f32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[V6]], %[[V7]] : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V8]] : tensor<i1>
// CHECK: }) : (tensor<3x6xf32>) -> tensor<3x6xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[V3]], %[[V1]] : tensor<3x6xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x6xf32>) -> tensor<3x6xf16>
// CHECK: return %[[V5]], %[[VARG1]] : tensor<3x6xf16>, tensor<f32>
func.func public @sort_by_magnitude_f16(%0: tensor<3x6xf16>) -> (tensor<3x6xf16>) {
    %r = "stablehlo.sort"(%0) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>):
      %s = stablehlo.sine %a : tensor<f16>
      %t = stablehlo.sine %b : tensor<f16>
      %c = stablehlo.compare LT, %s, %t : (tensor<f16>, tensor<f16>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }) {dimension = 1 : i64, is_stable = true} : (tensor<3x6xf16>) -> (tensor<3x6xf16>)
    return %r : tensor<3x6xf16>
}

// -----

// CHECK-LABEL: func.func public @sort_with_a_payload(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x6xi32>) -> (tensor<3x6xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x6xi32>) {
// CHECK: %[[V0:[A-Za-z_0-9]+]]:2 = "stablehlo.sort"(%[[VARG0]], %[[VARG2]]) <{dimension = 1 : i64, is_stable = true}> ({
// CHECK: ^bb0(%[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG5:[A-Za-z_0-9]+]]: tensor<i32>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<i32>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VARG3]], %[[VARG4]], TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V1]] : tensor<i1>
// CHECK: }) : (tensor<3x6xf32>, tensor<3x6xi32>) -> (tensor<3x6xf32>, tensor<3x6xi32>)
// CHECK: return %[[V0]]#0, %[[VARG1]], %[[V0]]#1 : tensor<3x6xf32>, tensor<f32>, tensor<3x6xi32>
func.func public @sort_with_a_payload(%0: tensor<3x6xf32>, %1: tensor<3x6xi32>) -> (tensor<3x6xf32>, tensor<3x6xi32>) {
    %r:2 = "stablehlo.sort"(%0, %1) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
      %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }) {dimension = 1 : i64, is_stable = true} : (tensor<3x6xf32>, tensor<3x6xi32>) -> (tensor<3x6xf32>, tensor<3x6xi32>)
    return %r#0, %r#1 : tensor<3x6xf32>, tensor<3x6xi32>
}

// -----

// CHECK-LABEL: func.func public @sort_with_a_payload_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x6xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x6xi32>) -> (tensor<3x6xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x6xi32>) {
// CHECK: %[[V0:[A-Za-z_0-9]+]]:2 = "stablehlo.sort"(%[[VARG0]], %[[VARG2]]) <{dimension = 1 : i64, is_stable = true}> ({
// CHECK: ^bb0(%[[VARG3:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f16>, %[[VARG5:[A-Za-z_0-9]+]]: tensor<i32>, %[[VARG6:[A-Za-z_0-9]+]]: tensor<i32>):
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VARG3]], %[[VARG4]], TOTALORDER : (tensor<f16>, tensor<f16>) -> tensor<i1>
// CHECK: stablehlo.return %[[V1]] : tensor<i1>
// CHECK: }) : (tensor<3x6xf16>, tensor<3x6xi32>) -> (tensor<3x6xf16>, tensor<3x6xi32>)
// CHECK: return %[[V0]]#0, %[[VARG1]], %[[V0]]#1 : tensor<3x6xf16>, tensor<f32>, tensor<3x6xi32>
func.func public @sort_with_a_payload_f16(%0: tensor<3x6xf16>, %1: tensor<3x6xi32>) -> (tensor<3x6xf16>, tensor<3x6xi32>) {
    %r:2 = "stablehlo.sort"(%0, %1) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>, %i: tensor<i32>, %j: tensor<i32>):
      %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f16>, tensor<f16>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }) {dimension = 1 : i64, is_stable = true} : (tensor<3x6xf16>, tensor<3x6xi32>) -> (tensor<3x6xf16>, tensor<3x6xi32>)
    return %r#0, %r#1 : tensor<3x6xf16>, tensor<3x6xi32>
}
