"""Iterations whose estimates would run away though their values do not."""

import functools
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.same_program import assert_same

_COEFFICIENTS = np.asarray([3.4445, -4.775, 2.0315], np.float32)


def _orthogonalised(x: jax.Array, coefficients: jax.Array, steps: int) -> jax.Array:
    """Newton and Schulz's iteration as Muon has it: singular values approach 1, the polynomial's terms cancel."""
    x = x / (jnp.linalg.norm(x) + 1e-8)
    for _ in range(steps):
        a = x @ x.T
        b = coefficients[1] * a + coefficients[2] * a @ a
        x = coefficients[0] * x + b @ x
    return x


@pytest.mark.parametrize("size", [1.0, 1e-4])
@pytest.mark.parametrize("given", [False, True], ids=["constants", "arguments"])
def test_newton_schulz_written_out(given: bool, size: float) -> None:
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32) * np.float32(size)
    if given:
        assert_same(functools.partial(_orthogonalised, steps=5), x, _COEFFICIENTS)
    else:
        assert_same(lambda x: _orthogonalised(x, _COEFFICIENTS, 10), x)


def _logistic_map(x: jax.Array) -> jax.Array:
    for _ in range(10):
        x = 2.9 * x * (1 - x)
    return x


def _newton_inverse(a: jax.Array) -> jax.Array:
    x = a.T / (jnp.abs(a).sum(0).max() * jnp.abs(a).sum(1).max())
    for _ in range(15):
        x = x @ (2 * jnp.eye(5, dtype=a.dtype) - a @ x)
    return x


def _linear_recurrence(weight: jax.Array, x: jax.Array) -> jax.Array:
    for _ in range(60):
        x = x @ weight
    return x


def _deep_linear(weights: jax.Array, x: jax.Array) -> jax.Array:
    for weight in weights:
        x = x @ weight
    return jnp.sum(jnp.sin(x))


def _bilinear(weights: jax.Array, x: jax.Array) -> jax.Array:
    for left, right in weights:
        x = (x @ left) * (x @ right)
        x = x / (1 + jnp.abs(x))
    return jnp.sum(x)


def _squared_activations(weights: jax.Array, x: jax.Array) -> jax.Array:
    for weight in weights:
        x = jnp.square(x @ weight)
    return x


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


_ORTHOGONAL = np.linalg.qr(_normal(30, 6, 6))[0]
# The scale is raised to a power at each step, or multiplied by another; the values stay in range.
_WRITTEN_OUT = {
    "logistic map": (_logistic_map, (np.abs(_normal(8)) % 1,)),
    "Newton's inverse": (_newton_inverse, (_normal(5, 5) + 3 * np.eye(5, dtype=np.float32),)),
    "linear recurrence": (_linear_recurrence, (_ORTHOGONAL[0], _normal(3, 6))),
    "deep linear network": (jax.grad(_deep_linear, argnums=(0, 1)), (_ORTHOGONAL, _normal(3, 6))),
    "bilinear layers": (jax.grad(_bilinear, argnums=(0, 1)), (_normal(10, 2, 6, 6) * np.float32(0.3), _normal(3, 6))),
    "squared activations": (_squared_activations, (_normal(6, 6, 6) * np.float32(0.3), _normal(3, 6))),
}


@pytest.mark.parametrize("scales", ["rms", "one"])
@pytest.mark.parametrize("name", _WRITTEN_OUT)
def test_iteration_that_multiplies_its_scale(name: str, scales: Literal["rms", "one"]) -> None:
    """Its scale would leave the range of f32 (of `bilinear layers` even that of Python's numbers)."""
    fun, arguments = _WRITTEN_OUT[name]
    assert_same(fun, *arguments, scales=scales)


def test_constant_times_a_high_power() -> None:
    """A product whose scale is a high power is computed on values; 56 was split into 0.875 and 2^6, which got lost."""

    def fun(a: jax.Array) -> jax.Array:
        a2 = a @ a
        a4 = a2 @ a2
        return 56.0 * (a4 @ a2) + 25200.0 * a4

    assert_same(fun, _normal(6, 6))


@pytest.mark.parametrize("norm", [0.2, 1.0, 4.0, 40.0])
def test_matrix_exponential(norm: float) -> None:
    """Pade approximants with coefficients up to 3e7, one of them chosen by the norm, and repeated squaring."""
    a = _normal(6, 6)
    assert_same(jax.scipy.linalg.expm, a * np.float32(norm / np.linalg.norm(a, 1)))


@pytest.mark.parametrize("start", [-1e38, float(np.finfo(np.float32).min), -1e30, -1e9, -100.0])
def test_running_maximum_from_far_below(start: float) -> None:
    """At the scale of the start, 2^126, other data would be 0. (RWKV and attention by blocks start from there.)"""
    values = np.random.default_rng(0).standard_normal((10, 8)).astype(np.float32)

    def step(largest: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = jnp.maximum(largest, x)
        return found, jnp.exp(largest - found)

    assert_same(lambda values: jax.lax.scan(step, jnp.full(8, start), values), values)
