// Tables that are cut over devices are rounded before something is taken of them: what is gathered for it is narrow.
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-narrow-gathers)' | FileCheck %s
// RUN: scalify-opt %s --pass-pipeline='builtin.module(scalify-narrow-gathers{gathers=f32})' | FileCheck %s --check-prefix=WIDE

sdy.mesh @mesh = <["i"=8]>

// Rows are cut, and any of them may be taken.
// CHECK-LABEL: func.func public @main(
// CHECK-SAME: %[[TABLE:[A-Za-z_0-9]+]]: tensor<256x128xf32>
// CHECK: %[[NARROW:.+]] = stablehlo.convert %[[TABLE]] : (tensor<256x128xf32>) -> tensor<256x128xf16>
// CHECK-NEXT: "stablehlo.gather"(%[[NARROW]], {{.*}}) -> tensor<32x128xf16>
// CHECK-NOT: stablehlo.convert
// Of what is whole on each device, or cut as what is taken of it is, only what is taken is rounded.
// CHECK: "stablehlo.gather"({{.*}}) -> tensor<32x128xf32>
// CHECK: stablehlo.dynamic_slice %{{.*}} -> tensor<4x128xf32>
// CHECK: stablehlo.dynamic_slice %{{.*}} -> tensor<8x128xf16>

// WIDE-LABEL: func.func public @main(
// WIDE: "stablehlo.gather"({{.*}}) -> tensor<32x128xf32>
// WIDE: stablehlo.dynamic_slice %{{.*}} -> tensor<8x128xf32>
func.func public @main(%table: tensor<256x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>},
                %whole: tensor<256x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
                %columns: tensor<16x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"i"}]>},
                %rows: tensor<16x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>},
                %tokens: tensor<32x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"i"}, {}]>}, %at: tensor<i32>)
    -> (tensor<32x128xf16>, tensor<32x128xf16>, tensor<4x128xf16>, tensor<8x128xf16>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.gather"(%table, %tokens) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false,
      slice_sizes = array<i64: 1, 128>}> : (tensor<256x128xf32>, tensor<32x1xi32>) -> tensor<32x128xf32>
  %1 = stablehlo.convert %0 : (tensor<32x128xf32>) -> tensor<32x128xf16>
  %2 = "stablehlo.gather"(%whole, %tokens) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false,
      slice_sizes = array<i64: 1, 128>}> : (tensor<256x128xf32>, tensor<32x1xi32>) -> tensor<32x128xf32>
  %3 = stablehlo.convert %2 : (tensor<32x128xf32>) -> tensor<32x128xf16>
  %4 = stablehlo.dynamic_slice %columns, %at, %zero, sizes = [4, 128] : (tensor<16x128xf32>, tensor<i32>, tensor<i32>) -> tensor<4x128xf32>
  %5 = stablehlo.convert %4 : (tensor<4x128xf32>) -> tensor<4x128xf16>
  %6 = stablehlo.dynamic_slice %rows, %at, %zero, sizes = [8, 128] : (tensor<16x128xf32>, tensor<i32>, tensor<i32>) -> tensor<8x128xf32>
  %7 = stablehlo.convert %6 : (tensor<8x128xf32>) -> tensor<8x128xf16>
  return %1, %3, %5, %7 : tensor<32x128xf16>, tensor<32x128xf16>, tensor<4x128xf16>, tensor<8x128xf16>
}
