"""Results that have a scale of their operands: no maximum is taken, and no power of two multiplies the data."""

import re

import numpy as np
import pytest

from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.rewrite import rewrite_module


@pytest.mark.parametrize("kind", ["maximum", "minimum"])
@pytest.mark.parametrize("element", ["f16", "f32"])
def test_a_maximum_over_devices_grows_with_no_number_of_them(element: str, kind: str) -> None:
    rewritten = rewrite_module(f"""
func.func public @main(%x: tensor<8x{element}>) -> tensor<8x{element}> {{
  %y = "stablehlo.all_reduce"(%x) <{{replica_groups = dense<{[list(range(64))]}> : tensor<1x64xi64>}}> ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
    %m = stablehlo.{kind} %a, %b : tensor<{element}>
    stablehlo.return %m : tensor<{element}>
  }}) : (tensor<8x{element}>) -> tensor<8x{element}>
  %z = stablehlo.multiply %y, %y : tensor<8x{element}>
  return %z : tensor<8x{element}>
}}""")
    constants = re.findall(r"constant dense<([^>]*)>", rewritten)
    assert not [c for c in constants if 1e-30 < abs(float(c)) != 1], rewritten


def test_a_sum_of_64_devices_does() -> None:
    """What the above would find."""
    rewritten = rewrite_module(f"""
func.func public @main(%x: tensor<8xf16>) -> tensor<8xf16> {{
  %y = "stablehlo.all_reduce"(%x) <{{replica_groups = dense<{[list(range(64))]}> : tensor<1x64xi64>}}> ({{
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %m = stablehlo.add %a, %b : tensor<f16>
    stablehlo.return %m : tensor<f16>
  }}) : (tensor<8xf16>) -> tensor<8xf16>
  return %y : tensor<8xf16>
}}""")
    assert len(set(re.findall(r"constant dense<([^>]*)>", rewritten)) - {"0.000000e+00", "1.000000e+00"}) > 1


@pytest.mark.parametrize("order", ["%x, %q", "%q, %x"])
def test_what_shares_no_scale_is_no_polynomial(order: str) -> None:
    """x + 1/y, x near 2^-40 and y near 1, is as large as 1/y: at the scale of x no f16 would hold it (promise P3)."""
    rewritten = rewrite_module(f"""
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %q = stablehlo.divide %one, %y : tensor<4xf32>
  %s = stablehlo.add {order} : tensor<4xf32>
  return %s : tensor<4xf32>
}}""")
    x, y = np.arange(1, 5, dtype=np.float32), np.array([1, 2, 0.5, -1], np.float32)
    data, scale = interpret(rewritten, [x, np.float32(2.0**-40), y, np.float32(1)])
    assert np.abs(data).max() <= 4
    np.testing.assert_array_equal(data * scale, x * np.float32(2.0**-40) + 1 / y)


@pytest.mark.parametrize(("element", "maxima"), [("f32", 0), ("f16", 1)])
def test_a_polynomial_with_scales_of_its_coefficients(element: str, maxima: int) -> None:
    """a x + b x^3 is about as large as a x in types that hold both; narrow ones take the larger scale."""
    rewritten = rewrite_module(f"""
func.func public @main(%a: tensor<4x{element}>, %b: tensor<4x{element}>, %x: tensor<4x{element}>) -> tensor<4x{element}> {{
  %p = stablehlo.multiply %a, %x : tensor<4x{element}>
  %q = stablehlo.multiply %x, %x : tensor<4x{element}>
  %r = stablehlo.multiply %q, %x : tensor<4x{element}>
  %s = stablehlo.multiply %b, %r : tensor<4x{element}>
  %t = stablehlo.add %p, %s : tensor<4x{element}>
  return %t : tensor<4x{element}>
}}""")  # noqa: E501
    # Those with a constant keep the scales that are returned above zero.
    names = re.findall(r"%(\w+) = stablehlo.(?:constant|clamp)", rewritten)
    operands = re.findall(r"stablehlo.maximum %(\w+), %(\w+)", rewritten)
    assert len([pair for pair in operands if not set(pair) & set(names)]) == maxima, rewritten
