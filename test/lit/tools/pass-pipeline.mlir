// Python passes and MLIR's own in one pipeline, by flags and by text.
// RUN: scalify-opt %s --cse --scalify | FileCheck %s --check-prefix=MIXED
// RUN: scalify-opt %s --pass-pipeline='builtin.module(func.func(cse),scalify)' | FileCheck %s --check-prefix=MIXED
// RUN: scalify-opt %s --cse --canonicalize | FileCheck %s --check-prefix=PLAIN
// RUN: scalify-opt %s --scalify='args=none rounding=up' --cse --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=DUMP
// RUN: scalify-opt %s --scalify --cse --mlir-print-ir-after-all -o /dev/null 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: scalify-opt %s --scalify --cse --mlir-print-ir-before=cse -o /dev/null 2>&1 | FileCheck %s --check-prefix=BEFORE

// MIXED-LABEL: func.func @main(
// MIXED-SAME: scalify.role
// MIXED: %[[Y:.+]] = stablehlo.negate
// MIXED-NOT: stablehlo.negate
// MIXED: return %[[Y]], %{{.+}}, %[[Y]]

// PLAIN-LABEL: func.func @main(
// PLAIN-NOT: scalify.role
// PLAIN: %[[Y:.+]] = stablehlo.negate
// PLAIN-NEXT: return %[[Y]], %[[Y]]

// DUMP: builtin.module(scalify{args=none {{.*}} rounding=up {{.*}}},cse)
// DUMP-LABEL: func.func @main(

// AFTER: // -----// IR Dump After Scalify
// AFTER-LABEL: func.func @main(
// AFTER-SAME: scalify.role
// AFTER: // -----// IR Dump After CSE
// AFTER-LABEL: func.func @main(

// BEFORE-NOT: scalify{
// BEFORE: // -----// IR Dump Before cse
// BEFORE-LABEL: func.func @main(
// BEFORE-SAME: scalify.role
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.negate %x : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
