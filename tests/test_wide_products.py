"""A product in f16 that is brought to another scale next does not overflow between the two."""

import re

import numpy as np
import pytest

from scalify_hlo import rewrite_module
from scalify_hlo.execution import xla

_SUM = """func.func @main(%x: tensor<4xf16>, %y: tensor<4xf16>, %z: tensor<4xf16>) -> RESULTS {
  %p = stablehlo.multiply %x, %y : tensor<4xf16>
  %s = stablehlo.add %p, %z : tensor<4xf16>
  return VALUES : TYPES
}"""


def _text(values: str) -> str:
    types = ", ".join(["tensor<4xf16>"] * (values.count("%")))
    return rewrite_module(_SUM.replace("RESULTS", f"({types})").replace("VALUES", values).replace("TYPES", types))


@pytest.mark.parametrize("exponent", [-10, -12])
def test_a_product_of_large_data_reaches_the_scale_of_its_sum(exponent: int) -> None:
    """Products of 2^18 are beyond f16, and of the size of z where they are added to it."""
    x = np.array([300.0, -512.0, 420.0, 1.0], np.float16)
    z = np.array([1.0, 0.5, -0.25, 2.0], np.float16)
    scale, one = np.float32(2.0**exponent), np.float32(1.0)
    data, found = xla.compile(_text("%s"))([x, scale, x, scale, z, one])
    wide = x.astype(np.float64) ** 2 * 4.0**exponent + z
    np.testing.assert_allclose(data.astype(np.float64) * float(found), wide, rtol=2e-3)


def test_a_product_in_range_keeps_its_bits() -> None:
    """Rounded once after the factor, a power of two, as it was before and after it."""
    generator = np.random.default_rng(0)
    x, y, z = (generator.standard_normal(4).astype(np.float16) for _ in range(3))
    two = np.float32(2.0)
    data, found = xla.compile(_text("%s"))([x, two, y, two, z, two])
    expected = (x * np.float16(2)) * (y * np.float16(2)) + z * np.float16(2)
    np.testing.assert_array_equal((data * found).astype(np.float16), expected)


def test_a_product_that_something_else_reads_stays_in_f16() -> None:
    assert re.search(r"stablehlo.multiply %\w+, %\w+ : tensor<4xf16>", _text("%s, %p"))
    assert not re.search(r"stablehlo.multiply %arg0, %arg\d : tensor<4xf16>", _text("%s"))
