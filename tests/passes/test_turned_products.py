"""Products that are only read transposed are those of the swapped operands."""

import numpy as np
import pytest

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution import xla
from scalify_hlo.passes.turned_products import turn


def program(dims: str, shape: str, between: str = "", more: str = "") -> str:
    """A product over tokens of [6, 4] and [6, 2, 3], something between, and a transpose."""
    return f"""func.func @main(%x: tensor<6x4xf16>, %y: tensor<6x2x3xf16>) -> tensor<{shape}xf16> {{
  %d = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] :
    (tensor<6x4xf16>, tensor<6x2x3xf16>) -> tensor<4x2x3xf16>
  {between or "%m = stablehlo.convert %d : tensor<4x2x3xf16>"}
  %t = stablehlo.transpose %m, dims = [{dims}] : (tensor<4x2x3xf16>) -> tensor<{shape}xf16>
  {more}
  return %t : tensor<{shape}xf16>
}}"""


SCALED = """%c = stablehlo.constant dense<0.25> : tensor<4x2x3xf16>
  %m = stablehlo.multiply %d, %c : tensor<4x2x3xf16>"""
TWO_READERS = "%e = stablehlo.add %d, %d : tensor<4x2x3xf16>"


def turned(text: str) -> str:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        for op in list(walk(module.operation)):
            if op.name == "stablehlo.dot_general":
                turn(op)
        module.operation.verify()
        return str(module)


@pytest.mark.parametrize("between", ["", SCALED], ids=["convert", "factor"])
def test_the_transpose_is_gone_and_the_numbers_are_the_same(between: str) -> None:
    text = program("1, 2, 0", "2x3x4", between)
    rewritten = turned(text)
    assert "stablehlo.transpose" not in rewritten and "-> tensor<2x3x4xf16>" in rewritten
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=shape).astype(np.float16) for shape in ((6, 4), (6, 2, 3))]
    np.testing.assert_array_equal(xla.compile(rewritten)(arrays)[0], xla.compile(text)(arrays)[0])


@pytest.mark.parametrize(
    "text",
    [
        program("2, 1, 0", "3x2x4"),
        program("1, 2, 0", "2x3x4", more=TWO_READERS),
        program("0, 2, 1", "4x3x2"),
        program("1, 2, 0", "2x3x4", SCALED.replace("0.25", str([[[0.25, 1.0, 2.0]] * 2] * 4))),
    ],
    ids=["another order", "two readers", "within an operand", "many factors"],
)
def test_other_products_stay(text: str) -> None:
    assert "stablehlo.transpose" in turned(text)


def test_a_product_with_batch_dimensions_stays_as_it_is() -> None:
    text = """func.func @main(%x: tensor<5x6x4xf32>, %y: tensor<5x6x3xf32>) -> tensor<3x5x4xf32> {
  %d = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] :
    (tensor<5x6x4xf32>, tensor<5x6x3xf32>) -> tensor<5x4x3xf32>
  %t = stablehlo.transpose %d, dims = [2, 0, 1] : (tensor<5x4x3xf32>) -> tensor<3x5x4xf32>
  return %t : tensor<3x5x4xf32>
}"""
    generator = np.random.default_rng(0)
    arrays = [generator.normal(size=shape).astype(np.float32) for shape in ((5, 6, 4), (5, 6, 3))]
    rewritten = turned(text)
    assert "stablehlo.transpose" in rewritten
    np.testing.assert_array_equal(xla.compile(rewritten)(arrays)[0], xla.compile(text)(arrays)[0])
