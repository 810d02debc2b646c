"""Products that are rounded to bf16 next give bf16 themselves; in f16, which they could overflow, they do not."""

import re

import numpy as np
import pytest

from scalify_hlo import rewrite_module
from tests.support import check_range


def product(element: str, *, accumulation: str) -> str:
    """A product of K = 64 terms, in a narrow type or accumulated in f32 and rounded."""
    types = f"tensor<4x64x{element}>, tensor<64x3x{element}>"
    wide = accumulation == "f32"
    rounded = f"%0 = stablehlo.convert %d : (tensor<4x3xf32>) -> tensor<4x3x{element}>" if wide else ""
    return f"""func.func @main(%x: tensor<4x64x{element}>, %y: tensor<64x3x{element}>) -> tensor<4x3x{element}> {{
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : ({types}) -> tensor<4x3x{accumulation}>
  {rounded}
  return {"%0" if wide else "%d"} : tensor<4x3x{element}>
}}"""


def from_f16(text: str) -> str:
    """The program with a first operand that comes as f16: what f16 holds is brought back to unit size, its sums too."""
    wanted = re.search(r"%x: tensor<4x64x(\w+)>", text)
    assert wanted is not None
    head, body = text.replace(wanted[0], "%h: tensor<4x64xf16>").split("{\n", 1)
    return f"{head}{{\n  %x = stablehlo.convert %h : (tensor<4x64xf16>) -> tensor<4x64x{wanted[1]}>\n{body}"


def test_bf16_is_what_the_product_gives() -> None:
    text = rewrite_module(from_f16(product("bf16", accumulation="f32")))
    assert "tensor<64x3xbf16>) -> tensor<4x3xbf16>" in text and "xf32>" not in text.replace("tensor<f32>", "")


@pytest.mark.parametrize("accumulation", ["f16", "f32"])
def test_f16_is_rounded_to_after_the_factor(accumulation: str) -> None:
    """Operands of 2^5 from unit size: their sum is beyond f16 before the factor, and within it behind."""
    generator = np.random.default_rng(0)
    arrays = [np.float16(np.abs(generator.normal(size=shape)) * 2.0**5) for shape in ((4, 64), (64, 3))]
    text = check_range(product("f16", accumulation=accumulation), arrays, {"up": (24,), "mixed": (24, -22)})
    assert "tensor<64x3xf16>) -> tensor<4x3xf32>" in text


def test_a_sum_that_is_read_in_f32_too_stays_in_f32() -> None:
    text = """func.func @main(%x: tensor<4x64xbf16>, %y: tensor<64x3xbf16>) -> (tensor<4x3xbf16>, tensor<4x3xf32>) {
  %d = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] :
    (tensor<4x64xbf16>, tensor<64x3xbf16>) -> tensor<4x3xf32>
  %0 = stablehlo.convert %d : (tensor<4x3xf32>) -> tensor<4x3xbf16>
  return %0, %d : tensor<4x3xbf16>, tensor<4x3xf32>
}"""
    assert "tensor<64x3xbf16>) -> tensor<4x3xf32>" in rewrite_module(from_f16(text))


def test_operands_in_f32_keep_their_product_in_f32() -> None:
    text = product("f32", accumulation="f32").replace("-> tensor<4x3xf32> {", "-> tensor<4x3xbf16> {")
    text = text.replace("(tensor<4x3xf32>) -> tensor<4x3xf32>", "(tensor<4x3xf32>) -> tensor<4x3xbf16>")
    text = text.replace("return %0 : tensor<4x3xf32>", "return %0 : tensor<4x3xbf16>")
    assert "tensor<64x3xf32>) -> tensor<4x3xf32>" in rewrite_module(from_f16(text))
