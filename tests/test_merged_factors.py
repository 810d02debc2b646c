"""A power of two that follows another is merged into it, with the same bits."""

import re
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo import rewrite_module
from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.emit.merged_factors import merge_factors
from scalify_hlo.execution import xla
from scalify_hlo.module.constants import splat_number
from scalify_hlo.module.dead_code import erase_dead


def centred(x: jax.Array) -> jax.Array:
    return x - jnp.mean(x, axis=-1, keepdims=True)


def _rewritten(fun: Callable[..., object], *shapes: tuple[int, ...]) -> str:
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float16) for shape in shapes]
    return rewrite_module(jax.jit(fun).lower(*arguments).as_text())


def test_a_mean_has_one_factor() -> None:
    text = _rewritten(centred, (8, 64))
    factors = re.findall(r"constant dense<(\S+)> : tensor<8x\d+x\w+>", text)
    assert [float(factor) for factor in factors] == [1 / 64]
    assert len(re.findall(r"stablehlo.multiply .*tensor<8x", text)) == 1


@pytest.mark.parametrize("exponent", [-40, 0, 40])
def test_the_bits_are_those_of_two_factors(exponent: int) -> None:
    x = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float16) + np.float16(3)
    scale = np.float32(2.0**exponent)
    data, found = xla.compile(_rewritten(centred, (8, 64)))([x, scale])
    assert found == scale
    sums = x.astype(np.float32).sum(axis=-1, keepdims=True)
    mean = ((sums / 8).astype(np.float16) * np.float16(1 / 8)).astype(np.float16)
    np.testing.assert_array_equal(data, x - mean)


def test_what_is_read_between_two_factors_stays() -> None:
    """The mean is a result: it keeps its own scale, and its factor."""

    def both(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        mean = jnp.mean(x, axis=-1, keepdims=True)
        return mean, x - mean

    text = _rewritten(both, (8, 64))
    assert len(re.findall(r"stablehlo.multiply .*tensor<8x", text)) == 2


_CHAIN = """func.func @main(%x: tensor<8xf16>) -> tensor<8xf32> {{
  %a = stablehlo.constant dense<{first}> : tensor<8xf16>
  %b = stablehlo.constant dense<{second}> : tensor<8xf32>
  %p = stablehlo.multiply %x, %a : tensor<8xf16>
  %w = stablehlo.convert %p : (tensor<8xf16>) -> tensor<8xf32>
  %q = stablehlo.multiply %w, %b : tensor<8xf32>
  return %q : tensor<8xf32>
}}"""


def test_a_factor_in_a_wider_type_is_not_moved_into_a_narrow_one() -> None:
    """2^10 x of 2^8 is beyond f16, where the first factor is, and within f32, where the second is."""
    with make_context():
        module = ir.Module.parse(_CHAIN.format(first="1.0e+00", second="1.024e+03"))
        before = str(module)
        merge_factors(module)
        assert str(module) == before


_MEAN = """func.func @main(%x: tensor<8xf32>) -> tensor<f32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %f = stablehlo.constant dense<{first}> : tensor<8xf32>
  %n = stablehlo.constant dense<{second}> : tensor<f32>
  %p = stablehlo.multiply %x, %f : tensor<8xf32>
  %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %r = stablehlo.divide %s, %n : tensor<f32>
  return %r : tensor<f32>
}}"""


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        (0.25, 3.0, [("divide", 12.0)]),  # a quotient stays one: x / 12 is not x * round(1 / 12)
        (0.25, 0.25, []),  # the inverse of one another
        (4.0, 0.5, [("multiply", 8.0)]),
        (0.3, 4.0, [("multiply", 0.3), ("divide", 4.0)]),  # rounded before the sum
        (0.3, 3.0, [("multiply", 0.3), ("divide", 3.0)]),
    ],
)
def test_factors_around_a_sum(first: float, second: float, left: list[tuple[str, float]]) -> None:
    """A power of two before a sum is merged with what its result is divided by, with the same bits."""
    text = _MEAN.format(first=first, second=second)
    with make_context():
        module = ir.Module.parse(text)
        merge_factors(module)
        assert module.operation.verify()
        erase_dead(module)
        merged = str(module)
        factors = [op for op in walk(module.operation) if op.name in ("stablehlo.multiply", "stablehlo.divide")]
        numbers = [splat_number(op.operands[1].owner.operation) or 0.0 for op in factors]
        found = [
            (op.name.removeprefix("stablehlo."), round(number, 3)) for op, number in zip(factors, numbers, strict=True)
        ]
    assert found == left
    x = np.random.default_rng(0).standard_normal(8).astype(np.float32)
    np.testing.assert_array_equal(xla.compile(merged)([x]), xla.compile(text)([x]))


@pytest.mark.parametrize("first", ["divide", "multiply"])
def test_factors_of_integers_stay(first: str) -> None:
    """A half of 3 is 1, and twice that 2."""
    text = f"""func.func public @main(%x: tensor<4xi32>) -> tensor<4xi32> {{
  %c = stablehlo.constant dense<2> : tensor<4xi32>
  %d = stablehlo.constant dense<4> : tensor<4xi32>
  %0 = stablehlo.{first} %x, %c : tensor<4xi32>
  %1 = stablehlo.multiply %0, %d : tensor<4xi32>
  return %1 : tensor<4xi32>
}}"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        before = str(module)
        merge_factors(module)
        assert str(module) == before
