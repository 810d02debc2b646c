// A sharding constraint hides nothing: that behind the product stays behind its data; that behind an argument, which
// moves data between devices, moves data of the type that is read behind it.
// RUN: scalify-opt %s | FileCheck %s
// RUN: scalify-opt %s --precision=fp16 | FileCheck %s --check-prefix=FP16

// CHECK-LABEL: func.func public @main(
// CHECK: %[[W:.+]] = sdy.sharding_constraint %{{.+}} <@mesh, [{}, {}]> : tensor<64x16xf32>
// CHECK: %[[Y:.+]] = stablehlo.dot_general %{{.+}}, %[[W]],
// CHECK: sdy.sharding_constraint %{{.+}} <@mesh, [{"x"}, {}]> : tensor<32x16xf32>
// CHECK-NOT: sdy.sharding_constraint

// FP16-LABEL: func.func public @main(
// FP16: %[[N:.+]] = stablehlo.convert %{{.+}} : (tensor<64x16xf32>) -> tensor<64x16xf16>
// FP16: %[[LOCAL:.+]] = sdy.sharding_constraint %[[N]] <@mesh, [{"x"}, {}]> : tensor<64x16xf16>
// FP16: %[[WHOLE:.+]] = sdy.sharding_constraint %[[LOCAL]] <@mesh, [{}, {}]> : tensor<64x16xf16>
// FP16: stablehlo.dot_general %{{.+}}, %[[WHOLE]],
sdy.mesh @mesh = <["x"=8]>
func.func public @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %w: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<32x16xf32> {
  %0 = sdy.sharding_constraint %w <@mesh, [{}, {}]> : tensor<64x16xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}, {}]> : tensor<32x16xf32>
  %3 = stablehlo.tanh %2 : tensor<32x16xf32>
  return %3 : tensor<32x16xf32>
}
