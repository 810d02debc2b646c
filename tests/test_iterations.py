"""Iterations whose estimates would run away though their values do not."""

import functools

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


@pytest.mark.parametrize("start", [-1e38, float(np.finfo(np.float32).min), -1e30, -1e9, -100.0])
def test_running_maximum_from_far_below(start: float) -> None:
    """At the scale of the start, 2^126, other data would be 0. (RWKV and attention by blocks start from there.)"""
    values = np.random.default_rng(0).standard_normal((10, 8)).astype(np.float32)

    def step(largest: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        found = jnp.maximum(largest, x)
        return found, jnp.exp(largest - found)

    assert_same(lambda values: jax.lax.scan(step, jnp.full(8, start), values), values)
