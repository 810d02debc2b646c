"""Solvers that join a state and the gradients of all weights to one vector: `jax.experimental.ode.odeint` backwards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.ode import odeint

import scalify_hlo as sc

rng = np.random.default_rng(0)


def draw(*shape: int):
    return np.float32(rng.standard_normal(shape) / np.sqrt(shape[0]))


def error(found, wanted) -> float:
    wanted = np.asarray(wanted, np.float64)
    return float(np.linalg.norm(np.asarray(found, np.float64) - wanted) / np.linalg.norm(wanted))


WEIGHTS = {"in": draw(16, 16), "a": draw(16, 16), "b": draw(16, 16)}
X, Y = draw(1, 128).reshape(8, 16), draw(1, 128).reshape(8, 16)


def step(weights, x, y):
    """One step of a neural ODE behind a layer."""

    def loss(w):
        def change(state, _):
            return jnp.tanh(state @ w["a"]) @ w["b"]

        return jnp.mean((odeint(change, jnp.tanh(x @ w["in"]), jnp.linspace(0.0, 1.0, 3)) - y) ** 2)

    value, gradients = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients), value, gradients


@pytest.mark.parametrize(("precision", "most"), [("fp16", 0.01), ("fp8-fp16-state", 0.12)])
def test_gradients_of_a_neural_ode(precision: str, most: float):
    """They were 0: returned in f16 at a scale of 2^20, that of the whole vector after all steps of the solver."""
    _, _, wanted = jax.jit(step)(WEIGHTS, X, Y)
    _, _, found = sc.scalify(step, precision=precision)(*sc.as_scaled_array((WEIGHTS, X, Y)))
    for name in WEIGHTS:
        assert error(found[name], wanted[name]) < most
