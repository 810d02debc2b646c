"""Choices between far multiples of a tensor by its own size are made on values; others keep the tensor's scale."""

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.recognition.range_reductions import find_range_reductions
from tests.recognition.counting import count_found

Function = Callable[[Any], Any]


def _square(x: jax.Array) -> jax.Array:
    """x^2, of which f16 cannot form the square where |x| < 2^-12 or |x| > 2^8."""
    small, large = jnp.abs(x) <= 2.0**-5, jnp.abs(x) >= 2.0**5
    reduced = jax.lax.select(large, x * 2.0**-6, jax.lax.select(small, x * 2.0**10, x))
    return reduced * reduced


def _found(function: Function) -> int:
    return count_found(find_range_reductions, jax.jit(function).lower(np.zeros(4, np.float16)).as_text())


def _select(predicate: Function, far: float) -> Function:
    def function(x: Any) -> Any:
        return jax.lax.select(predicate(x), x * far, x)

    return function


def _or_sine(x: Any) -> Any:
    return jax.lax.select(jnp.abs(x) < 0.25, x * 4096, jnp.sin(x))


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (_select(lambda x: jnp.abs(x) < 0.25, 2.0**12), 1),
        (_select(lambda x: x * 1 > 64, 2.0**-9), 0),  # not the size of x but a product, which has another
        (_select(lambda x: -x > 64, 2.0**-9), 1),
        (_select(lambda x: x > 0, 1e-3), 0),  # a leaky relu: its result has the size of x
        (_select(lambda x: jnp.arange(x.size) > 2, 2.0**12), 0),
        (_select(lambda x: jnp.abs(x) < 0.25, 2.0**4), 0),
        # The squares of both multiples: half of f16's 29 octaves.
        (_select(lambda x: jnp.abs(x) < 0.25, 2.0**7), 0),
        (_select(lambda x: jnp.abs(x) < 0.25, 2.0**8), 1),
        (_or_sine, 0),
    ],
)
def test_what_is_one(function: Function, count: int) -> None:
    assert _found(function) == count


@pytest.mark.parametrize("exponent", [-6, 0, 7])
def test_both_multiples_are_kept(exponent: int) -> None:
    x = np.array([0.7, 0.04, 0.01, 40.0, -3.0], np.float16) * np.float16(2.0 ** min(-exponent, 0))
    values = x.astype(np.float64) * 2.0**exponent
    found = sc.scalify(_square)(sc.ScaledArray(x, np.float32(2.0**exponent)))
    expected = np.asarray(jax.jit(_square)(values.astype(np.float32)), np.float64)
    np.testing.assert_allclose(np.asarray(found.data, np.float64) * float(found.scale), expected, rtol=3e-3)


@pytest.mark.parametrize("exponent", [0, 4, 8])
def test_hypot(exponent: int) -> None:
    x, y = np.array([0.7, 3.0, -0.1], np.float16), np.array([0.2, 1.0, 0.3], np.float16)
    scale = np.float32(2.0**exponent)
    found = sc.scalify(jnp.hypot)(sc.ScaledArray(x, scale), sc.ScaledArray(y, scale))
    expected = np.hypot(x.astype(np.float64), y.astype(np.float64))
    np.testing.assert_allclose(np.asarray(found.data, np.float64) * float(found.scale / scale), expected, rtol=3e-3)


@pytest.mark.parametrize("rules", ["default", "paper"])
def test_frexp_in_f16(rules: Literal["default", "paper"]) -> None:
    """Of 2^23 x for subnormal f32, chosen by |x|, 2^-23 was left in the data of f16 by the paper's rules."""
    x = np.array([0.7, -0.04, 3.0, 40.0], np.float32)
    found = sc.scalify(
        lambda x: jnp.frexp(jnp.maximum(x, -0.1)), precision="fp16", options=ScalifyOptions(rules=rules)
    )(sc.as_scaled_array(x))
    mantissa, exponent = np.frexp(np.maximum(x, -0.1))
    np.testing.assert_array_equal(np.asarray(found[1]), exponent)
    np.testing.assert_allclose(np.asarray(found[0]), mantissa, rtol=1e-3)
