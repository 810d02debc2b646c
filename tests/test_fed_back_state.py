"""Filters, least squares, values of states, linear memories: what state is fed back by is no FP8 product.

# P' = P - K H P: an error of 2^-4 K H P may be more than what is left of P
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_Step = Callable[[Any, Any, Any], Any]
FEATURES, BATCH = 32, 16
_STATES = np.random.default_rng(1).dirichlet(np.full(32, 0.1), 32).astype(np.float32)


def least_squares(state: Any, x: Any, y: Any) -> Any:
    """Recursive least squares: the covariance became indefinite, and the loss 4,826 for .011."""
    p, w = state["p"], state["w"]
    error = y - x @ w
    gain = p @ x.T @ jnp.linalg.inv(jnp.eye(BATCH) * 0.98 + x @ p @ x.T)
    return {"p": (p - gain @ x @ p) / 0.98, "w": w + gain @ error}, jnp.mean(error**2)


def filtered(state: Any, x: Any, y: Any) -> Any:
    """An extended Kalman filter trains a network, whose derivative it takes: the loss was 21.4 for .10."""

    def network(w: Any, x: Any) -> Any:
        return jnp.tanh(x[:4] @ w[:48].reshape(4, 12) + w[48:60]) @ w[60:72] + w[72]

    w, p = state["w"], state["p"]
    h = jax.vmap(jax.grad(network), (None, 0))(w, x[:8])
    error = y[:8, 0] - jax.vmap(network, (None, 0))(w, x[:8])
    gain = jnp.linalg.solve(h @ p @ h.T + 0.1 * jnp.eye(8), h @ p).T
    p = p - gain @ h @ p + 1e-5 * jnp.eye(73)
    return {"w": w + gain @ error, "p": 0.5 * (p + p.T)}, jnp.mean(error**2)


def successors(state: Any, x: Any, y: Any) -> Any:
    """Which states follow which: 20 % off."""
    del y
    m = 0.5 * state["m"] + 0.5 * (jnp.eye(32) + 0.9 * _STATES @ state["m"])
    return {"m": m}, jnp.mean((m - 0.9 * _STATES @ m - jnp.eye(32)) ** 2) + 0.01 * jnp.mean((x @ m) ** 2)


def data(i: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(i)
    mixing = np.random.default_rng(3).standard_normal((8, FEATURES))
    x = np.tanh(rng.standard_normal((BATCH, 8)) @ mixing)
    y = x @ np.random.default_rng(2).standard_normal((FEATURES, 4)) + 0.1 * rng.standard_normal((BATCH, 4))
    return np.float32(x), np.float32(y)


CASES: dict[str, tuple[_Step, Any]] = {
    "least squares": (
        least_squares, {"p": np.float32(10 * np.eye(FEATURES)), "w": np.zeros((FEATURES, 4), np.float32)}
    ),
    "filter": (
        filtered,
        {"w": np.float32(0.5 * np.random.default_rng(0).standard_normal(73)), "p": np.float32(0.5 * np.eye(73))},
    ),
    "successors": (successors, {"m": np.eye(32, dtype=np.float32)}),
}  # fmt: skip


def _losses(step: _Step, state: Any, batches: Callable[[int], Any]) -> list[float]:
    losses: list[float] = []
    for i in range(24):
        state, loss = step(state, *batches(i))
        losses.append(float(loss))
    return losses


@pytest.mark.parametrize("precision", ["fp16", "fp8", "fp8-fp16-state"])
@pytest.mark.parametrize("name", CASES)
def test_state_without_a_gradient(name: str, precision: str) -> None:
    step, start = CASES[name]
    expected = _losses(jax.jit(step), start, data)
    scaled = sc.scalify(step, precision=precision)
    found = _losses(scaled, sc.as_scaled_array(start), lambda i: sc.as_scaled_array(data(i)))
    assert abs(np.mean(found[-8:]) - np.mean(expected[-8:])) < 0.1 * np.mean(expected[-8:])


def _memory(transitions: Any, p: Any, x: Any) -> Any:
    def body(m: Any, u: Any) -> Any:
        return m @ transitions + u @ p["in"], None

    return jax.lax.scan(body, jnp.zeros((BATCH, 32)), x)[0]


def test_a_linear_memory_in_a_loop() -> None:
    """m' = m A + u B with eigenvalues of A near 1: rounded to E4M3 they are others, and errors add up."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((32, 32)))[0]
    transitions = np.float32(rotation * 0.98)
    p = {"in": np.float32(rng.standard_normal((8, 32)) / 3), "out": np.float32(rng.standard_normal((32, 32)) / 6)}
    x, y = np.float32(rng.standard_normal((40, BATCH, 8))), np.float32(rng.standard_normal((BATCH, 32)))

    def loss(p: Any, x: Any, y: Any) -> Any:
        return jnp.mean((jnp.tanh(_memory(transitions, p, x) @ p["out"]) - y) ** 2)

    def step(p: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(p, x, y)
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients), (value, gradients)

    _, (expected, gradients) = jax.jit(step)(p, x, y)
    _, (found, theirs) = sc.scalify(step, precision="fp8")(sc.as_scaled_array(p), *sc.as_scaled_array((x, y)))
    assert abs(float(found) - float(expected)) < 0.01 * float(expected)
    for name in p:
        error = np.linalg.norm(np.asarray(sc.asarray(theirs[name], np.float32)) - gradients[name])
        assert error < 0.08 * np.linalg.norm(gradients[name]), name


def _products(function: Callable[..., Any], *arguments: Any) -> int:
    """How many products of a step become FP8."""
    text = jax.jit(function).lower(*arguments).as_text()
    remarks: list[Any] = []
    sc.rewrite_module(text, precision="fp8", remarks=remarks)
    return sum("FP8 E" in remark.message for remark in remarks)


def test_layers_keep_their_fp8_products() -> None:
    """A recurrent network's, and those of a model that a sampler takes its steps by."""
    rng = np.random.default_rng(0)
    w = {name: np.float32(rng.standard_normal((64, 64)) / 8) for name in "abcd"}
    x = np.float32(rng.standard_normal((8, 16, 64)))

    def recurrent(w: Any, x: Any) -> Any:
        def loss(w: Any) -> Any:
            def body(h: Any, x: Any) -> Any:
                return jnp.tanh(h @ w["a"] + jax.nn.gelu(x @ w["b"]) @ w["c"]), None

            return jnp.mean((jax.nn.silu(jax.lax.scan(body, jnp.zeros((16, 64)), x)[0]) @ w["d"]) ** 2)

        return jax.tree.map(lambda w, g: w - 0.1 * g, w, jax.grad(loss)(w))

    def sampler(x: Any) -> Any:
        h = jax.nn.gelu(x @ w["a"])
        for _ in range(2):
            h = h + jax.nn.gelu(h @ w["b"]) @ w["c"]
        return x - 0.1 * (h @ w["a"].T)

    assert _products(recurrent, w, x) >= 6
    assert _products(sampler, x[0]) >= 4
