// Written by tests/ops/write_filecheck.py from tests/ops/programs/.
// RUN: scalify-opt %s --split-input-file | FileCheck %s

// CHECK-LABEL: func.func public @case(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<i32>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:2 = "stablehlo.case"(%[[VARG0]]) ({
// CHECK: stablehlo.return %[[VARG1]], %[[VARG2]] : tensor<3x4xf32>, tensor<f32>
// CHECK: }, {
// CHECK: stablehlo.return %[[VARG3]], %[[VARG4]] : tensor<3x4xf32>, tensor<f32>
// CHECK: }) {scalify.carried = dense<[-1, 0]> : tensor<2xi64>} : (tensor<i32>) -> (tensor<3x4xf32>, tensor<f32>)
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#1, %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]]#0, %[[V1]] : tensor<3x4xf32>, tensor<f32>
func.func public @case(%0: tensor<i32>, %1: tensor<3x4xf32>, %2: tensor<3x4xf32>) -> (tensor<3x4xf32>) {

    %r = "stablehlo.case"(%0) ({
      stablehlo.return %1 : tensor<3x4xf32>
    }, {
      stablehlo.return %2 : tensor<3x4xf32>
    }) : (tensor<i32>) -> tensor<3x4xf32>
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @case_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<i32>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:2 = "stablehlo.case"(%[[VARG0]]) ({
// CHECK: stablehlo.return %[[VARG1]], %[[VARG2]] : tensor<3x4xf16>, tensor<f32>
// CHECK: }, {
// CHECK: stablehlo.return %[[VARG3]], %[[VARG4]] : tensor<3x4xf16>, tensor<f32>
// CHECK: }) {scalify.carried = dense<[-1, 0]> : tensor<2xi64>} : (tensor<i32>) -> (tensor<3x4xf16>, tensor<f32>)
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#1, %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]]#0, %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @case_f16(%0: tensor<i32>, %1: tensor<3x4xf16>, %2: tensor<3x4xf16>) -> (tensor<3x4xf16>) {

    %r = "stablehlo.case"(%0) ({
      stablehlo.return %1 : tensor<3x4xf16>
    }, {
      stablehlo.return %2 : tensor<3x4xf16>
    }) : (tensor<i32>) -> tensor<3x4xf16>
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @case_second_branch(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]]:2 = "stablehlo.case"(%[[VC]]) ({
// CHECK: stablehlo.return %[[VARG0]], %[[VARG1]] : tensor<3x4xf32>, tensor<f32>
// CHECK: }, {
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VARG2]] : tensor<3x4xf32>
// CHECK: stablehlo.return %[[V3]], %[[V0]] : tensor<3x4xf32>, tensor<f32>
// CHECK: }) {scalify.carried = dense<[-1, 0]> : tensor<2xi64>} : (tensor<i32>) -> (tensor<3x4xf32>, tensor<f32>)
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]]#1, %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]]#0, %[[V2]] : tensor<3x4xf32>, tensor<f32>
func.func public @case_second_branch(%1: tensor<3x4xf32>, %2: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %0 = stablehlo.constant dense<1> : tensor<i32>

    %r = "stablehlo.case"(%0) ({
      stablehlo.return %1 : tensor<3x4xf32>
    }, {
      %p = stablehlo.multiply %1, %2 : tensor<3x4xf32> stablehlo.return %p : tensor<3x4xf32>
    }) : (tensor<i32>) -> tensor<3x4xf32>
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @case_second_branch_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[VC:[A-Za-z_0-9]+]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V1:[A-Za-z_0-9]+]]:2 = "stablehlo.case"(%[[VC]]) ({
// CHECK: stablehlo.return %[[VARG0]], %[[VARG1]] : tensor<3x4xf16>, tensor<f32>
// CHECK: }, {
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG0]], %[[VARG2]] : tensor<3x4xf16>
// CHECK: stablehlo.return %[[V3]], %[[V0]] : tensor<3x4xf16>, tensor<f32>
// CHECK: }) {scalify.carried = dense<[-1, 0]> : tensor<2xi64>} : (tensor<i32>) -> (tensor<3x4xf16>, tensor<f32>)
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]]#1, %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]]#0, %[[V2]] : tensor<3x4xf16>, tensor<f32>
func.func public @case_second_branch_f16(%1: tensor<3x4xf16>, %2: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %0 = stablehlo.constant dense<1> : tensor<i32>

    %r = "stablehlo.case"(%0) ({
      stablehlo.return %1 : tensor<3x4xf16>
    }, {
      %p = stablehlo.multiply %1, %2 : tensor<3x4xf16> stablehlo.return %p : tensor<3x4xf16>
    }) : (tensor<i32>) -> tensor<3x4xf16>
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @func_call(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = call @twice_scaled(%[[VARG0]], %[[VARG2]]) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf32>, tensor<f32>
// CHECK-LABEL: func.func private @twice_scaled(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {no_inline} {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG0]], %[[VARG0]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VARG1]] : tensor<3x4xf32>
// CHECK: return %[[V1]] : tensor<3x4xf32>
func.func public @func_call(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
%r = call @twice(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32> return %r : tensor<3x4xf32>
}

func.func private @twice(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {no_inline} {
  %0 = stablehlo.add %x, %x : tensor<3x4xf32>
  %1 = stablehlo.multiply %0, %y : tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @func_call_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = call @twice_scaled(%[[VARG0]], %[[VARG2]]) : (tensor<3x4xf16>, tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V1]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]], %[[V2]] : tensor<3x4xf16>, tensor<f32>
// CHECK-LABEL: func.func private @twice_scaled(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf16>) -> tensor<3x4xf16> attributes {no_inline} {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG0]], %[[VARG0]] : tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VARG1]] : tensor<3x4xf16>
// CHECK: return %[[V1]] : tensor<3x4xf16>
func.func public @func_call_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
%r = call @twice(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> tensor<3x4xf16> return %r : tensor<3x4xf16>
}

func.func private @twice(%x: tensor<3x4xf16>, %y: tensor<3x4xf16>) -> tensor<3x4xf16> attributes {no_inline} {
  %0 = stablehlo.add %x, %x : tensor<3x4xf16>
  %1 = stablehlo.multiply %0, %y : tensor<3x4xf16>
  return %1 : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @func_call_repeated(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = call @twice_scaled(%[[VARG0]], %[[VARG2]]) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = call @twice_scaled_1(%[[V0]], %[[VARG0]]) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V3]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V4]] : tensor<3x4xf32>, tensor<f32>
// CHECK-LABEL: func.func private @twice_scaled(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {no_inline} {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG0]], %[[VARG0]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VARG1]] : tensor<3x4xf32>
// CHECK: return %[[V1]] : tensor<3x4xf32>
// CHECK-LABEL: func.func private @twice_scaled_1(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf32>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {no_inline} {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG0]], %[[VARG0]] : tensor<3x4xf32>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VARG1]] : tensor<3x4xf32>
// CHECK: return %[[V1]] : tensor<3x4xf32>
func.func public @func_call_repeated(%0: tensor<3x4xf32>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {

    %a = call @twice(%0, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    %r = call @twice(%a, %0) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    return %r : tensor<3x4xf32>
}

func.func private @twice(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {no_inline} {
  %0 = stablehlo.add %x, %x : tensor<3x4xf32>
  %1 = stablehlo.multiply %0, %y : tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @func_call_repeated_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG1:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = call @twice_scaled(%[[VARG0]], %[[VARG2]]) : (tensor<3x4xf16>, tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = call @twice_scaled_1(%[[V0]], %[[VARG0]]) : (tensor<3x4xf16>, tensor<3x4xf16>) -> tensor<3x4xf16>
// CHECK: %[[V2:[A-Za-z_0-9]+]] = stablehlo.multiply %[[VARG1]], %[[VARG1]] : tensor<f32>
// CHECK: %[[V3:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V2]], %[[VARG3]] : tensor<f32>
// CHECK: %[[V4:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V3]], %[[VCST]] : tensor<f32>
// CHECK: return %[[V1]], %[[V4]] : tensor<3x4xf16>, tensor<f32>
// CHECK-LABEL: func.func private @twice_scaled(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf16>) -> tensor<3x4xf16> attributes {no_inline} {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG0]], %[[VARG0]] : tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VARG1]] : tensor<3x4xf16>
// CHECK: return %[[V1]] : tensor<3x4xf16>
// CHECK-LABEL: func.func private @twice_scaled_1(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<3x4xf16>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf16>) -> tensor<3x4xf16> attributes {no_inline} {
// CHECK: %[[V0:[A-Za-z_0-9]+]] = stablehlo.add %[[VARG0]], %[[VARG0]] : tensor<3x4xf16>
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.multiply %[[V0]], %[[VARG1]] : tensor<3x4xf16>
// CHECK: return %[[V1]] : tensor<3x4xf16>
func.func public @func_call_repeated_f16(%0: tensor<3x4xf16>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {

    %a = call @twice(%0, %1) : (tensor<3x4xf16>, tensor<3x4xf16>) -> tensor<3x4xf16>
    %r = call @twice(%a, %0) : (tensor<3x4xf16>, tensor<3x4xf16>) -> tensor<3x4xf16>
    return %r : tensor<3x4xf16>
}

func.func private @twice(%x: tensor<3x4xf16>, %y: tensor<3x4xf16>) -> tensor<3x4xf16> attributes {no_inline} {
  %0 = stablehlo.add %x, %x : tensor<3x4xf16>
  %1 = stablehlo.multiply %0, %y : tensor<3x4xf16>
  return %1 : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @if(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<i1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:2 = "stablehlo.if"(%[[VARG0]]) ({
// CHECK: stablehlo.return %[[VARG1]], %[[VARG2]] : tensor<3x4xf32>, tensor<f32>
// CHECK: }, {
// CHECK: stablehlo.return %[[VARG3]], %[[VARG4]] : tensor<3x4xf32>, tensor<f32>
// CHECK: }) {scalify.carried = dense<[-1, 0]> : tensor<2xi64>} : (tensor<i1>) -> (tensor<3x4xf32>, tensor<f32>)
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#1, %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]]#0, %[[V1]] : tensor<3x4xf32>, tensor<f32>
func.func public @if(%0: tensor<i1>, %1: tensor<3x4xf32>, %2: tensor<3x4xf32>) -> (tensor<3x4xf32>) {

    %r = "stablehlo.if"(%0) ({
      stablehlo.return %1 : tensor<3x4xf32>
    }, {
      stablehlo.return %2 : tensor<3x4xf32>
    }) : (tensor<i1>) -> tensor<3x4xf32>
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @if_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<i1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}, %[[VARG3:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG4:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<1.17549435E-38> : tensor<f32>
// CHECK: %[[V0:[A-Za-z_0-9]+]]:2 = "stablehlo.if"(%[[VARG0]]) ({
// CHECK: stablehlo.return %[[VARG1]], %[[VARG2]] : tensor<3x4xf16>, tensor<f32>
// CHECK: }, {
// CHECK: stablehlo.return %[[VARG3]], %[[VARG4]] : tensor<3x4xf16>, tensor<f32>
// CHECK: }) {scalify.carried = dense<[-1, 0]> : tensor<2xi64>} : (tensor<i1>) -> (tensor<3x4xf16>, tensor<f32>)
// CHECK: %[[V1:[A-Za-z_0-9]+]] = stablehlo.maximum %[[V0]]#1, %[[VCST]] : tensor<f32>
// CHECK: return %[[V0]]#0, %[[V1]] : tensor<3x4xf16>, tensor<f32>
func.func public @if_f16(%0: tensor<i1>, %1: tensor<3x4xf16>, %2: tensor<3x4xf16>) -> (tensor<3x4xf16>) {

    %r = "stablehlo.if"(%0) ({
      stablehlo.return %1 : tensor<3x4xf16>
    }, {
      stablehlo.return %2 : tensor<3x4xf16>
    }) : (tensor<i1>) -> tensor<3x4xf16>
    return %r : tensor<3x4xf16>
}

// -----

// CHECK-LABEL: func.func public @if_of_zeros(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<i1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf32> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf32> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<3x4xf32>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.if"(%[[VARG0]]) ({
// CHECK: stablehlo.return %[[VARG1]] : tensor<3x4xf32>
// CHECK: }, {
// CHECK: stablehlo.return %[[VCST]] : tensor<3x4xf32>
// CHECK: }) : (tensor<i1>) -> tensor<3x4xf32>
// CHECK: return %[[V0]], %[[VARG2]] : tensor<3x4xf32>, tensor<f32>
func.func public @if_of_zeros(%0: tensor<i1>, %1: tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %2 = stablehlo.constant dense<0.0> : tensor<3x4xf32>

    %r = "stablehlo.if"(%0) ({
      stablehlo.return %1 : tensor<3x4xf32>
    }, {
      stablehlo.return %2 : tensor<3x4xf32>
    }) : (tensor<i1>) -> tensor<3x4xf32>
    return %r : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func public @if_of_zeros_f16(
// CHECK-SAME: %[[VARG0:[A-Za-z_0-9]+]]: tensor<i1>, %[[VARG1:[A-Za-z_0-9]+]]: tensor<3x4xf16> {scalify.role = "data"}, %[[VARG2:[A-Za-z_0-9]+]]: tensor<f32> {scalify.role = "scale"}) -> (tensor<3x4xf16> {scalify.role = "data"}, tensor<f32> {scalify.role = "scale"}) {
// CHECK: %[[VCST:[A-Za-z_0-9]+]] = stablehlo.constant dense<0.000000e+00> : tensor<3x4xf16>
// CHECK: %[[V0:[A-Za-z_0-9]+]] = "stablehlo.if"(%[[VARG0]]) ({
// CHECK: stablehlo.return %[[VARG1]] : tensor<3x4xf16>
// CHECK: }, {
// CHECK: stablehlo.return %[[VCST]] : tensor<3x4xf16>
// CHECK: }) : (tensor<i1>) -> tensor<3x4xf16>
// CHECK: return %[[V0]], %[[VARG2]] : tensor<3x4xf16>, tensor<f32>
func.func public @if_of_zeros_f16(%0: tensor<i1>, %1: tensor<3x4xf16>) -> (tensor<3x4xf16>) {
    %2 = stablehlo.constant dense<0.0> : tensor<3x4xf16>

    %r = "stablehlo.if"(%0) ({
      stablehlo.return %1 : tensor<3x4xf16>
    }, {
      stablehlo.return %2 : tensor<3x4xf16>
    }) : (tensor<i1>) -> tensor<3x4xf16>
    return %r : tensor<3x4xf16>
}
