"""Values whose scale would leave the range of f32 have none, and what is made of them by products is not scaled either.

In g / sqrt(mean(g^2)) the scale of g is a power of the arguments' that f32 holds, and that of g^2 is not: the quotient
would have the scale of g, though its size is 1. Adam's update of such gradients took the weights with it.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

Array = jax.Array


def _power(x: Array, degree: int) -> Array:
    """Of this degree in the scale of x."""
    result = x
    for k in range(1, degree):
        result = result * jnp.roll(x, k)
    return result


def _normalised(x: Array) -> Array:
    g = _power(x, 3)
    return g / jnp.sqrt(jnp.mean(g * g))


def _adam(x: Array) -> Array:
    g = _power(x, 3)
    m, v = 0.9 * jnp.zeros_like(g) + 0.1 * g, 0.999 * jnp.zeros_like(g) + 0.001 * g**2
    return 0.01 * (m / 0.1) / (jnp.sqrt(v / 0.001) + 1e-30)


@jax.jit
def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x))


def _first_step(x: Array) -> Array:
    """Of a solver: as far as two of the value's own sizes go."""
    slope = _power(x, 3)
    step = 0.01 * _norm(x) / _norm(slope)
    return (x + step * slope) / _norm(x)


def _projected(x: Array) -> Array:
    g = _power(x, 3)
    return g * (jnp.dot(g, x) / jnp.dot(g, g)) / _norm(x)


@pytest.mark.parametrize("exponent", [-4, 0, 4])
@pytest.mark.parametrize("function", [_normalised, _adam, _first_step, _projected])
def test_a_quotient_of_sizes_of_a_high_degree_is_near_unit_size(function: Callable[[Any], Any], exponent: int) -> None:
    data = np.random.default_rng(0).uniform(0.7, 1.3, 16).astype(np.float32)
    scaled = sc.scalify(function)(sc.ScaledArray(data, np.float32(2.0**exponent)))
    value = np.asarray(scaled.data, np.float64) * float(scaled.scale)
    np.testing.assert_allclose(value, function(data * np.float32(2.0**exponent)), rtol=2e-5)
    assert 2.0**-10 <= np.sqrt(np.mean(np.asarray(scaled.data, np.float64) ** 2)) <= 2.0**4
