"""Values that a program carries from an argument to a result: factors of constants on the way."""

import pytest

from scalify_hlo.analysis.caches import constant_factor
from scalify_hlo.bindings import ir, make_context


@pytest.mark.parametrize(
    ("element", "number", "expected"),
    [
        ("f32", "5.000000e-01", 0.5), ("f16", "5.000000e-01", 0.5), ("bf16", "5.000000e-01", 0.5),
        ("f8E4M3FN", "5.000000e-01", 0.5), ("f8E5M2", "5.000000e-01", 0.5), ("i32", "2", None), ("i1", "true", None),
        ("complex<f32>", "(1.0, 0.0)", None),
    ],
)  # fmt: skip
def test_the_number_that_a_constant_is(element: str, number: str, expected: float | None) -> None:
    text = f"""
    func.func @main() -> tensor<4x{element}> {{
      %c = stablehlo.constant dense<{number}> : tensor<4x{element}>
      %s = stablehlo.constant dense<{number}> : tensor<{element}>
      %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<{element}>) -> tensor<4x{element}>
      return %b : tensor<4x{element}>
    }}"""
    module = ir.Module.parse(text, context=make_context())
    operations = list(module.body.operations[0].regions[0].blocks[0].operations)
    assert constant_factor(operations[0].results[0]) == expected
    assert constant_factor(operations[2].results[0]) == expected
