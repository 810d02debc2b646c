"""Powers of a scale are counted through calls: a function is told of what its factors are powers of, and how they grow.

Each program evaluates a function of high degree in a piece that it does not select, where the function's scale would be
beyond f32 and its quotient NaN.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_RNG = np.random.default_rng(0)
_ABOVE, _BELOW = (np.float32(_RNG.standard_normal(16)) for _ in range(2))


@jax.jit
def _polynomial(coefficients: jax.Array, x: jax.Array) -> jax.Array:
    y = jnp.zeros_like(x)
    for i in range(16):
        y = jax.jit(lambda y, x, c: y * x + c)(y, x, coefficients[i])
    return y


def _rational(x: jax.Array) -> jax.Array:
    t = 1 / (x * x)
    return jnp.where(jnp.abs(x) > 4, _polynomial(_ABOVE, t) / _polynomial(_BELOW, t), x)


@jax.jit
def _sixth_power(x: jax.Array) -> jax.Array:
    y = x
    for k in range(30):
        y = jnp.maximum(y, x * x / (k + 2))
    return y * y * y


@jax.custom_jvp
def _powers(x: jax.Array) -> jax.Array:
    return _sixth_power(_sixth_power(x))


@_powers.defjvp
def _(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    return _powers(*primals), tangents[0] * _sixth_power(primals[0])


def _nested(x: jax.Array) -> jax.Array:
    y = _powers(x)
    return jnp.where(x > 3, 0.0, jnp.tanh(_sixth_power(y) / (1 + y**3)))


@jax.custom_jvp
def _series(x: jax.Array) -> jax.Array:
    return _in_inverse_squares(1 / x**2)


@jax.jit
def _in_inverse_squares(t: jax.Array) -> jax.Array:
    y = 1 + t
    for k in range(30):
        y = jnp.where(t < k, y + 0.1, y)
    for _ in range(6):
        y = y * t + 1
    return y


_series.defjvp(lambda primals, tangents: (_series(*primals), tangents[0] * _series(*primals)))


@pytest.mark.parametrize(("function", "exponent"), [
    (jax.scipy.special.sici, -9), (jax.scipy.special.sici, -20), (_rational, -9),
    (_nested, 6), (lambda x: jax.grad(lambda x: _nested(x).sum())(x), 6),
    (lambda x: jnp.where(x > 3, _series(x) * _series(2 * x), jnp.sin(x)), -20),
], ids=["sici", "small sici", "rational", "powers", "gradient of powers", "inverse squares"])  # fmt: skip
def test_a_function_of_high_degree_that_is_not_selected(function: Callable[[Any], Any], exponent: int) -> None:
    scale = np.float32(2.0**exponent)
    x = np.float32([0.3, 0.9, 0.0, 0.7]) * min(scale, np.float32(1))
    expected = jax.tree.leaves(jax.jit(function)(x))
    pairs = sc.scalify(function)(sc.scaled_array(x / scale, scale))
    found = jax.tree.leaves(pairs, is_leaf=lambda each: isinstance(each, sc.ScaledArray))
    assert len(found) == len(expected)
    for value, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(value), np.asarray(reference), rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_scan_that_runs_once_is_its_body(steps: int) -> None:
    """sici evaluates polynomials so from jax 0.12 on: carried scales were those of a loop, beyond f32."""

    def polynomial(coefficients: np.ndarray, x: jax.Array) -> jax.Array:
        def body(y: jax.Array, part: jax.Array) -> tuple[jax.Array, None]:
            for i in range(part.size):
                y = y * x + part[i]
            return y, None

        return jax.lax.scan(body, jnp.zeros_like(x), coefficients.reshape(steps, -1))[0]

    def function(x: jax.Array) -> jax.Array:
        return jnp.where(jnp.abs(x) > 4, polynomial(_ABOVE, 1 / (x * x)) / polynomial(_BELOW, 1 / (x * x)), x)

    scale = np.float32(2.0**-9)
    x = np.float32([0.3, 0.9, 0.1, 0.7])
    expected = np.asarray(jax.jit(function)(x * scale))
    pairs = sc.scalify(function)
    if steps == 1:
        assert "stablehlo.while" not in pairs.lower(sc.scaled_array(x, scale)).as_text()
        np.testing.assert_allclose(np.asarray(pairs(sc.scaled_array(x, scale))), expected, rtol=2e-6)
    else:
        assert "stablehlo.while" in pairs.lower(sc.scaled_array(x, scale)).as_text()


def test_a_factor_is_the_lowest_root() -> None:
    """# s^-4 t^2 = (s^2 t^-1)^-2"""
    from scalify_hlo.scale import Scale, Symbol

    s, t = (Symbol(i, None, (), 0, positive=False) for i in (1, 2))  # pyright: ignore[reportArgumentType]
    assert Scale(3, ((s, -4), (t, 2))).primitive() == (Scale(0, ((s, 2), (t, -1))), -2)
    assert Scale(0, ((s, -3),)).primitive() == (Scale(0, ((s, 1),)), -3)
    assert Scale(0, ((s, 1), (t, -1))).primitive() == (Scale(0, ((s, 1), (t, -1))), 1)
