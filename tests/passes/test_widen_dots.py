"""Products of bf16 operands that XLA:CPU lacks, and those that it has."""

import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.pipeline import parse_pipeline


@pytest.mark.parametrize(
    ("operand", "result", "widened"), [("bf16", "f32", 2), ("bf16", "bf16", 0), ("f16", "f32", 0), ("f32", "f32", 0)]
)
def test_bf16_operands_of_products_with_f32_results_are_f32(operand: str, result: str, widened: int) -> None:
    module = ir.Module.parse(f"""
func.func @main(%x: tensor<4x6x{operand}>, %y: tensor<6x3x{operand}>) -> tensor<4x3x{result}> {{
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] :
    (tensor<4x6x{operand}>, tensor<6x3x{operand}>) -> tensor<4x3x{result}>
  %s = stablehlo.add %d, %d : tensor<4x3x{result}>
  return %s : tensor<4x3x{result}>
}}""", context=make_context())  # fmt: skip
    parse_pipeline("scalify-widen-dots").run(module, [])
    module.operation.verify()
    assert str(module).count("stablehlo.convert") == widened
