"""The one walk over a module before it is rewritten."""

import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.survey import Survey


def _narrow(text: str) -> bool:
    with make_context(), ir.Location.unknown():
        return Survey().walk(ir.Module.parse(text).operation).narrow


@pytest.mark.parametrize(
    "body",
    [
        "%0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf16>\n%1 = stablehlo.add %0, %0 : tensor<4xf16>",
        "%0 = stablehlo.constant dense<1.0> : tensor<4xf8E4M3FN>",
        "%0 = stablehlo.reduce_precision %x, format = e8m7 : tensor<4xf32>\n"
        "%1 = stablehlo.dot %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<f16>",
    ],
)
def test_a_narrow_type_anywhere_is_seen(body: str) -> None:
    assert _narrow(f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{body}\nreturn %x : tensor<4xf32>\n}}")


def test_a_narrow_argument_is_seen() -> None:
    assert _narrow("func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> { return %x : tensor<4xf16> }")
