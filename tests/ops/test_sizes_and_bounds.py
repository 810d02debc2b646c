"""Numbers that only a size or a bound shows: faults put into these rules survived every test of values."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo.execution.inputs import Split, recombine
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rewrite import rewrite_module
from tests.support import Rewritten


def estimate(text: str, operation: str) -> float:
    """The root mean square that the rules expect of the data of an operation's result."""
    rewritten = rewrite_module(text, ScalifyOptions(print_rules=True))
    stamped = [line for line in rewritten.splitlines() if "scalify.scale" in line]
    (line,) = (line for line in stamped if f"stablehlo.{operation} " in line)
    match = re.search(r"rms=([0-9.e+-]+)", line)
    assert match is not None, line
    return float(match[1])


@pytest.mark.parametrize("terms", [4, 64, 1024])
def test_the_size_of_an_inverse_root_is_that_of_the_run(terms: int) -> None:
    """rsqrt of a sum of squares: 1/sqrt(n) of unit data, whatever part of n is in the scale."""
    text = f"""
func.func public @main(%x: tensor<8x{terms}xf32>) -> tensor<8xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %x, %x : tensor<8x{terms}xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<8x{terms}xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.rsqrt %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}}"""
    data = np.random.default_rng(0).normal(size=(8, terms)).astype(np.float32)
    (result,) = Rewritten.of(text).run([Split(data, np.float32(1.0))])
    actual = float(np.sqrt(np.mean(result.data.astype(np.float64) ** 2)))
    assert 0.6 < estimate(text, "rsqrt") / actual < 1.6, (estimate(text, "rsqrt"), actual)


@pytest.mark.parametrize(("element", "eps"), [("f16", 2.0**-10), ("f8E4M3FN", 2.0**-3), ("f8E5M2", 2.0**-2)])
def test_what_is_narrowed_has_unit_size_first(element: str, eps: float) -> None:
    """A product of 2^-16 is below every f8: it is brought to unit size before it is narrowed, not after."""
    text = f"""
func.func public @main(%x: tensor<256xf32>) -> tensor<256x{element}> {{
  %c = stablehlo.constant dense<0.0625> : tensor<256xf32>
  %1 = stablehlo.multiply %x, %c : tensor<256xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<256xf32>
  %3 = stablehlo.multiply %2, %2 : tensor<256xf32>
  %4 = stablehlo.convert %3 : (tensor<256xf32>) -> tensor<256x{element}>
  return %4 : tensor<256x{element}>
}}"""
    x = np.random.default_rng(1).uniform(0.8, 1.2, 256).astype(np.float32)
    rewritten = Rewritten.of(text, ScalifyOptions(scaled_types=("f32", "f16", "f8E4M3FN", "f8E5M2")))
    (result,) = rewritten.run([Split(x, np.float32(1.0))])
    value = recombine(result.data.astype(np.float64), result.scale)
    assert 0.5 <= estimate(text, "convert") <= 2
    wanted = (x.astype(np.float64) / 16) ** 4
    assert np.abs(value / wanted - 1).max() <= eps, np.abs(value / wanted - 1).max()


@pytest.mark.parametrize("element", ["f32", "f16"])
@pytest.mark.parametrize("taken", [0, 1])
@pytest.mark.parametrize("exponent", [-30, 0, 30])
def test_a_branch_of_zeros_takes_the_scale_of_the_other(element: str, taken: int, exponent: int) -> None:
    text = f"""
func.func public @main(%x: tensor<4x{element}>, %i: tensor<i32>) -> tensor<4x{element}> {{
  %zeros = stablehlo.constant dense<0.0> : tensor<4x{element}>
  %r = "stablehlo.case"(%i) ({{
    %0 = stablehlo.add %x, %x : tensor<4x{element}>
    stablehlo.return %0 : tensor<4x{element}>
  }}, {{
    stablehlo.return %zeros : tensor<4x{element}>
  }}) : (tensor<i32>) -> tensor<4x{element}>
  return %r : tensor<4x{element}>
}}"""
    rewritten = Rewritten.of(text)
    x = np.array([1.0, -0.5, 0.25, 1.5], "float16" if element == "f16" else "float32")
    data, scale = interpret(rewritten.text, [x, np.float32(2.0**exponent), np.int32(taken)])
    wanted = 2.0 * x.astype(np.float64) * 2.0**exponent
    assert np.array_equal(recombine(data, scale), wanted if taken == 0 else 0 * wanted)
    # The smallest scale, that of zeros, would be right for one branch; data of the other would be lost or infinite.
    assert abs(np.log2(float(scale)) - exponent) <= 2
    assert "stablehlo.maximum" not in rewritten.text, "zeros have no say in the scale"


