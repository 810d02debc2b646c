// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @while_accumulating(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<7.70371977E-34> : tensor<f32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[VC_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VARG1]], %[[VCST]] : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.select %[[V0]], %[[VARG3]], %[[VARG1]] : tensor<i1>, tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V1]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V2]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]]:3 = stablehlo.while(%[[VITERARG:[A-Za-z_0-9]+]] = %[[VC]], %[[VITERARG_2:[A-Za-z_0-9]+]] = %[[V4]], %[[VITERARG_3:[A-Za-z_0-9]+]] = %[[VARG2]]) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
// CHECK: cond {
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VITERARG]], %[[VC_1]] : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V6]] : tensor<i1>
// CHECK: } do {
// CHECK: %[[V6]] = stablehlo.add %[[VITERARG]], %[[VC_0]] : tensor<i32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VITERARG_2]], %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG3]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VITERARG_3]], %[[V9]] : tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.add %[[V8]], %[[V10]] : tensor<3x4xf32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.divide %[[V11]], %[[V7]] : tensor<3x4xf32>
// CHECK: stablehlo.return %[[V6]], %[[V12]], %[[VITERARG_3]] : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
// CHECK: return %[[V5]]#1, %[[V1]], %[[V5]]#2, %[[VARG3]] : tensor<3x4xf32>, tensor<f32>, tensor<3x4xf32>, tensor<f32>
func.func public @while_accumulating(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {

    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %a = %0, %b = %1) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
    cond {
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %c = stablehlo.add %a, %b : tensor<3x4xf32>
      stablehlo.return %next, %c, %b : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
    }
    return %r#1, %r#2 : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @while_accumulating_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<3.906250e-03> : tensor<f32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[VC_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG3]], %[[VCST]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VARG1]], %[[V0]] : (tensor<f32>, tensor<f32>) -> tensor<i1>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.select %[[V1]], %[[VARG3]], %[[VARG1]] : tensor<i1>, tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.convert %[[VARG0]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V2]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V4]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V3]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.convert %[[V6]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VARG3]], %[[V2]] : tensor<f32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.divide %[[V2]], %[[V8]] : tensor<f32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG3]], %[[V8]] : tensor<f32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.divide %[[V8]], %[[V2]] : tensor<f32>
// CHECK: %[[V12:[A-Za-z_0-9]+]]:3 = stablehlo.while(%[[VITERARG:[A-Za-z_0-9]+]] = %[[VC]], %[[VITERARG_2:[A-Za-z_0-9]+]] = %[[V7]], %[[VITERARG_3:[A-Za-z_0-9]+]] = %[[VARG2]]) : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
// CHECK: cond {
// CHECK: %[[V13:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VITERARG]], %[[VC_1]] : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V13]] : tensor<i1>
// CHECK: } do {
// CHECK: %[[V13]] = stablehlo.add %[[VITERARG]], %[[VC_0]] : tensor<i32>
// CHECK: %[[V14:[A-Za-z_0-9]+]] = stablehlo.convert %[[VITERARG_2]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V15:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V9]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V16:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V14]], %[[V15]] : tensor<3x4xf32>
// CHECK: %[[V17:[A-Za-z_0-9]+]] = stablehlo.convert %[[V16]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V18:[A-Za-z_0-9]+]] = stablehlo.convert %[[VITERARG_3]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V19:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V10]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V20:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V18]], %[[V19]] : tensor<3x4xf32>
// CHECK: %[[V21:[A-Za-z_0-9]+]] = stablehlo.convert %[[V20]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V22:[A-Za-z_0-9]+]] = stablehlo.add %[[V17]], %[[V21]] : tensor<3x4xf16>
// CHECK: %[[V23:[A-Za-z_0-9]+]] = stablehlo.convert %[[V22]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V24:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V11]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V25:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V23]], %[[V24]] : tensor<3x4xf32>
// CHECK: %[[V26:[A-Za-z_0-9]+]] = stablehlo.convert %[[V25]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: stablehlo.return %[[V13]], %[[V26]], %[[VITERARG_3]] : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
// CHECK: return %[[V12]]#1, %[[V2]], %[[V12]]#2, %[[VARG3]] : tensor<3x4xf16>, tensor<f32>, tensor<3x4xf16>, tensor<f32>
func.func public @while_accumulating_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>, tensor<3x4xf16>) {

    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %a = %0, %b = %1) : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
    cond {
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %c = stablehlo.add %a, %b : tensor<3x4xf16>
      stablehlo.return %next, %c, %b : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
    }
    return %r#1, %r#2 : tensor<3x4xf16>, tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @while_exchanging(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[VC_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:5 = stablehlo.while(%[[VITERARG:[A-Za-z_0-9]+]] = %[[VC]], %[[VITERARG_2:[A-Za-z_0-9]+]] = %[[VARG0]], %[[VITERARG_3:[A-Za-z_0-9]+]] = %[[VARG2]], %[[VITERARG_4:[A-Za-z_0-9]+]] = %[[VARG1]], %[[VITERARG_5:[A-Za-z_0-9]+]] = %[[VARG3]]) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32> attributes {scalify.carried = dense<[-1, -1, -1, 1, 2]> : tensor<5xi64>}
