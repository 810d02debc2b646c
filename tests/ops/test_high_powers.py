"""Powers above the fourth: formed as values, which nothing is known of in f32 and which are near 1 in narrow types."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo

FAR = np.float32(np.random.default_rng(0).standard_normal((12, 3)) * 2.0**12)


def scaled(x: Any) -> Any:
    return scalify_hlo.as_scaled_array(x)


def inverse_cube(r: jax.Array) -> jax.Array:
    """Gravity, of which the gradient has a power of -6."""
    return -1e10 * r / jnp.linalg.norm(r, axis=-1, keepdims=True) ** 3


def orbit(w: jax.Array, r: jax.Array) -> jax.Array:
    """Distances, after two steps in a loop."""

    def body(carry: tuple[jax.Array, jax.Array], _: None) -> tuple[tuple[jax.Array, jax.Array], None]:
        place, speed = carry
        speed = speed + inverse_cube(place) + jnp.tanh(place / 4096 @ w)
        return (place + speed, speed), None

    (place, _), _ = jax.lax.scan(body, (r, jnp.zeros_like(r)), None, length=2)
    return jnp.mean(jnp.linalg.norm(place, axis=-1))


@pytest.mark.parametrize(("precision", "tolerance"), [(None, 1e-5), ("fp16", 3e-3)])
def test_inverse_powers_that_a_loop_stacks(precision: str | None, tolerance: float) -> None:
    w = np.float32(np.random.default_rng(1).standard_normal((3, 3)) / 4)
    gradient = jax.grad(orbit, argnums=(0, 1))
    options = {} if precision is None else {"precision": precision}
    found = jax.jit(scalify_hlo.scalify(gradient, **options))(*scaled((w, FAR)))
    for mine, expected in zip(found, gradient(w, FAR), strict=True):
        error = np.asarray(mine, np.float64) - np.asarray(expected, np.float64)
        assert np.linalg.norm(error) < tolerance * np.linalg.norm(expected)


def fifth(x: jax.Array) -> jax.Array:
    return jax.lax.integer_pow(x, 5)


def sixth(x: jax.Array) -> jax.Array:
    return jax.lax.pow(x, np.full(x.shape, 6, x.dtype))


def reciprocal_sixth(x: jax.Array) -> jax.Array:
    return 1 / (x * x * x * x * x * x)


@pytest.mark.parametrize(
    ("function", "exponent"),
    [(f, e) for f in (fifth, sixth, reciprocal_sixth) for e in (0, 4)],
)
def test_powers_in_f16(function: Callable[[jax.Array], jax.Array], exponent: int) -> None:
    """As values they are infinite of 2^4; powers of what is small stay values (products of gates)."""
    data = np.float16(np.random.default_rng(2).uniform(0.7, 1.4, 64))
    x = scalify_hlo.ScaledArray(data, np.float32(2.0**exponent))
    expected = function(np.float64(data) * 2.0**exponent)
    found = np.asarray(scalify_hlo.scalify(function)(x), np.float64)
    np.testing.assert_allclose(found, np.asarray(expected), rtol=2.0**-8)
