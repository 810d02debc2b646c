// bf16 products into f32, which XLA:CPU does not have in every layout, on f32 operands. Others stay.
// RUN: scalify-opt %s --scalify-widen-dots | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x8xbf16>, %[[W:[^:]+]]: tensor<8x2xbf16>, %[[V:[^:]+]]: tensor<8x2xf32>
// CHECK-DAG: %[[XF:.+]] = stablehlo.convert %[[X]] : (tensor<4x8xbf16>) -> tensor<4x8xf32>
// CHECK-DAG: %[[WF:.+]] = stablehlo.convert %[[W]] : (tensor<8x2xbf16>) -> tensor<8x2xf32>
// CHECK: stablehlo.dot_general %[[XF]], %[[WF]]
// CHECK: stablehlo.dot_general %{{.+}}, %[[V]]
// CHECK: stablehlo.dot_general %[[X]], %[[W]], {{.*}} -> tensor<4x2xbf16>
func.func @main(%x: tensor<4x8xbf16>, %w: tensor<8x2xbf16>, %v: tensor<8x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xbf16>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
  %1 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %2 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  return %0, %1, %2 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xbf16>
}