@pytest.mark.parametrize("number", ["1000.0", "-1000.0", "1.0e-3", "65504.0", "6.0e-8"])
@pytest.mark.parametrize("exponent", [-60, -30, -10, 0, 10, 30, 60])
def test_a_compared_constant_is_not_lost(number: str, exponent: int) -> None:
    """c/s may be beyond f16 or below it: the comparison is that of the values."""
    text = f"""
func.func public @main(%x: tensor<6xf16>) -> tensor<6xi1> {{
  %c = stablehlo.constant dense<{number}> : tensor<6xf16>
  %0 = stablehlo.compare LT, %x, %c : (tensor<6xf16>, tensor<6xf16>) -> tensor<6xi1>
  return %0 : tensor<6xi1>
}}"""
    data = np.array([1.0, -1.0, 0.0, 1.5, 0.5, -0.75], np.float16)
    (result,) = interpret(Rewritten.of(text).text, [data, np.float32(2.0**exponent)])
    constant = float(np.float16(float(number)))
    assert np.array_equal(result, data.astype(np.float64) * 2.0**exponent < constant)


@pytest.mark.parametrize(("number", "factor"), [(6.0e-8, 2.0**12), (1.0e-5, 2.0**14), (1000.0, 2.0**-14)])
def test_a_constant_that_would_be_lost_at_the_scale_of_the_other_side(number: float, factor: float) -> None:
    """exp(x) c has the scale of c; 6e-8 at a scale of 2^12 is 0 in f16, and 0 < 6e-8 would be 0 < 0."""
    text = f"""
func.func public @main(%x: tensor<4xf16>) -> tensor<4xi1> {{
  %c = stablehlo.constant dense<{number:.3e}> : tensor<4xf16>
  %k = stablehlo.constant dense<{factor:.12e}> : tensor<4xf16>
  %0 = stablehlo.exponential %x : tensor<4xf16>
  %1 = stablehlo.multiply %0, %k : tensor<4xf16>
  %2 = stablehlo.compare LT, %1, %c : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xi1>
  return %2 : tensor<4xi1>
}}"""
    data = np.array([0.0, -100.0, -3.0, 2.0], np.float16)
    (result,) = interpret(Rewritten.of(text).text, [data, np.float32(1.0)])
    assert np.array_equal(result, np.exp(data.astype(np.float64)) * factor < float(np.float16(number)))


@pytest.mark.parametrize("length", [8, 31, 32])
def test_parts_without_elements_count_in_no_scale(length: int) -> None:
    """A parallel prefix over 2^n steps puts halves of no elements beside others: scales grew by 2^16."""

    def states(decay: jax.Array, drive: jax.Array) -> Any:
        def combine(a: Any, b: Any) -> Any:
            return a[0] * b[0], b[0] * a[1] + b[1]

        return jax.lax.associative_scan(combine, (jnp.broadcast_to(jnp.exp(decay), drive.shape), drive))

    decay, drive = np.full(8, -0.1, np.float32), np.ones((length, 8), np.float32)
    found = scalify_hlo.scalify(states, precision="fp16")(*scalify_hlo.as_scaled_array((decay, drive)))
    for one, expected in zip(found, jax.jit(states)(decay, drive), strict=True):
        assert 2**-4 <= float(one.scale) <= 2**4
        np.testing.assert_allclose(np.asarray(one), expected, rtol=0.02)
