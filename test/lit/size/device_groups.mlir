// Groups of devices written as axes of a mesh, as jax does from 0.12 on: whole axes, and a part of one.
// RUN: scalify-opt %s --scalify-size | FileCheck %s
// RUN: scalify-opt %s --args=all | FileCheck %s --check-prefix=SCALES

sdy.mesh @mesh = <["a"=2, "b"=4]>

// A sum over 4, 8 and 2 devices, which hold what is alike in part: n^0.75.
// CHECK-LABEL: func.func @main(
// CHECK: }) {{.*}}scalify.size = "s0 rms=2.83"
// CHECK: }) {{.*}}scalify.size = "s0 rms=4.76"
// CHECK: }) {{.*}}scalify.size = "s0 rms=1.68"
// SCALES-LABEL: func.func @main(
// SCALES: return
func.func @main(%x: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>) {
  %b = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "b">]>,
      use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %all = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh,
          axes = [#stablehlo.axis_ref<name = "a">, #stablehlo.axis_ref<name = "b">]>,
      use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %half = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>,
      replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh,
          axes = [#stablehlo.axis_ref<name = "b", sub_axis_info = (2)2>]>,
      use_global_device_ids}> ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %s = stablehlo.add %p, %q : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %b, %all, %half : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}
