"""State that is updated inside of the loss, and returned beside it, as flax's batch statistics are: it is no gradient.

# S' = d S + (1 - d) mean(h), d = .9998: what is new is 2^-12 of S, and f16 keeps 2^-11

What a step returns as f32 state lies in memory in f32, whoever reads it; and what a forward pass gives is not rounded
as gradients are.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_Tree = dict[str, Any]
DECAY, STEPS = 0.9998, 60
_RNG = np.random.default_rng(0)
WEIGHTS = {"a": _RNG.standard_normal((8, 32)) / 8**0.5, "o": _RNG.standard_normal((32, 2)) / 32**0.5}


def mean_of_activations(p: _Tree, s: Any, x: Any, y: Any) -> Any:
    """Batch normalisation's."""
    h = x @ p["a"] + 1
    mean = h.mean(0)
    return jnp.mean((jnp.tanh(h - mean) @ p["o"] - y) ** 2), DECAY * s + (1 - DECAY) * mean


def positions(p: _Tree, s: Any, x: Any, y: Any) -> Any:
    """Moved in small steps by what is learnt, and read by a product after it."""
    del y
    new = s + 1e-4 * jnp.tanh(s @ p["a"].T @ p["a"])
    return jnp.mean((x @ p["a"] @ new.T) ** 2), new


def sums_of_given(p: _Tree, s: Any, x: Any, y: Any) -> Any:
    """An online normaliser of columns of unlike units: f16 left none of the smaller ones, and a loss of 1e12."""
    columns = y * jnp.asarray([0.01, 500.0]) + jnp.asarray([0.0, 101325.0])
    s = s + jnp.stack([columns.sum(0), (columns**2).sum(0), jnp.full(2, 40.0)])
    mean = s[0] / s[2]
    deviation = jnp.maximum(jnp.sqrt(jnp.maximum(s[1] / s[2] - mean**2, 0.0)), 1e-8)
    return jnp.mean((jnp.tanh(x @ p["a"]) @ p["o"] - (columns - mean) / deviation) ** 2), s


def fast_weights(p: _Tree, s: Any, x: Any, y: Any) -> Any:
    """Moved by a gradient inside of the loss, whose own is taken."""
    new = s - 3e-4 * jax.grad(lambda w: jnp.mean((x @ p["a"] @ w - x @ p["a"]) ** 2))(s)
    return jnp.mean((jnp.tanh(x @ p["a"] @ new) @ p["o"] - y) ** 2), new


CASES: dict[str, tuple[Callable[..., Any], Any]] = {
    "mean of activations": (mean_of_activations, np.full(32, 0.5)),
    "positions": (positions, _RNG.standard_normal((16, 32))),
    "sums of what is given": (sums_of_given, np.zeros((3, 2))),
    "fast weights": (fast_weights, _RNG.standard_normal((32, 32)) / 32**0.5),
}


@pytest.mark.parametrize("precision", ["fp16", "fp16-state", "fp8"])
@pytest.mark.parametrize("name", CASES)
def test_it_moves_as_in_f32(name: str, precision: str) -> None:
    loss, start = CASES[name]
    if precision == "fp16-state" and name in ("positions", "fast weights"):
        pytest.skip("f16 parameters: rounded at random, they move on average")

    def step(state: _Tree, x: Any, y: Any) -> tuple[_Tree, Any]:
        taken = jax.value_and_grad(loss, has_aux=True)
        (value, new), gradients = taken(state["p"], state["s"], x, y)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["m"], gradients)
        return {"p": jax.tree.map(lambda p, m: p - 1e-3 * m, state["p"], momentum), "m": momentum, "s": new}, value

    p = {key: np.float32(value) for key, value in WEIGHTS.items()}
    state = {"p": p, "m": jax.tree.map(np.zeros_like, p), "s": np.float32(start)}
    plain, scaled = state, sc.as_scaled_array(state)
    compiled, rewritten = jax.jit(step), sc.scalify(step, precision=precision)
    for i in range(STEPS):
        x = np.random.default_rng(i).standard_normal((40, 8)).astype(np.float32)
        plain, expected = compiled(plain, x, x[:, :2])
        scaled, found = rewritten(scaled, *sc.as_scaled_array((x, x[:, :2])))
    assert abs(float(found) - float(expected)) < 0.02 * abs(float(expected)) + 1e-3
    moved = np.asarray(plain["s"]) - np.float32(start)
    error = sc.asarray(scaled["s"], np.float32) - np.asarray(plain["s"])
    assert np.abs(error).max() < (0.02 if precision != "fp8" else 0.08) * np.abs(moved).max()


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_flax_batch_statistics_move(precision: str) -> None:
    linen = pytest.importorskip("flax.linen", reason="flax is not installed")
    optax = pytest.importorskip("optax", reason="optax is not installed")

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x: Any) -> Any:
            x = linen.BatchNorm(use_running_average=False, momentum=DECAY)(linen.Dense(32)(x))
            return linen.Dense(2)(linen.gelu(x))

    net, optimiser = Net(), optax.sgd(1e-3)
    variables = net.init(jax.random.key(0), np.ones((4, 8), np.float32))

    def step(state: Any, x: Any, y: Any) -> Any:
        params, statistics, moments = state

        def loss(params: Any) -> Any:
            found, new = net.apply({"params": params, "batch_stats": statistics}, x, mutable=["batch_stats"])
            return jnp.mean((found - y) ** 2), new["batch_stats"]

        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(params)
        updates, moments = optimiser.update(gradients, moments)
        return (optax.apply_updates(params, updates), statistics, moments), value

    plain = variables["params"], variables["batch_stats"], optimiser.init(variables["params"])
    scaled, rewritten, compiled = sc.as_scaled_array(plain), sc.scalify(step, precision=precision), jax.jit(step)
    for i in range(STEPS):
        x = 1 + np.random.default_rng(i).standard_normal((512, 8)).astype(np.float32)
        plain, _ = compiled(plain, x, x[:, :2])
        scaled, _ = rewritten(scaled, *sc.as_scaled_array((x, x[:, :2])))
    for name, start in (("mean", 0.0), ("var", 1.0)):
        moved = np.asarray(plain[1]["BatchNorm_0"][name]) - start
        found = sc.asarray(scaled[1]["BatchNorm_0"][name], np.float32) - start
        assert np.abs(found - moved).max() < 0.02 * np.abs(moved).max()
