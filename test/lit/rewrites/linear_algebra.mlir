// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @batch_norm_grad(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG6:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG7:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG8:[A-Za-z_0-9]+]]: tensor<4x3xf32> {scalify.role = "data"}, %[[VARG9:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<4x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<2.000000e+00> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<4x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V2]] : tensor<3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG5]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG4]], %[[V4]] : tensor<3xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG7]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG6]], %[[V6]] : tensor<3xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG9]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG8]], %[[V8]] : tensor<4x3xf32>
// CHECK: %[[VGRAD_OPERAND:[A-Za-z_0-9]+]], %[[VGRAD_SCALE:[A-Za-z_0-9]+]], %[[VGRAD_OFFSET:[A-Za-z_0-9]+]] = "stablehlo.batch_norm_grad"(%[[V1]], %[[V3]], %[[V5]], %[[V7]], %[[V9]]) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG3]], %[[VARG9]] : tensor<f32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V10]], %[[VCST_0]] : tensor<f32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V11]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.divide %[[VGRAD_OPERAND]], %[[V12]] : tensor<4x3xf32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG9]], %[[VCST]] : tensor<f32>
// CHECK: %[[V15:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V14]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V16:[A-Za-z_0-9]+]] = stablehlo.divide %[[VGRAD_SCALE]], %[[V15]] : tensor<3xf32>
// CHECK: %[[V17:[A-Za-z_0-9]+]] = stablehlo.divide %[[VGRAD_OFFSET]], %[[V15]] : tensor<3xf32>
// CHECK: return %[[V13]], %[[V11]], %[[V16]], %[[V14]], %[[V17]], %[[V14]] : tensor<4x3xf32>, tensor<f32>, tensor<3xf32>, tensor<f32>, tensor<3xf32>, tensor<f32>
func.func public @batch_norm_grad(%0: tensor<4x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %r:3 = "stablehlo.batch_norm_grad"(%0, %1, %2, %3, %4) {epsilon = 1.0E-3 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    return %r#0, %r#1, %r#2 : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @batch_norm_inference(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG6:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG7:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG8:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG9:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<4x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG3]], %[[VARG5]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<4x3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V3]] : tensor<3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG5]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG4]], %[[V5]] : tensor<3xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG7]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG6]], %[[V7]] : tensor<3xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG9]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG8]], %[[V9]] : tensor<3xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = "stablehlo.batch_norm_inference"(%[[V2]], %[[V4]], %[[V6]], %[[V8]], %[[V10]]) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.divide %[[V11]], %[[V12]] : tensor<4x3xf32>
// CHECK: return %[[V13]], %[[V0]] : tensor<4x3xf32>, tensor<f32>
func.func public @batch_norm_inference(%0: tensor<4x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>, %3: tensor<3xf32>, %4: tensor<3xf32>) -> (tensor<4x3xf32>) {
    %r = "stablehlo.batch_norm_inference"(%0, %1, %2, %3, %4) {epsilon = 1.0E-3 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>)
    return %r : tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func public @batch_norm_training(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<4x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<3xf32> {scalify.role = "data"}, %[[VARG5:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<4x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG3]], %[[VARG5]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V1]] : tensor<4x3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG2]], %[[V3]] : tensor<3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG5]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG4]], %[[V5]] : tensor<3xf32>
// CHECK: %[[VOUTPUT:[A-Za-z_0-9]+]], %[[VBATCH_MEAN:[A-Za-z_0-9]+]], %[[VBATCH_VAR:[A-Za-z_0-9]+]] = "stablehlo.batch_norm_training"(%[[V2]], %[[V4]], %[[V6]]) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<4x3xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[VOUTPUT]], %[[V7]] : tensor<4x3xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.divide %[[VBATCH_MEAN]], %[[V9]] : tensor<3xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V11]], %[[VCST]] : tensor<f32>
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V12]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.divide %[[VBATCH_VAR]], %[[V13]] : tensor<3xf32>
// CHECK: return %[[V8]], %[[V0]], %[[V10]], %[[VARG1]], %[[V14]], %[[V12]] : tensor<4x3xf32>, tensor<f32>, tensor<3xf32>, tensor<f32>, tensor<3xf32>, tensor<f32>
func.func public @batch_norm_training(%0: tensor<4x3xf32>, %1: tensor<3xf32>, %2: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %r:3 = "stablehlo.batch_norm_training"(%0, %1, %2) {epsilon = 1.0E-3 : f32, feature_index = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>)
    return %r#0, %r#1, %r#2 : tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func public @cholesky(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x3xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.dot_general %[[VARG0]], %[[VARG0]], contracting_dims = [1] x [1] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<{{\[\[}}1.000000e+00, 0.000000e+00, 0.000000e+00], [0.000000e+00, 1.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 1.000000e+00{{\]\]}}> : tensor<3x3xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x3xf32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[V2]] : tensor<3x3xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.add %[[V3]], %[[VCST_0]] : tensor<3x3xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.cholesky %[[V4]], lower = true : tensor<3x3xf32>
// CHECK: return %[[V5]], %[[VCST]] : tensor<3x3xf32>, tensor<f32>
func.func public @cholesky(%0: tensor<3x3xf32>) -> (tensor<3x3xf32>) {

    %x = stablehlo.dot_general %0, %0, contracting_dims = [1] x [1] : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %i = stablehlo.constant dense<[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]> : tensor<3x3xf32>
    %y = stablehlo.add %x, %i : tensor<3x3xf32>
    %r = "stablehlo.cholesky"(%y) {lower = true} : (tensor<3x3xf32>) -> tensor<3x3xf32>
    return %r : tensor<3x3xf32>
}

// -----

// CHECK-LABEL: func.func public @triangular_solve(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x2xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.triangular_solve"(%[[VARG0]], %[[VARG2]]) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x2xf32>, tensor<f32>
func.func public @triangular_solve(%0: tensor<3x3xf32>, %1: tensor<3x2xf32>) -> (tensor<3x2xf32>) {
    %r = "stablehlo.triangular_solve"(%0, %1) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x2xf32>) -> (tensor<3x2xf32>)
    return %r : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: func.func public @triangular_solve_of_a_unit_diagonal(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x3xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x2xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x2xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x3xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V0]] : tensor<3x3xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = "stablehlo.triangular_solve"(%[[V1]], %[[VARG2]]) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK: return %[[V2]], %[[VARG3]] : tensor<3x2xf32>, tensor<f32>
func.func public @triangular_solve_of_a_unit_diagonal(%0: tensor<3x3xf32>, %1: tensor<3x2xf32>) -> (tensor<3x2xf32>) {
    %r = "stablehlo.triangular_solve"(%0, %1) {left_side = true, lower = true, unit_diagonal = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x2xf32>) -> (tensor<3x2xf32>)
    return %r : tensor<3x2xf32>
}
