"""State of zeros that a function is given, at their scale of nearly zero, and that a loop computes with and returns."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

RNG = np.random.default_rng(0)
WIDTH = 8
X = np.float32(RNG.standard_normal((6, 4, WIDTH)) / 3)
WEIGHTS = [np.float32(RNG.standard_normal((WIDTH, WIDTH)) / 3) for _ in range(3)]
ZEROS = np.zeros((4, WIDTH), np.float32)


def _leaky(w: Any, state: Any, x: Any) -> Any:
    return jnp.tanh(x + state @ w[0]) + jax.nn.sigmoid(x) * state


def _gated_recurrent_unit(w: Any, state: Any, x: Any) -> Any:
    """Cho et al., 2014."""
    reset, update = jax.nn.sigmoid(x + state @ w[0]), jax.nn.sigmoid(x - state @ w[1])
    new = jnp.tanh(x + reset * (state @ w[2]))
    return new + update * (state - new)


def _momentum(w: Any, state: Any, x: Any) -> Any:
    """Of an inner loop of gradient descent on the activations."""
    return 0.9 * state - 0.1 * jax.grad(lambda s: jnp.sum(jnp.tanh(s @ w[0] + x) ** 2))(state)


@pytest.mark.parametrize("cell", [_leaky, _gated_recurrent_unit, _momentum])
@pytest.mark.parametrize(("precision", "tolerance"), [("f32", 1e-5), ("bf16", 0.03), ("fp16", 0.004)])
def test_gradients_of_loops_that_return_state(cell: Callable[..., Any], precision: Any, tolerance: float) -> None:
    """What the loop saved of the state had the scale of the zeros: gradients were 0, infinite or NaN."""

    def loss(w: Any, x: Any, state: Any) -> Any:
        def step(state: Any, x: Any) -> Any:
            state = cell(w, state, x)
            return state, state

        state, states = jax.lax.scan(step, state, x)
        return jnp.mean((states - 1) ** 2), state

    gradient = jax.grad(loss, has_aux=True)
    want = gradient(WEIGHTS, X, ZEROS)
    found = sc.scalify(gradient, precision=precision)(*sc.as_scaled_array((WEIGHTS, X, ZEROS)))
    for got, right in zip(jax.tree.leaves(sc.asarray(found)), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(np.float32(got), right, atol=tolerance * np.abs(right).max(), rtol=0)