// CHECK: cond {
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VITERARG]], %[[VC_1]] : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V3]] : tensor<i1>
// CHECK: } do {
// CHECK: %[[V3]] = stablehlo.add %[[VITERARG]], %[[VC_0]] : tensor<i32>
// CHECK: stablehlo.return %[[V3]], %[[VITERARG_3]], %[[VITERARG_2]], %[[VITERARG_5]], %[[VITERARG_4]] : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#3, %[[VCST]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#4, %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]]#1, %[[V1]], %[[V0]]#2, %[[V2]] : tensor<3x4xf32>, tensor<f32>, tensor<3x4xf32>, tensor<f32>
func.func public @while_exchanging(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {

    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %a = %0, %b = %1) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
    cond {
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      
      stablehlo.return %next, %b, %a : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
    }
    return %r#1, %r#2 : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @while_exchanging_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[VC_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:5 = stablehlo.while(%[[VITERARG:[A-Za-z_0-9]+]] = %[[VC]], %[[VITERARG_2:[A-Za-z_0-9]+]] = %[[VARG0]], %[[VITERARG_3:[A-Za-z_0-9]+]] = %[[VARG2]], %[[VITERARG_4:[A-Za-z_0-9]+]] = %[[VARG1]], %[[VITERARG_5:[A-Za-z_0-9]+]] = %[[VARG3]]) : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>, tensor<f32>, tensor<f32> attributes {scalify.carried = dense<[-1, -1, -1, 1, 2]> : tensor<5xi64>}
// CHECK: cond {
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VITERARG]], %[[VC_1]] : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V3]] : tensor<i1>
// CHECK: } do {
// CHECK: %[[V3]] = stablehlo.add %[[VITERARG]], %[[VC_0]] : tensor<i32>
// CHECK: stablehlo.return %[[V3]], %[[VITERARG_3]], %[[VITERARG_2]], %[[VITERARG_5]], %[[VITERARG_4]] : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>, tensor<f32>, tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#3, %[[VCST]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#4, %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]]#1, %[[V1]], %[[V0]]#2, %[[V2]] : tensor<3x4xf16>, tensor<f32>, tensor<3x4xf16>, tensor<f32>
func.func public @while_exchanging_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>, tensor<3x4xf16>) {

    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %a = %0, %b = %1) : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
    cond {
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      
      stablehlo.return %next, %b, %a : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
    }
    return %r#1, %r#2 : tensor<3x4xf16>, tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @while_from_zeros(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<9.09494702E-13> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[VC_2:[A-Za-z_0-9]+]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]]:3 = stablehlo.while(%[[VITERARG:[A-Za-z_0-9]+]] = %[[VC]], %[[VITERARG_3:[A-Za-z_0-9]+]] = %[[VCST_0]], %[[VITERARG_4:[A-Za-z_0-9]+]] = %[[VARG0]]) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
// CHECK: cond {
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VITERARG]], %[[VC_2]] : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V2]] : tensor<i1>
// CHECK: } do {
// CHECK: %[[V2]] = stablehlo.add %[[VITERARG]], %[[VC_1]] : tensor<i32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V0]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VITERARG_3]], %[[V3]] : tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VARG1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VITERARG_4]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.add %[[V4]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.divide %[[V7]], %[[V3]] : tensor<3x4xf32>
// CHECK: stablehlo.return %[[V2]], %[[V8]], %[[VITERARG_4]] : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
// CHECK: return %[[V1]]#1, %[[V0]], %[[V1]]#2, %[[VARG1]] : tensor<3x4xf32>, tensor<f32>, tensor<3x4xf32>, tensor<f32>
func.func public @while_from_zeros(%1: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
    %0 = stablehlo.constant dense<0.0> : tensor<3x4xf32>

    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %a = %0, %b = %1) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
    cond {
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %c = stablehlo.add %a, %b : tensor<3x4xf32>
      stablehlo.return %next, %c, %b : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
    }
    return %r#1, %r#2 : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @while_from_zeros_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<9.09494702E-13> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<3x4xf16>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[VC_2:[A-Za-z_0-9]+]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.maximum %[[VCST]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.divide %[[VARG1]], %[[V0]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]]:3 = stablehlo.while(%[[VITERARG:[A-Za-z_0-9]+]] = %[[VC]], %[[VITERARG_3:[A-Za-z_0-9]+]] = %[[VCST_0]], %[[VITERARG_4:[A-Za-z_0-9]+]] = %[[VARG0]]) : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
