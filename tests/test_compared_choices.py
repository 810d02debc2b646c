"""What is compared with the largest of some elements is rounded as these were: `x == max(x)` holds somewhere."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo

GENERATOR = np.random.default_rng(0)
WEIGHTS = np.float32(GENERATOR.standard_normal((32, 8)) / 6)
INPUTS = np.float32(GENERATOR.standard_normal((64, 32)))

Scores = Callable[[jax.Array], jax.Array]
SCORES: dict[str, Scores] = {
    "sums of groups": lambda h: h.reshape(-1, 2, 4).sum(-1),
    "sums of the two largest": lambda h: jax.lax.top_k(h.reshape(-1, 2, 4), 2)[0].sum(-1),
    "norms": lambda h: jnp.linalg.norm(h.reshape(-1, 4, 2), axis=-1),
    "means": lambda h: h.reshape(-1, 4, 2).mean(-1),
}


def trained(step: Callable[[jax.Array, jax.Array], Any], precision: str) -> Any:
    rewritten = scalify_hlo.scalify(step, precision=precision)
    state, inputs = scalify_hlo.as_scaled_array((WEIGHTS, INPUTS))
    state, _ = rewritten.stored(state, inputs)
    return jax.jit(rewritten)(state, inputs)


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
@pytest.mark.parametrize("name", SCORES)
def test_the_largest_is_found(name: str, precision: str) -> None:
    """Routing limited to groups, masks of the largest."""

    def step(weights: jax.Array, inputs: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        def loss(weights: jax.Array) -> tuple[jax.Array, jax.Array]:
            scores = SCORES[name](jnp.tanh(inputs @ weights))
            chosen = scores == scores.max(-1, keepdims=True)
            return jnp.mean(jnp.where(chosen, scores, 0) ** 2), chosen.any(-1).mean(dtype=jnp.float32)

        (value, found), gradient = jax.value_and_grad(loss, has_aux=True)(weights)
        return weights - 0.1 * gradient, value, found

    assert float(trained(step, precision)[2]) == 1.0


@pytest.mark.parametrize("name", SCORES)
def test_the_gradient_of_a_maximum(name: str) -> None:
    """JAX writes it with a comparison."""

    def step(weights: jax.Array, inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(weights: jax.Array) -> jax.Array:
            return jnp.mean(SCORES[name](inputs @ weights).max(-1) ** 2)

        value, gradient = jax.value_and_grad(loss)(weights)
        return weights - 0.1 * gradient, value

    change, expected = (
        np.asarray(weights, np.float64) - WEIGHTS
        for weights in (trained(step, "fp16")[0], jax.jit(step)(WEIGHTS, INPUTS)[0])
    )
    assert np.linalg.norm(change - expected) < 2e-3 * np.linalg.norm(expected)
