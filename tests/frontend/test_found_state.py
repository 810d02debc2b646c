"""Which arguments are state, and what enters the optimiser, is found wherever in a step the updates are made."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import scalify_hlo as sc

_Tree = dict[str, Any]


def _update(state: _Tree, batch: tuple[jax.Array, jax.Array]) -> tuple[_Tree, jax.Array]:
    """Adam on a network of two layers; gradients are 2^-20, and their squares no numbers of f16."""

    def loss(p: _Tree) -> jax.Array:
        return 2.0**-20 * jnp.mean((jnp.tanh(batch[0] @ p["a"]) @ p["b"] - batch[1]) ** 2)

    value, g = jax.value_and_grad(loss)(state["p"])
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["v"], g)
    p = jax.tree.map(lambda p, m, v: p - 0.01 * m / (jnp.sqrt(v) + 1e-12), state["p"], m, v)
    return {"p": p, "m": m, "v": v}, value


def _scan(state: _Tree, x: jax.Array, y: jax.Array) -> tuple[_Tree, jax.Array]:
    return jax.lax.scan(_update, state, (x, y))


def _epochs(state: _Tree, x: jax.Array, y: jax.Array) -> tuple[_Tree, jax.Array]:
    return jax.lax.scan(lambda state, _: jax.jit(_scan)(state, x, y), state, length=2)


def _while(state: _Tree, x: jax.Array, y: jax.Array) -> tuple[_Tree, jax.Array]:
    state = jax.lax.fori_loop(0, 4, lambda i, state: _update(state, (x[i % 2], y[i % 2]))[0], state)
    return state, jnp.zeros(())


def _start() -> tuple[_Tree, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = {"a": rng.standard_normal((4, 16)) / 2, "b": rng.standard_normal((16, 2)) / 4}
    p = {k: w.astype(np.float32) for k, w in p.items()}
    zeros = {k: np.zeros_like(w) for k, w in p.items()}
    x = rng.standard_normal((2, 32, 4)).astype(np.float32)
    return {"p": p, "m": zeros, "v": zeros}, x, np.sin(2 * x[..., :2])


@pytest.mark.parametrize("step", [_epochs, _while])
def test_updates_in_loops(step: Callable[..., Any]) -> None:
    """Updates in scans, scans of scans, and calls in these: parameters and moments are stored in the policy's types,
    and second moments are formed of gradients in f32."""
    state, x, y = _start()
    run = sc.scalify(step, precision="fp8-fp16-state")
    given = run.stored(*sc.as_scaled_array((state, x, y)))
    assert {leaf.dtype.name for leaf in sc.tree.leaves(given[0])} == {"float16"}
    assert {leaf.dtype.name for leaf in sc.tree.leaves(given[1:])} == {"float32"}
    found = given[0]
    for _ in range(3):
        state, _ = jax.jit(step)(state, x, y)
        found, _ = run(found, *given[1:])
    assert {leaf.dtype.name for leaf in sc.tree.leaves(found)} == {"float16"}
    for mine, right in zip(sc.tree.leaves(found), jax.tree.leaves(state), strict=True):
        value = np.asarray(mine, np.float32)
        assert np.linalg.norm(value - right) < 0.15 * np.linalg.norm(right)


@pytest.mark.parametrize("precision", ["fp16-state", "fp8-fp16-state"])
def test_gradients_without_an_update(precision: str, caplog: pytest.LogCaptureFixture) -> None:
    """The optimiser is elsewhere: there is no state to store otherwise, which is said, and the rest is done."""

    def loss(p: _Tree, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.mean((jnp.tanh(x @ p["a"]) @ p["b"] - y) ** 2)

    state, x, y = _start()
    run = sc.scalify(jax.value_and_grad(loss), precision=precision)
    given = run.stored(*sc.as_scaled_array((state["p"], x[0], y[0])))
    assert {leaf.dtype.name for leaf in sc.tree.leaves(given)} == {"float32"}
    _, gradients = run(*given)
    right = jax.grad(loss)(state["p"], x[0], y[0])
    for mine, other in zip(sc.tree.leaves(gradients), jax.tree.leaves(right), strict=True):
        assert np.linalg.norm(np.asarray(mine, np.float32) - other) < 0.1 * np.linalg.norm(other)
    assert "f16" in run.lower(*given).as_text()
    assert "no result is an update of an argument" in caplog.text


# Programs are traced on f32: that averages are bf16, the program itself says of what it returns.
@pytest.mark.parametrize("precision", ["f32", "bf16", "fp16-state", "fp8-fp16-state"])
def test_averages_that_a_program_keeps_in_bf16_are_stored_so(precision: str) -> None:
    rng = np.random.default_rng(0)
    parameters = {"a": np.float32(rng.standard_normal((16, 64)) / 4), "b": np.float32(rng.standard_normal((64, 8)) / 8)}
    x = np.float32(rng.standard_normal((32, 16)))
    optimizer = optax.adamw(3e-3, mu_dtype=jnp.bfloat16)

    def step(state: Any, x: Any) -> Any:
        parameters, averages = state
        value, gradient = jax.value_and_grad(lambda p: jnp.mean((jnp.tanh(x @ p["a"]) @ p["b"] - x[:, :8]) ** 2))(
            parameters
        )
        update, averages = optimizer.update(gradient, averages, parameters)
        return (optax.apply_updates(parameters, update), averages), value

    state = parameters, optimizer.init(parameters)
    narrow = sc.scalify(step, precision=precision)
    own, scaled = narrow.stored(*sc.as_scaled_array((state, x)))
    compiled = narrow.jitted.lower(own, scaled).compile()  # refuses arguments of other types
    for _ in range(4):
        state, wanted = jax.jit(step)(state, x)
        own, found = compiled(own, scaled)
    assert own[1][0].mu["a"].data.dtype == jnp.bfloat16
    assert abs(float(np.asarray(found)) / float(wanted) - 1) < 0.01
