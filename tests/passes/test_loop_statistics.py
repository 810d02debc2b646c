"""Statistics that a scan saves for its gradient stay in f32, as outside of loops."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc


def _loss(weights: jax.Array, x: jax.Array) -> jax.Array:
    """Residual layers behind an RMS norm, whose gradient reads rsqrt(v) / v: 1e9 where v is its epsilon alone."""

    def layer(h: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
        normed = h * jax.lax.rsqrt(jnp.mean(h * h, axis=-1, keepdims=True) + 1e-6)
        return h + jnp.tanh(normed @ w), None

    return jnp.mean(jax.lax.scan(layer, x, weights)[0] ** 2)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 4e-3), ("fp8", 0.15)])
def test_rows_of_zeros_through_a_norm_in_a_scan(precision: Any, tolerance: float) -> None:
    """f16 does not hold 1e9, and infinity times the row of zeros is NaN."""
    rng = np.random.default_rng(0)
    weights, x = np.float32(rng.standard_normal((2, 8, 8)) * 0.3), np.float32(rng.standard_normal((4, 8)))
    x[1] = x[3] = 0
    want = np.asarray(jax.grad(_loss)(jnp.asarray(weights), jnp.asarray(x)))
    got: Any = sc.scalify(jax.grad(_loss), precision=precision)(sc.as_scaled_array(weights, 1.0), x)
    got = np.float32(got.data) * np.float32(got.scale)
    assert np.linalg.norm(got - want) <= tolerance * np.linalg.norm(want)
