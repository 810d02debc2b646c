"""Quotients x / (1 + x) in what products read: where x is small they are of degree 1 in x.

# n / (1 + n) s, n = |s|^2: s^3 where s is below 1, s above
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

ROUNDED = {"xla_allow_excess_precision": False}


def _squashed(s: Any) -> Any:
    n = jnp.sum(s**2, -1, keepdims=True)
    return n / (1 + n) * s


def _routed(votes: Any, w: Any) -> Any:
    """Capsules: votes are weighted by how they agree with their weighted mean, twice."""

    def body(_: Any, b: Any) -> Any:
        mean = jnp.einsum("bi,bie->be", jax.nn.softmax(b), votes)
        return b + jnp.einsum("bie,be->bi", votes, _squashed(mean))

    del w
    return jax.lax.fori_loop(0, 2, body, jnp.zeros(votes.shape[:2]))


def _bound(votes: Any, w: Any) -> Any:
    """Hill's law, of what binds three of another."""
    h = jnp.mean(votes @ w, 1)
    return (h**3 / (1 + jnp.abs(h) ** 3) * h) @ w


def _gated(votes: Any, w: Any) -> Any:
    """Rows that are passed on as far as they are long."""
    return _squashed(jnp.sum(votes, 1) / 64 @ w) @ w


@pytest.mark.parametrize("function", [_routed, _bound, _gated])
def test_of_sums_that_agree(function: Callable[[Any, Any], Any]) -> None:
    """Sums of 64 votes that are all positive are 2^5 above the size that is estimated: what is routed was infinite."""
    generator = np.random.default_rng(0)
    x = np.float32(generator.uniform(0, 1, (32, 256)))
    a, c, d, w = (
        np.float32(factor * (generator.normal(size=shape) + 0.5))
        for factor, shape in ((0.02, (256, 128)), (0.02, (128, 512)), (0.1, (64, 8, 8)), (0.1, (8, 8)))
    )

    def whole(x: Any, a: Any, c: Any, d: Any, w: Any) -> Any:
        u = jnp.tanh(jax.nn.relu(x @ a) @ c).reshape(32, 64, 8)
        return function(jnp.einsum("bid,ide->bie", u, d), w)

    expected = np.asarray(jax.jit(whole)(x, a, c, d, w), np.float64)
    scaled: Any = jax.jit(sc.scalify(whole, precision="fp16"), compiler_options=ROUNDED)
    got = np.asarray(scaled(*sc.as_scaled_array((x, a, c, d, w))), np.float64)
    assert np.linalg.norm(got - expected) < 2e-3 * np.linalg.norm(expected)
