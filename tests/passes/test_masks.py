"""Finite stand-ins for minus infinity: rows of which all is masked have even weights in every type, as in f32."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo.passes.held_values import fits

CALLED, CHOSEN = "jnp.where, a function of its own", "lax.select"
LEAST = float(np.finfo(np.float32).min)


def _attention(how: str, mask: float, q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """The first rows see nothing."""
    rows = jnp.arange(q.shape[0])[:, None]
    seen = (rows > 1) & (rows >= jnp.arange(k.shape[0]))
    logits = q @ k.T
    masked = jnp.where(seen, logits, mask)
    if how == CHOSEN:
        masked = jax.lax.select(seen, logits, jnp.full_like(logits, mask))
    return jax.nn.softmax(masked, axis=-1) @ v


@pytest.mark.parametrize("how", [CALLED, CHOSEN])
@pytest.mark.parametrize(("precision", "mask"), [("fp16", -1e9), ("fp16", LEAST), ("bf16", LEAST)])
def test_rows_of_which_all_is_masked_are_finite(precision: Any, mask: float, how: str) -> None:
    """-inf - -inf: the number became infinite in the narrow type, whose range was looked at for arguments alone."""
    rng = np.random.default_rng(0)
    arrays = [np.float32(rng.standard_normal((4, 4))) for _ in range(3)]
    want = _attention(how, mask, *map(jnp.asarray, arrays))
    attention = scalify_hlo.scalify(lambda q, k, v: _attention(how, mask, q, k, v), precision=precision)
    got = attention(*(scalify_hlo.as_scaled_array(array, 1.0) for array in arrays))
    tolerance = 4e-3 if precision == "fp16" else 3e-2
    np.testing.assert_allclose(np.float32(got.data) * np.float32(got.scale), want, atol=tolerance)


def test_a_number_that_becomes_infinite_does_not_fit() -> None:
    assert fits(65504.0, "f16") and not fits(65535.0, "f16")
    assert fits(-3.38e38, "bf16") and not fits(LEAST, "bf16")
    assert fits(448.0, "f8E4M3FN") and not fits(460.0, "f8E4M3FN")
