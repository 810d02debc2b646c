// The scales of all arguments are elements of one vector; the scales of the next call are elements of another: that of
// the result that replaces an argument, or the argument's own. What replaces no argument stays a pair.
// RUN: scalify-opt --pack-scales %s | FileCheck %s
// RUN: scalify-opt --pass-pipeline='builtin.module(scalify{mark-state=true},scalify-pack-scales)' %s | FileCheck %s
// RUN: scalify-opt --mark-state %s | FileCheck %s --check-prefix=STATE
// RUN: scalify-opt --pack-scales %s | scalify-opt --scalify-cpu-scales | FileCheck %s --check-prefix=CPU
// RUN: not scalify-opt --pack-scales --pin-scales=x.json %s 2>&1 | FileCheck %s --check-prefix=PINNED
// RUN: not scalify-opt --pack-scales --scalify %s 2>&1 | FileCheck %s --check-prefix=FLAGS

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[W:.+]]: tensor<4x4xf32> {scalify.role = "data", scalify.scale_element = 0 : i32},
// CHECK-SAME: tensor<4x4xf32> {scalify.role = "data", scalify.scale_element = 1 : i32, tf.aliasing_output = 0 : i32},
// CHECK-SAME: %[[X:[^ ]+]]: tensor<2x4xf32> {scalify.role = "data", scalify.scale_element = 2 : i32},
// CHECK-SAME: %[[SCALES:[^ ]+]]: tensor<3xf32> {scalify.role = "scales"})
// CHECK-SAME: -> (tensor<4x4xf32> {jax.result_info = "m", scalify.role = "data", scalify.scale_element = 1 : i32},
// CHECK-SAME: tensor<4x4xf32> {jax.result_info = "w", scalify.role = "data", scalify.scale_element = 0 : i32},
// CHECK-SAME: tensor<2x4xf32> {jax.result_info = "y", scalify.role = "data"},
// CHECK-SAME: tensor<f32> {jax.result_info = "y.scale", scalify.role = "scale"},
// CHECK-SAME: tensor<3xf32> {jax.result_info = "scales", scalify.role = "scales"})
// CHECK-DAG: stablehlo.slice %[[SCALES]] [0:1]
// CHECK-DAG: stablehlo.slice %[[SCALES]] [1:2]
// CHECK-DAG: stablehlo.slice %[[SCALES]] [2:3]
// CHECK: %[[NEXT:.+]] = stablehlo.concatenate {{.*}} -> tensor<3xf32>
// CHECK: return {{.*}}, %[[NEXT]] :

// STATE-LABEL: func.func @main(
// STATE-SAME: tensor<4x4xf32> {scalify.next = 2 : i32, scalify.role = "data"}

// CPU-LABEL: func.func @main(
// CPU: %[[GIVEN:.+]] = stablehlo.concatenate
// CPU: %[[NEXT:.+]]:2 = call @leaving_scales(%[[GIVEN]])
// CPU: return {{.*}}, %[[NEXT]]#0 :
// CPU-LABEL: func.func private @leaving_scales(
// CPU: %[[NEXT:.+]] = stablehlo.concatenate
// CPU: return %[[NEXT]], {{.*}} : tensor<3xf32>, tensor<{{.*}}xf32>

// PINNED-LABEL: error: --pin-scales leaves no scales that --pack-scales could pack: give one of them
// FLAGS-LABEL: error: --pack-scales adds a pass: in a pipeline, write scalify{mark-state=true} and, last, scalify-pack-scales
func.func @main(
    %w: tensor<4x4xf32>, %m: tensor<4x4xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<2x4xf32>
) -> (
    tensor<4x4xf32> {jax.result_info = "m"}, tensor<4x4xf32> {jax.result_info = "w"},
    tensor<2x4xf32> {jax.result_info = "y"}
) {
  %keep = stablehlo.constant dense<9.000000e-01> : tensor<4x4xf32>
  %take = stablehlo.constant dense<1.000000e-01> : tensor<4x4xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %old = stablehlo.multiply %m, %keep : tensor<4x4xf32>
  %new = stablehlo.multiply %g, %take : tensor<4x4xf32>
  %m1 = stablehlo.add %old, %new : tensor<4x4xf32>
  %w1 = stablehlo.subtract %w, %m1 : tensor<4x4xf32>
  return %m1, %w1, %y : tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>
}
