// What all readers of a gathered value round in the same way is rounded before per-device code gathers it.
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-narrow-gathers)' | FileCheck %s
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-narrow-gathers{gathers=f16})' | FileCheck %s --check-prefix=WIDE

sdy.mesh @mesh = <["i"=8]>
// CHECK-LABEL: func.func public @main(
// CHECK: %[[HELD:.+]] = stablehlo.clamp %{{.+}}, %[[W:.+]], %{{.+}} : (tensor<f16>, tensor<8x64xf16>, tensor<f16>) -> tensor<8x64xf16>
// CHECK-NEXT: %[[ROUNDED:.+]] = stablehlo.convert %[[HELD]] : (tensor<8x64xf16>) -> tensor<8x64xf8E4M3FN>
// CHECK-NEXT: %[[WHOLE:.+]] = "stablehlo.all_gather"(%[[ROUNDED]])
// CHECK: stablehlo.dot_general %{{.+}}, %[[WHOLE]]
// CHECK: stablehlo.dot_general %{{.+}}, %[[WHOLE]]
// What something reads as it is stays as it is.
// CHECK: "stablehlo.all_gather"(%{{.+}}) {{.*}}: (tensor<8xf16>) -> tensor<64xf16>

// WIDE-LABEL: func.func public @main(
// WIDE: "stablehlo.all_gather"(%{{.+}}) {{.*}}: (tensor<8x64xf16>) -> tensor<64x64xf16>
func.func public @main(%w: tensor<64x64xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>},
                %b: tensor<64xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}]>},
                %x: tensor<16x64xf8E4M3FN> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}) -> tensor<16x64xf32> {
  %0 = sdy.manual_computation(%w, %b, %x) in_shardings=[<@mesh, [{"i"}, {}]>, <@mesh, [{"i"}]>, <@mesh, [{"i"}, {}]>]
      out_shardings=[<@mesh, [{"i"}, {}]>] manual_axes={"i"}
      (%v: tensor<8x64xf16>, %c: tensor<8xf16>, %y: tensor<2x64xf8E4M3FN>) {
    %low = stablehlo.constant dense<-448.0> : tensor<f16>
    %high = stablehlo.constant dense<448.0> : tensor<f16>
    %1 = "stablehlo.all_gather"(%v) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
        replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}>
        : (tensor<8x64xf16>) -> tensor<64x64xf16>
    %2 = stablehlo.clamp %low, %1, %high : (tensor<f16>, tensor<64x64xf16>, tensor<f16>) -> tensor<64x64xf16>
    %3 = stablehlo.convert %2 : (tensor<64x64xf16>) -> tensor<64x64xf8E4M3FN>
    %4 = stablehlo.dot_general %y, %3, contracting_dims = [1] x [0] : (tensor<2x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>) -> tensor<2x64xf32>
    %5 = stablehlo.dot_general %y, %3, contracting_dims = [1] x [1] : (tensor<2x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>) -> tensor<2x64xf32>
    %6 = "stablehlo.all_gather"(%c) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>,
        replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}>
        : (tensor<8xf16>) -> tensor<64xf16>
    %7 = stablehlo.convert %6 : (tensor<64xf16>) -> tensor<64xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [1] : (tensor<64xf32>) -> tensor<2x64xf32>
    %9 = stablehlo.add %4, %5 : tensor<2x64xf32>
    %10 = stablehlo.add %9, %8 : tensor<2x64xf32>
    sdy.return %10 : tensor<2x64xf32>
  } : (tensor<64x64xf16>, tensor<64xf16>, tensor<16x64xf8E4M3FN>) -> tensor<16x64xf32>
  return %0 : tensor<16x64xf32>
}