// CHECK: cond {
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VITERARG]], %[[VC_2]] : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V3]] : tensor<i1>
// CHECK: } do {
// CHECK: %[[V3]] = stablehlo.add %[[VITERARG]], %[[VC_1]] : tensor<i32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.convert %[[VITERARG_4]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V1]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V4]], %[[V5]] : tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.convert %[[V6]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.add %[[VITERARG_3]], %[[V7]] : tensor<3x4xf16>
// CHECK: stablehlo.return %[[V3]], %[[V8]], %[[VITERARG_4]] : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
// CHECK: return %[[V2]]#1, %[[V0]], %[[V2]]#2, %[[VARG1]] : tensor<3x4xf16>, tensor<f32>, tensor<3x4xf16>, tensor<f32>
func.func public @while_from_zeros_f16(%1: tensor<3x4xf16>) -> (tensor<3x4xf16>, tensor<3x4xf16>) {
    %0 = stablehlo.constant dense<0.0> : tensor<3x4xf16>

    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %a = %0, %b = %1) : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
    cond {
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %c = stablehlo.add %a, %b : tensor<3x4xf16>
      stablehlo.return %next, %c, %b : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
    }
    return %r#1, %r#2 : tensor<3x4xf16>, tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @while_keeping_its_scale(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[VC_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:3 = stablehlo.while(%[[VITERARG:[A-Za-z_0-9]+]] = %[[VC]], %[[VITERARG_2:[A-Za-z_0-9]+]] = %[[VARG0]], %[[VITERARG_3:[A-Za-z_0-9]+]] = %[[VARG2]]) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
// CHECK: cond {
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VITERARG]], %[[VC_1]] : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V1]] : tensor<i1>
// CHECK: } do {
// CHECK: %[[V1]] = stablehlo.add %[[VITERARG]], %[[VC_0]] : tensor<i32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.negate %[[VITERARG_2]] : tensor<3x4xf32>
// CHECK: stablehlo.return %[[V1]], %[[V2]], %[[VITERARG_3]] : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
// CHECK: return %[[V0]]#1, %[[VARG1]], %[[V0]]#2, %[[VARG3]] : tensor<3x4xf32>, tensor<f32>, tensor<3x4xf32>, tensor<f32>
func.func public @while_keeping_its_scale(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {

    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %a = %0, %b = %1) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
    cond {
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %c = stablehlo.negate %a : tensor<3x4xf32>
      stablehlo.return %next, %c, %b : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
    }
    return %r#1, %r#2 : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @while_keeping_its_scale_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[VC_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:3 = stablehlo.while(%[[VITERARG:[A-Za-z_0-9]+]] = %[[VC]], %[[VITERARG_2:[A-Za-z_0-9]+]] = %[[VARG0]], %[[VITERARG_3:[A-Za-z_0-9]+]] = %[[VARG2]]) : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
// CHECK: cond {
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VITERARG]], %[[VC_1]] : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V1]] : tensor<i1>
// CHECK: } do {
// CHECK: %[[V1]] = stablehlo.add %[[VITERARG]], %[[VC_0]] : tensor<i32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.negate %[[VITERARG_2]] : tensor<3x4xf16>
// CHECK: stablehlo.return %[[V1]], %[[V2]], %[[VITERARG_3]] : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
// CHECK: return %[[V0]]#1, %[[VARG1]], %[[V0]]#2, %[[VARG3]] : tensor<3x4xf16>, tensor<f32>, tensor<3x4xf16>, tensor<f32>
func.func public @while_keeping_its_scale_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>, tensor<3x4xf16>) {

    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %a = %0, %b = %1) : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
    cond {
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %c = stablehlo.negate %a : tensor<3x4xf16>
      stablehlo.return %next, %c, %b : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
    }
    return %r#1, %r#2 : tensor<3x4xf16>, tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @while_swapping(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[VC_2:[A-Za-z_0-9]+]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:5 = stablehlo.while(%[[VITERARG:[A-Za-z_0-9]+]] = %[[VC]], %[[VITERARG_3:[A-Za-z_0-9]+]] = %[[VARG0]], %[[VITERARG_4:[A-Za-z_0-9]+]] = %[[VARG2]], %[[VITERARG_5:[A-Za-z_0-9]+]] = %[[VARG1]], %[[VITERARG_6:[A-Za-z_0-9]+]] = %[[VARG3]]) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32> attributes {scalify.carried = dense<[-1, -1, -1, 1, 2]> : tensor<5xi64>}
