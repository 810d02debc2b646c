// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @all_gather(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V5]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = "stablehlo.all_gather"(%[[V3]]) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V4]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @all_gather(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.all_gather"(%0) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @all_gather_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V7]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = "stablehlo.all_gather"(%[[V5]]) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: return %[[V6]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @all_gather_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.all_gather"(%0) {all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @all_reduce(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V5]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[V3]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2]]: tensor<f32>, %[[VARG3]]: tensor<f32>):
// CHECK: %[[V5]] = stablehlo.add %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V5]] : tensor<f32>
// CHECK: }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V4]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @all_reduce(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.all_reduce"(%0) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @all_reduce_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V7]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[V5]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2]]: tensor<f16>, %[[VARG3]]: tensor<f16>):
// CHECK: %[[V7]] = stablehlo.add %[[VARG2]], %[[VARG3]] : tensor<f16>
// CHECK: stablehlo.return %[[V7]] : tensor<f16>
// CHECK: }) : (tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: return %[[V6]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @all_reduce_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.all_reduce"(%0) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.add %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @all_reduce_maximum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V5]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[V3]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2]]: tensor<f32>, %[[VARG3]]: tensor<f32>):
// CHECK: %[[V5]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V5]] : tensor<f32>
// CHECK: }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V4]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @all_reduce_maximum(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.all_reduce"(%0) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.maximum %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @all_reduce_maximum_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V7]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[V5]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2]]: tensor<f16>, %[[VARG3]]: tensor<f16>):
// CHECK: %[[V7]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f16>
// CHECK: stablehlo.return %[[V7]] : tensor<f16>
// CHECK: }) : (tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: return %[[V6]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @all_reduce_maximum_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.all_reduce"(%0) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.maximum %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @all_to_all(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V5]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = "stablehlo.all_to_all"(%[[V3]]) <{concat_dimension = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = 0 : i64}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V4]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @all_to_all(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.all_to_all"(%0) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @all_to_all_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V7]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = "stablehlo.all_to_all"(%[[V5]]) <{concat_dimension = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = 0 : i64}> : (tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: return %[[V6]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @all_to_all_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.all_to_all"(%0) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 1 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @collective_broadcast(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.collective_broadcast"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = "stablehlo.collective_broadcast"(%[[VARG0]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<3x4xf32>, tensor<f32>
func.func public @collective_broadcast(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.collective_broadcast"(%0) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @collective_broadcast_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.collective_broadcast"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = "stablehlo.collective_broadcast"(%[[VARG0]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
func.func public @collective_broadcast_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.collective_broadcast"(%0) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @collective_permute(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.collective_permute"(%[[VARG1]]) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = "stablehlo.collective_permute"(%[[VARG0]]) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<3x4xf32>, tensor<f32>
func.func public @collective_permute(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.collective_permute"(%0) {source_target_pairs = dense<0> : tensor<1x2xi64>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @collective_permute_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.collective_permute"(%[[VARG1]]) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = "stablehlo.collective_permute"(%[[VARG0]]) <{source_target_pairs = dense<0> : tensor<1x2xi64>}> : (tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
func.func public @collective_permute_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.collective_permute"(%0) {source_target_pairs = dense<0> : tensor<1x2xi64>} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @cross_replica_sum(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V5]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = "stablehlo.cross-replica-sum"(%[[V3]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V4]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @cross_replica_sum(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.cross-replica-sum"(%0) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @cross_replica_sum_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V7]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = "stablehlo.cross-replica-sum"(%[[V5]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> : (tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: return %[[V6]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @cross_replica_sum_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.cross-replica-sum"(%0) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @outfeed(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: !stablehlo.token) -> !stablehlo.token {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = "stablehlo.outfeed"(%[[V1]], %[[VARG2]]) <{outfeed_config = ""}> : (tensor<3x4xf32>, !stablehlo.token) -> !stablehlo.token
// CHECK: return %[[V2]] : !stablehlo.token
func.func public @outfeed(%0: tensor<3x4xf32>, %1: !stablehlo.token) -> (!stablehlo.token) {
    %r = "stablehlo.outfeed"(%0, %1) : (tensor<3x4xf32>, !stablehlo.token) -> (!stablehlo.token)
    return %r : !stablehlo.token
}

// -----

// CHECK-LABEL: func.func public @outfeed_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: !stablehlo.token) -> !stablehlo.token {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.convert %[[V2]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = "stablehlo.outfeed"(%[[V3]], %[[VARG2]]) <{outfeed_config = ""}> : (tensor<3x4xf16>, !stablehlo.token) -> !stablehlo.token
// CHECK: return %[[V4]] : !stablehlo.token
func.func public @outfeed_f16(%0: tensor<3x4xf16>, %1: !stablehlo.token) -> (!stablehlo.token) {
    %r = "stablehlo.outfeed"(%0, %1) : (tensor<3x4xf16>, !stablehlo.token) -> (!stablehlo.token)
    return %r : !stablehlo.token
}

// -----

// CHECK-LABEL: func.func public @reduce_scatter(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V5]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V2]] : tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = "stablehlo.reduce_scatter"(%[[V3]]) <{replica_groups = dense<0> : tensor<1x1xi64>, scatter_dimension = 0 : i64}> ({
// CHECK: ^bb0(%[[VARG2]]: tensor<f32>, %[[VARG3]]: tensor<f32>):
// CHECK: %[[V5]] = stablehlo.add %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V5]] : tensor<f32>
// CHECK: }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: return %[[V4]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
func.func public @reduce_scatter(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "stablehlo.reduce_scatter"(%0) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>): %c = stablehlo.add %a, %b : tensor<f32> stablehlo.return %c : tensor<f32> }) {scatter_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @reduce_scatter_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.all_reduce"(%[[VARG1]]) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
// CHECK: ^bb0(%[[VARG2:[A-Za-z_0-9]+]]: tensor<f32>, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32>):
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG2]], %[[VARG3]] : tensor<f32>
// CHECK: stablehlo.return %[[V7]] : tensor<f32>
// CHECK: }) : (tensor<f32>) -> tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V1]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[V4]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = "stablehlo.reduce_scatter"(%[[V5]]) <{replica_groups = dense<0> : tensor<1x1xi64>, scatter_dimension = 0 : i64}> ({
// CHECK: ^bb0(%[[VARG2]]: tensor<f16>, %[[VARG3]]: tensor<f16>):
// CHECK: %[[V7]] = stablehlo.add %[[VARG2]], %[[VARG3]] : tensor<f16>
// CHECK: stablehlo.return %[[V7]] : tensor<f16>
// CHECK: }) : (tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: return %[[V6]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
func.func public @reduce_scatter_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "stablehlo.reduce_scatter"(%0) ({ ^bb0(%a: tensor<f16>, %b: tensor<f16>): %c = stablehlo.add %a, %b : tensor<f16> stablehlo.return %c : tensor<f16> }) {scatter_dimension = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @sdy_propagation_barrier(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = sdy.propagation_barrier %[[VARG0]] allowed_direction=NONE : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @sdy_propagation_barrier(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "sdy.propagation_barrier"(%0) {allowed_direction = 0 : i32} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @sdy_propagation_barrier_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = sdy.propagation_barrier %[[VARG0]] allowed_direction=NONE : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
func.func public @sdy_propagation_barrier_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "sdy.propagation_barrier"(%0) {allowed_direction = 0 : i32} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @sdy_reshard(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = sdy.reshard %[[VARG0]] <@mesh, [{}, {}]> : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
// CHECK: sdy.mesh @mesh = <[]>
func.func public @sdy_reshard(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "sdy.reshard"(%0) {sharding = #sdy.sharding<@mesh, [{}, {}]>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}
sdy.mesh @mesh = <[]>

// -----

// CHECK-LABEL: func.func public @sdy_reshard_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = sdy.reshard %[[VARG0]] <@mesh, [{}, {}]> : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
// CHECK: sdy.mesh @mesh = <[]>
func.func public @sdy_reshard_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "sdy.reshard"(%0) {sharding = #sdy.sharding<@mesh, [{}, {}]>} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}
sdy.mesh @mesh = <[]>

// -----

// CHECK-LABEL: func.func public @sdy_sharding_constraint(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = sdy.sharding_constraint %[[VARG0]] <@mesh, [{}, {}]> : tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
// CHECK: sdy.mesh @mesh = <[]>
func.func public @sdy_sharding_constraint(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %r = "sdy.sharding_constraint"(%0) {sharding = #sdy.sharding<@mesh, [{}, {}]>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>)
    return %r : tensor<3x4xf32>
}
sdy.mesh @mesh = <[]>

// -----

// CHECK-LABEL: func.func public @sdy_sharding_constraint_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = sdy.sharding_constraint %[[VARG0]] <@mesh, [{}, {}]> : tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
// CHECK: sdy.mesh @mesh = <[]>
func.func public @sdy_sharding_constraint_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %r = "sdy.sharding_constraint"(%0) {sharding = #sdy.sharding<@mesh, [{}, {}]>} : (tensor<3x4xf16>) -> (tensor<3x4xf16>)
    return %r : tensor<3x4xf16>
}
sdy.mesh @mesh = <[]>

// -----

// CHECK-LABEL: func.func public @sdy_sharding_group(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: sdy.sharding_group %[[VARG0]] group_id=1 : tensor<3x4xf32>
// CHECK: return %[[VARG0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
func.func public @sdy_sharding_group(%0: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
sdy.sharding_group %0 group_id = 1 : tensor<3x4xf32> return %0 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @sdy_sharding_group_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: sdy.sharding_group %[[VARG0]] group_id=1 : tensor<3x4xf16>
// CHECK: return %[[VARG0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
func.func public @sdy_sharding_group_f16(%0: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
sdy.sharding_group %0 group_id = 1 : tensor<3x4xf16> return %0 : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @send(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: !stablehlo.token) -> !stablehlo.token {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = "stablehlo.send"(%[[V1]], %[[VARG2]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<3x4xf32>, !stablehlo.token) -> !stablehlo.token
// CHECK: return %[[V2]] : !stablehlo.token
func.func public @send(%0: tensor<3x4xf32>, %1: !stablehlo.token) -> (!stablehlo.token) {
    %r = "stablehlo.send"(%0, %1) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<3x4xf32>, !stablehlo.token) -> (!stablehlo.token)
    return %r : !stablehlo.token
}

// -----

// CHECK-LABEL: func.func public @send_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: !stablehlo.token) -> !stablehlo.token {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V1]] : tensor<3x4xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.convert %[[V2]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = "stablehlo.send"(%[[V3]], %[[VARG2]]) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<3x4xf16>, !stablehlo.token) -> !stablehlo.token
// CHECK: return %[[V4]] : !stablehlo.token
func.func public @send_f16(%0: tensor<3x4xf16>, %1: !stablehlo.token) -> (!stablehlo.token) {
    %r = "stablehlo.send"(%0, %1) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<3x4xf16>, !stablehlo.token) -> (!stablehlo.token)
    return %r : !stablehlo.token
}
