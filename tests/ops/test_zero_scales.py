"""Tensors of zeros carry the smallest scale (design, section 3): they lose every maximum, and never make a NaN."""

import ml_dtypes
import numpy as np
import pytest

from scalify_hlo import budget
from scalify_hlo.execution.inputs import Split, recombine
from scalify_hlo.execution.interpreter import interpret
from tests.ops.program import Program
from tests.ops.programs import PROGRAMS
from tests.ops.test_rules import evaluator, is_exact
from tests.support import Rewritten, same_bits

SMALLEST = np.float32(2.0**-126)
_CASES = [p for p in PROGRAMS if not p.not_run and any(o.is_float for o in p.operands)]


@pytest.mark.parametrize("program", _CASES, ids=lambda p: p.name)
def test_zeros_with_the_smallest_scale(program: Program) -> None:
    text = program.text()
    rewritten = Rewritten.of(text)
    arrays = program.inputs()
    evaluate = evaluator(program)
    for i, array in enumerate(arrays):
        if array.dtype != np.float32:
            continue
        changed = [*arrays[:i], np.zeros_like(array), *arrays[i + 1 :]]
        expected = evaluate(text, changed)
        splits = [
            Split(a, SMALLEST if j == i else np.float32(1)) if a.dtype == np.float32 else Split(a, None)
            for j, a in enumerate(changed)
        ]
        for pair, want in zip(rewritten.run(splits, evaluate), expected, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):
                got = recombine(pair.data, pair.scale).astype(want.dtype)
            if is_exact(program):
                assert same_bits(got, want).all(), (i, got, want, rewritten.text)
            else:
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("element", ["f32", "f16"])
@pytest.mark.parametrize("op", ["add", "subtract", "maximum", "minimum"])
def test_squares_of_zeros(op: str, element: str) -> None:
    """Both scales underflow in the squares, as in the norm of tensors that start as zeros."""
    text = f"""func.func @main(%x: tensor<3x{element}>, %y: tensor<3x{element}>) -> tensor<3x{element}> {{
      %0 = stablehlo.multiply %x, %x : tensor<3x{element}>
      %1 = stablehlo.multiply %y, %y : tensor<3x{element}>
      %2 = stablehlo.{op} %0, %1 : tensor<3x{element}>
      return %2 : tensor<3x{element}>
    }}"""
    zeros = np.zeros(3, {"f32": np.float32, "f16": np.float16}[element])
    (got,) = Rewritten.of(text).run([Split(zeros, SMALLEST)] * 2)
    np.testing.assert_array_equal(recombine(got.data, got.scale), 0)


@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_the_square_of_a_mask_beside_zeros(element: str) -> None:
    """The mask was held as data of 2^126 at the scale of zeros, and its square infinite (seed 7002, k=1479)."""
    text = f"""func.func @main(%x: tensor<4x{element}>, %p: tensor<4xi1>) -> tensor<4x{element}> {{
      %c = stablehlo.constant dense<-1.0e9> : tensor<4x{element}>
      %0 = stablehlo.select %p, %x, %c : tensor<4xi1>, tensor<4x{element}>
      %1 = stablehlo.multiply %0, %0 : tensor<4x{element}>
      return %1 : tensor<4x{element}>
    }}"""
    dtype = {"f32": np.dtype(np.float32), "bf16": np.dtype(ml_dtypes.bfloat16)}[element]
    arrays = [np.zeros(4, dtype), np.array([True, False, True, False])]
    (want,) = interpret(text, arrays)
    (got,) = Rewritten.of(text).run([Split(arrays[0], SMALLEST), Split(arrays[1], None)])
    np.testing.assert_array_equal(recombine(got.data, got.scale).astype(dtype), want)


def test_the_largest_number_beside_ordinary_values_takes_their_scale() -> None:
    """`jnp.nan_to_num` selects it: at a scale of 2^68, at which its square is finite, those of the others are not."""
    text = """func.func @main(%x: tensor<4xf32>, %p: tensor<4xi1>) -> tensor<4xf32> {
      %c = stablehlo.constant dense<0x7F7FFFFF> : tensor<4xf32>
      %0 = stablehlo.select %p, %x, %c : tensor<4xi1>, tensor<4xf32>
      %1 = stablehlo.multiply %0, %0 : tensor<4xf32>
      return %1 : tensor<4xf32>
    }"""
    arrays = [np.array([1, -2, 3, 0.5], np.float32), np.array([True, True, True, False])]
    (want,) = interpret(text, arrays)
    (got,) = Rewritten.of(text).run([Split(arrays[0] / 8, np.float32(8)), Split(arrays[1], None)])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(recombine(got.data, got.scale).astype(np.float32), want)


def test_a_bound_beside_zeros_leaves_them_their_scale() -> None:
    """PPO's clipped ratios: zeros at 2^-59 were taken for numbers of that size, and its loss was NaN in fp16."""
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %c = stablehlo.constant dense<1.2> : tensor<4xf32>
      %0 = stablehlo.minimum %x, %c : tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    (got,) = Rewritten.of(text).run([Split(np.zeros(4, np.float32), SMALLEST)])
    assert got.scale is not None and np.log2(got.scale) < budget.ZEROS
    np.testing.assert_array_equal(got.data, 0)
