// Numbers that a loop changes, or branches return, are elements of one vector; what reads one takes it out where it is.
// RUN: scalify-opt %s --scalify-join-carried | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[START:.+]] = stablehlo.concatenate %{{.+}}, %{{.+}}, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
// CHECK: %[[LOOP:.+]]:4 = stablehlo.while(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}, %[[V:.+]] = %[[START]])
// CHECK-SAME: tensor<i32>, tensor<8xf16>, tensor<f32>, tensor<2xf32>
// The number that the condition reads and the one that does not change stay what they are.
// CHECK: do {
// CHECK: %[[S:.+]] = stablehlo.slice %[[V]] [0:1]
// CHECK: %[[AFTER:.+]] = stablehlo.concatenate %{{.+}}, %{{.+}}, dim = 0
// CHECK: stablehlo.return %{{.+}}, %{{.+}}, %{{.+}}, %[[AFTER]] : tensor<i32>, tensor<8xf16>, tensor<f32>, tensor<2xf32>
// CHECK: %[[BOTH:.+]]:2 = "stablehlo.if"
// A number of the loop is taken out of its vector in the branch that reads it.
// CHECK: stablehlo.slice %[[LOOP]]#3 [1:2]
// CHECK: stablehlo.concatenate
// CHECK: }) : (tensor<i1>) -> (tensor<8xf16>, tensor<2xf32>)
// CHECK: stablehlo.slice %[[BOTH]]#1 [1:2]
// CHECK-NOT: stablehlo.while
func.func @main(%x: tensor<8xf16>, %s: tensor<f32>, %t: tensor<f32>, %limit: tensor<f32>, %p: tensor<i1>)
    -> (tensor<8xf16>, tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %r:5 = stablehlo.while(%n = %zero, %a = %s, %y = %x, %b = %t, %l = %limit)
      : tensor<i32>, tensor<f32>, tensor<8xf16>, tensor<f32>, tensor<f32>
  cond {
    %c = stablehlo.convert %n : (tensor<i32>) -> tensor<f32>
    %q = stablehlo.compare LT, %c, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  } do {
    %m = stablehlo.add %n, %one : tensor<i32>
    %a2 = stablehlo.maximum %a, %b : tensor<f32>
    %b2 = stablehlo.multiply %b, %half : tensor<f32>
    %ratio = stablehlo.divide %a, %a2 : tensor<f32>
    %f = stablehlo.convert %ratio : (tensor<f32>) -> tensor<f16>
    %g = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f16>) -> tensor<8xf16>
    %y2 = stablehlo.multiply %y, %g : tensor<8xf16>
    stablehlo.return %m, %a2, %y2, %b2, %l : tensor<i32>, tensor<f32>, tensor<8xf16>, tensor<f32>, tensor<f32>
  }
  %z:3 = "stablehlo.if"(%p) ({
    stablehlo.return %s, %x, %t : tensor<f32>, tensor<8xf16>, tensor<f32>
  }, {
    %d = stablehlo.multiply %r#3, %half : tensor<f32>
    stablehlo.return %s, %r#2, %d : tensor<f32>, tensor<8xf16>, tensor<f32>
  }) : (tensor<i1>) -> (tensor<f32>, tensor<8xf16>, tensor<f32>)
  return %z#1, %z#0, %z#2 : tensor<8xf16>, tensor<f32>, tensor<f32>
}

// Numbers of one iteration that two stacks take are a row of one stack; the loop that reads one of them reads the row.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[START:.+]] = stablehlo.concatenate %{{.+}}, %{{.+}}, dim = 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
// CHECK: %[[FIRST:.+]]:2 = stablehlo.while(%{{.+}} = %{{.+}}, %[[C:.+]] = %[[START]]) : tensor<i32>, tensor<3x2xf32>
// CHECK: stablehlo.dynamic_update_slice %[[C]], %{{.+}} : (tensor<3x2xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>)
// CHECK: stablehlo.slice %[[FIRST]]#1 [0:3, 0:1]
// CHECK: stablehlo.while(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}) : tensor<i32>, tensor<1x1xf32>
// CHECK: %[[ROW:.+]] = stablehlo.dynamic_slice %[[FIRST]]#1, %{{.+}} sizes = [1, 2]
// CHECK: stablehlo.slice %[[ROW]] [0:1, 1:2]
func.func @rows(%x: tensor<3xf32>, %y: tensor<3x1xf32>) -> (tensor<3xf32>, tensor<1x1xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<1x1xf32>
  %r:3 = stablehlo.while(%n = %zero, %a = %x, %b = %y) : tensor<i32>, tensor<3xf32>, tensor<3x1xf32>
  cond {
    %p = stablehlo.compare LT, %n, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %m = stablehlo.add %n, %one : tensor<i32>
    %e = stablehlo.convert %m : (tensor<i32>) -> tensor<f32>
    %f = stablehlo.reshape %e : (tensor<f32>) -> tensor<1xf32>
    %g = stablehlo.reshape %e : (tensor<f32>) -> tensor<1x1xf32>
    %c = stablehlo.dynamic_update_slice %a, %f, %n : (tensor<3xf32>, tensor<1xf32>, tensor<i32>) -> tensor<3xf32>
    %d = stablehlo.dynamic_update_slice %b, %g, %n, %zero
        : (tensor<3x1xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i32>) -> tensor<3x1xf32>
    stablehlo.return %m, %c, %d : tensor<i32>, tensor<3xf32>, tensor<3x1xf32>
  }
  %s:3 = stablehlo.while(%n = %zero, %b = %r#2, %t = %none) : tensor<i32>, tensor<3x1xf32>, tensor<1x1xf32>
  cond {
    %p = stablehlo.compare LT, %n, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %m = stablehlo.add %n, %one : tensor<i32>
    %k = stablehlo.dynamic_slice %b, %n, %zero, sizes = [1, 1]
        : (tensor<3x1xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
    %u = stablehlo.add %t, %k : tensor<1x1xf32>
    stablehlo.return %m, %b, %u : tensor<i32>, tensor<3x1xf32>, tensor<1x1xf32>
  }
  return %r#1, %s#2 : tensor<3xf32>, tensor<1x1xf32>
}
