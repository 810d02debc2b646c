"""Second moments that are stored in f16 and vanish there: the step that divides by them would be of any size."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc


def test_a_second_moment_vanishes_only_where_it_is_zero() -> None:
    """Gradients from 1 to 2^-13 of the largest: f16 holds all of them, and half of their squares."""
    optax = pytest.importorskip("optax", reason="optax is not installed")
    optimizer = optax.adam(1e-2)

    def train_step(weights, state, x):  # type: ignore[no-untyped-def]
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(weights)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(weights, updates), state, loss

    sizes = np.logspace(0, -4, 16).astype(np.float32)
    sizes[-1] = 0
    weights, x = np.ones((16, 8), np.float32), np.ones((4, 16), np.float32) * sizes
    step = sc.scalify(train_step, precision="fp8-fp16-state")
    inputs = sc.as_scaled_array((weights, optimizer.init(weights), x))
    _, (state, *_), _ = step(*step.stored(*inputs)[:2], inputs[2])
    assert state.nu.data.dtype == np.float16
    assert np.asarray(state.mu.data[:-1]).all()
    np.testing.assert_array_equal(np.asarray(state.nu.data) == 0, np.repeat(sizes[:, None] == 0, 8, 1))


def test_so_it_does_where_an_epsilon_is_added_to_what_is_stored() -> None:
    """ACProp divides by the moment of the last step, to which it has added an epsilon that f16 does not hold."""

    def train_step(weights, state, x):  # type: ignore[no-untyped-def]
        loss, g = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(weights)
        m, v = 0.9 * state["m"] + 0.1 * g, 0.999 * state["v"] + 0.001 * jnp.square(g) + 1e-16
        return weights - 1e-3 * g / jnp.sqrt(state["v"] + 1e-30), {"m": m, "v": v}, loss

    sizes = np.logspace(0, -4, 16).astype(np.float32)
    weights, x = np.ones((16, 8), np.float32), np.ones((4, 16), np.float32) * sizes
    step = sc.scalify(train_step, precision="fp8-fp16-state")
    inputs = sc.as_scaled_array((weights, {"m": np.zeros_like(weights), "v": np.zeros_like(weights)}, x))
    _, state, _ = step(*step.stored(*inputs)[:2], inputs[2])
    assert state["v"].data.dtype == np.float16
    assert np.asarray(state["v"].data).all()
