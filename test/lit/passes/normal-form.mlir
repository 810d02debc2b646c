// The form that programs have before anything is looked for in them.
// RUN: scalify-opt %s --split-input-file --scalify-normal-form --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// A small function goes to each of its calls, under the names of the calls; squares are products.
// CHECK-LABEL: func.func @small(
// CHECK-NEXT: %[[ONCE:.*]] = stablehlo.multiply %[[X:.*]], %[[X]] : tensor<4xf32> loc("jit(f)/square/times")
// CHECK-NEXT: %[[TWICE:.*]] = stablehlo.multiply %[[ONCE]], %[[ONCE]] : tensor<4xf32> loc("jit(f)/again/times")
// CHECK-NEXT: return %[[TWICE]]
// CHECK-NOT: func.func private
func.func @small(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @square(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/square")
  %1 = func.call @square(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/again")
  return %1 : tensor<4xf32>
}
func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = chlo.square %x : tensor<4xf32> -> tensor<4xf32> loc("times")
  return %0 : tensor<4xf32>
}

// -----

// Functions of functions, in loops too.
// CHECK-LABEL: func.func @nested(
// CHECK: stablehlo.while
// CHECK: stablehlo.negate {{.*}}loc("body/outer/inner/negative")
// CHECK-NOT: func.func private
func.func @nested(%n: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<4xf32> cond {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %more = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %less = stablehlo.subtract %i, %one : tensor<i32>
    %z = func.call @outer(%y) : (tensor<4xf32>) -> tensor<4xf32> loc("body/outer")
    stablehlo.return %less, %z : tensor<i32>, tensor<4xf32>
  }
  return %r#1 : tensor<4xf32>
}
func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("inner")
  return %0 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32> loc("negative")
  return %0 : tensor<4xf32>
}

// -----

// What is said of a call or a function as a whole keeps it; so do integers, which have no scales, and a decomposition.
// CHECK-LABEL: func.func @kept(
// CHECK: call @f({{.*}}) {mhlo.frontend_attributes = {_xla_compute_type = "host"}}
// CHECK: call @marked(
// CHECK: call @of_arguments(
// CHECK: call @integers(
// CHECK: stablehlo.composite "mine.f" {{.*}}decomposition = @decomposition
// CHECK-COUNT-5: func.func private
func.func @kept(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %0 = func.call @f(%x) {mhlo.frontend_attributes = {_xla_compute_type = "host"}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @marked(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @of_arguments(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @integers(%i) : (tensor<4xi32>) -> tensor<4xi32>
  %4 = stablehlo.composite "mine.f" %2 {decomposition = @decomposition} : (tensor<4xf32>) -> tensor<4xf32>
  return %4, %3 : tensor<4xf32>, tensor<4xi32>
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @marked(%x: tensor<4xf32>) -> tensor<4xf32> attributes {no_inline} {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @of_arguments(%x: tensor<4xf32> {mhlo.sharding = "{replicated}"}) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @integers(%i: tensor<4xi32>) -> tensor<4xi32> {
  %0 = stablehlo.negate %i : tensor<4xi32>
  return %0 : tensor<4xi32>
}
func.func private @decomposition(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A loop that runs once is its body, and so is one in it; one that runs twice stays.
// CHECK-LABEL: func.func public @once(
// CHECK-SAME: %[[X:[A-Za-z_0-9]+]]: tensor<4xf32>
// CHECK: %[[DOUBLE:[A-Za-z_0-9]+]] = stablehlo.add %[[X]], %[[X]] : tensor<4xf32>
// CHECK: %[[LOOP:[A-Za-z_0-9]+]]:2 = stablehlo.while({{.*}} = %[[DOUBLE]])
// CHECK: return %[[LOOP]]#1 : tensor<4xf32>
func.func public @once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %outer:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %more = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %once:2 = stablehlo.while(%j = %zero, %b = %a) : tensor<i32>, tensor<4xf32>
        cond {
          %more = stablehlo.compare LT, %j, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %more : tensor<i1>
        } do {
          %d = stablehlo.add %b, %b : tensor<4xf32>
          %k = stablehlo.add %j, %one : tensor<i32>
          stablehlo.return %k, %d : tensor<i32>, tensor<4xf32>
        }
      %twice:2 = stablehlo.while(%j = %zero, %b = %once#1) : tensor<i32>, tensor<4xf32>
        cond {
          %more = stablehlo.compare LT, %j, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %more : tensor<i1>
        } do {
          %d = stablehlo.multiply %b, %b : tensor<4xf32>
          %k = stablehlo.add %j, %one : tensor<i32>
          stablehlo.return %k, %d : tensor<i32>, tensor<4xf32>
        }
      %k = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %k, %twice#1 : tensor<i32>, tensor<4xf32>
    }
  return %outer#1 : tensor<4xf32>
}
