"""Constants that stand beside the program, as `dense_resource`: their elements are not known when it is rewritten."""

import pytest

from scalify_hlo import rewrite_module
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.precision_pipeline import precision_pipeline

# Multiples of a tensor by one, of a far mask, and of a product.
PROGRAM = """
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<4x4xf32>
  %j = stablehlo.iota dim = 1 : tensor<4x4xf32>
  %p = stablehlo.compare EQ, %i, %j : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
  %e = stablehlo.convert %p : (tensor<4x4xi1>) -> tensor<4x4xf32>
  %c = stablehlo.constant dense<3.0e+04> : tensor<4x4xf32>
  %far = stablehlo.multiply %e, %c : tensor<4x4xf32>
  %r = stablehlo.constant dense_resource<w> : tensor<4x4xf32>
  %m = stablehlo.multiply %far, %r : tensor<4x4xf32>
  %s = stablehlo.add %m, %x : tensor<4x4xf32>
  %d = stablehlo.dot_general %s, %y, contracting_dims = [1] x [0]
     : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %n = stablehlo.multiply %d, %r : tensor<4x4xf32>
  %k = stablehlo.multiply %x, %r : tensor<4x4xf32>
  %q = stablehlo.multiply %k, %x : tensor<4x4xf32>
  %t = stablehlo.add %q, %x : tensor<4x4xf32>
  return %n, %t : tensor<4x4xf32>, tensor<4x4xf32>
}
{-# dialect_resources: { builtin: { w: "0x04000000ELEMENTS" } } #-}
"""
TEXT = PROGRAM.replace("ELEMENTS", "0000003F" * 16)


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
def test_they_are_no_one_number(element: str) -> None:
    text = TEXT if element == "f32" else PROGRAM.replace("ELEMENTS", "0038" * 16).replace("xf32>", f"x{element}>")
    assert "dense_resource<w>" in rewrite_module(text)


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_under_a_preset(precision: str) -> None:
    module = ir.Module.parse(TEXT, context=make_context())
    precision_pipeline(precision).run(module, [])
    assert module.operation.verify()
