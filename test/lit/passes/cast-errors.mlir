// A user's mistakes get one line each.
// RUN: not scalify-opt %s --scalify-cast=compute=f12 -o %t 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not scalify-opt %s --scalify-cast=parameter-names=weights* -o %t 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not scalify-opt %s --scalify-fp8-dots=target=a100 -o %t 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not scalify-opt %s --scalify-instrument=include=nothing* -o %t 2>&1 | FileCheck %s --check-prefix=TENSOR
// RUN: sed 's/%%x: tensor<8xf32>/%%x: tensor<8xf32> {scalify.stored = "f8"}/' %s | not scalify-opt - --scalify-cast -o %t 2>&1 | FileCheck %s --check-prefix=STORED

// TYPE-LABEL: error: unknown type 'f12' for compute; known are f32, bf16, f16
// NAME-LABEL: error: scalify-cast: 'weights*' of parameter-names (or --weights) matches no argument
// TARGET-LABEL: error: NVIDIA A100-SXM4-80GB has no FP8 matrix units
// STORED-LABEL: error: scalify-cast: scalify.stored is "f8", not one of "f32", "f16", "bf16"
// TENSOR-LABEL: error: scalify-instrument: no tensor is called nothing*
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = stablehlo.tanh %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