// CHECK: cond {
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VITERARG]], %[[VC_2]] : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V3]] : tensor<i1>
// CHECK: } do {
// CHECK: %[[V3]] = stablehlo.add %[[VITERARG]], %[[VC_1]] : tensor<i32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VITERARG_5]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VITERARG_3]], %[[V4]] : tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.tanh %[[V5]] : tensor<3x4xf32>
// CHECK: stablehlo.return %[[V3]], %[[V6]], %[[VITERARG_3]], %[[VCST_0]], %[[VITERARG_5]] : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<f32>, tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#3, %[[VCST]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#4, %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]]#1, %[[V1]], %[[V0]]#2, %[[V2]] : tensor<3x4xf32>, tensor<f32>, tensor<3x4xf32>, tensor<f32>
func.func public @while_swapping(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {

    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %a = %0, %b = %1) : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
    cond {
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %c = stablehlo.tanh %a : tensor<3x4xf32>
      stablehlo.return %next, %c, %a : tensor<i32>, tensor<3x4xf32>, tensor<3x4xf32>
    }
    return %r#1, %r#2 : tensor<3x4xf32>, tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @while_swapping_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}, tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VCST_0:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<0> : tensor<i32>
// CHECK: %[[VC_1:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[VC_2:[A-Za-z_0-9]+]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:5 = stablehlo.while(%[[VITERARG:[A-Za-z_0-9]+]] = %[[VC]], %[[VITERARG_3:[A-Za-z_0-9]+]] = %[[VARG0]], %[[VITERARG_4:[A-Za-z_0-9]+]] = %[[VARG2]], %[[VITERARG_5:[A-Za-z_0-9]+]] = %[[VARG1]], %[[VITERARG_6:[A-Za-z_0-9]+]] = %[[VARG3]]) : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>, tensor<f32>, tensor<f32> attributes {scalify.carried = dense<[-1, -1, -1, 1, 2]> : tensor<5xi64>}
// CHECK: cond {
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.compare LT, %[[VITERARG]], %[[VC_2]] : (tensor<i32>, tensor<i32>) -> tensor<i1>
// CHECK: stablehlo.return %[[V3]] : tensor<i1>
// CHECK: } do {
// CHECK: %[[V3]] = stablehlo.add %[[VITERARG]], %[[VC_1]] : tensor<i32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.minimum %[[VCST_0]], %[[VITERARG_5]] : tensor<f32>
// CHECK: %[[V5:[A-Za-z_0-9]+]] = stablehlo.convert %[[VITERARG_3]] : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: %[[V6:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[VITERARG_5]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V7:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V5]], %[[V6]] : tensor<3x4xf32>
// CHECK: %[[V8:[A-Za-z_0-9]+]] = stablehlo.tanh %[[V7]] : tensor<3x4xf32>
// CHECK: %[[V9:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V4]], %[[VCST]] : tensor<f32>
// CHECK: %[[V10:[A-Za-z_0-9]+]] = stablehlo.broadcast_in_dim %[[V9]], dims = [] : (tensor<f32>) -> tensor<3x4xf32>
// CHECK: %[[V11:[A-Za-z_0-9]+]] = stablehlo.divide %[[V8]], %[[V10]] : tensor<3x4xf32>
// CHECK: %[[V12:[A-Za-z_0-9]+]] = stablehlo.convert %[[V11]] : (tensor<3x4xf32>) -> tensor<3x4xf16>
// CHECK: stablehlo.return %[[V3]], %[[V12]], %[[VITERARG_3]], %[[V4]], %[[VITERARG_5]] : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>, tensor<f32>, tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#3, %[[VCST]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#4, %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]]#1, %[[V1]], %[[V0]]#2, %[[V2]] : tensor<3x4xf16>, tensor<f32>, tensor<3x4xf16>, tensor<f32>
func.func public @while_swapping_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>, tensor<3x4xf16>) {

    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %end = stablehlo.constant dense<3> : tensor<i32>
    %r:3 = stablehlo.while(%i = %start, %a = %0, %b = %1) : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
    cond {
      %go = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %c = stablehlo.tanh %a : tensor<3x4xf16>
      stablehlo.return %next, %c, %a : tensor<i32>, tensor<3x4xf16>, tensor<3x4xf16>
    }
    return %r#1, %r#2 : tensor<3x4xf16>, tensor<3x4xf16>
}
