"""Matrix products of the optimiser, which read the update and gradients alone, are in f32 like its other arithmetic."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_Tree = dict[str, Any]


def _orthogonalised(m: jax.Array, loop: bool) -> jax.Array:
    """Newton and Schulz's iteration, as Muon has it."""

    def iterate(x: jax.Array) -> jax.Array:
        a = x @ x.T
        return 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x

    x = m / (jnp.linalg.norm(m) + 1e-7)
    if loop:
        return jax.lax.fori_loop(0, 5, lambda _, x: iterate(x), x)
    for _ in range(5):
        x = iterate(x)
    return x


def _loss(parameters: _Tree, x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean((jnp.tanh(x @ parameters["a"]) @ parameters["b"] - y) ** 2)


def _step(state: _Tree, x: jax.Array, y: jax.Array, loop: bool) -> tuple[_Tree, jax.Array]:
    loss, gradients = jax.value_and_grad(_loss)(state["p"], x, y)
    moments = {k: 0.9 * state["m"][k] + 0.1 * g for k, g in gradients.items()}
    directions = {k: _orthogonalised(0.9 * m + 0.1 * gradients[k], loop) for k, m in moments.items()}
    parameters = {k: w - 0.02 * directions[k] for k, w in state["p"].items()}
    return {"p": parameters, "m": moments}, loss


def _start() -> _Tree:
    rng = np.random.default_rng(0)
    p = {"a": rng.standard_normal((16, 32)) / 4, "b": rng.standard_normal((32, 8)) / 6}
    p = {k: w.astype(np.float32) for k, w in p.items()}
    return {"p": p, "m": {k: np.zeros_like(w) for k, w in p.items()}}


def _batch(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((64, 16)).astype(np.float32)
    return x, np.sin(2 * x[:, :8])


@pytest.mark.parametrize(("precision", "loop"), [("fp16", False), ("fp8-fp16-state", True)])
def test_orthogonalised_momentum(precision: str, loop: bool) -> None:
    """Wherever the momentum goes, its polynomials are computed in f32, and the model's five products are not."""

    def step(state: _Tree, x: jax.Array, y: jax.Array) -> tuple[_Tree, jax.Array]:
        return _step(state, x, y, loop)

    scaled, wanted = sc.scalify(step, precision=precision), jax.jit(step)
    expected: Any = _start()
    state = sc.as_scaled_array(expected)
    rng = np.random.default_rng(1)
    text = str(scaled.lower(state, *sc.as_scaled_array(_batch(rng))).as_text())
    operands = re.findall(r"dot_general.* : \(tensor<[0-9x]*x(\w+)>, tensor<[0-9x]*x(\w+)>\)", text)
    narrow = [pair for pair in operands if "f32" not in pair]
    assert len(narrow) == 5, operands  # forward 2, gradients of weights 2, of the hidden layer 1
    assert len(operands) > len(narrow)
    for _ in range(8):
        batch = _batch(rng)
        state, loss = scaled(state, *sc.as_scaled_array(batch))
        expected, want = wanted(expected, *batch)
        np.testing.assert_allclose(np.asarray(loss), want, rtol=5e-3 if precision == "fp16" else 5e-2)


def test_updates_written_out_leave_the_next_forward_pass_narrow() -> None:
    """What the second step computes of the first one's parameters also reads the batch: it is the model's."""

    def steps(state: _Tree, x: jax.Array, y: jax.Array) -> tuple[_Tree, jax.Array]:
        def one(state: _Tree) -> tuple[_Tree, jax.Array]:
            loss, gradients = jax.value_and_grad(_loss)(state["p"], x, y)
            return {"p": {k: w - 0.1 * gradients[k] for k, w in state["p"].items()}, "m": state["m"]}, loss

        return one(one(state)[0])

    scaled = sc.scalify(steps, precision="fp16")
    arguments = sc.as_scaled_array((_start(), *_batch(np.random.default_rng(0))))
    text = str(scaled.lower(*arguments).as_text())
    operands = re.findall(r"dot_general.* : \(tensor<[0-9x]*x(\w+)>, tensor<[0-9x]*x(\w+)>\)", text)
    assert len(operands) == 10
    assert all(pair == ("f16", "f16") for pair in operands)


def _rotated(w: jax.Array, g: jax.Array, state: _Tree, first: jax.Array) -> tuple[jax.Array, _Tree]:
    """Adam in the basis of the eigenvectors of a gradient's second moments, as SOAP has it."""
    left, right = (0.95 * state[k] + 0.05 * s for k, s in (("left", g @ g.T), ("right", g.T @ g)))
    old = state["q"], state["r"]
    q, r = jax.lax.cond(
        first > 0,
        lambda: (jnp.linalg.eigh(left)[1][:, ::-1], jnp.linalg.eigh(right)[1][:, ::-1]),
        lambda: old,
    )
    m = 0.9 * state["m"] + 0.1 * g
    v = 0.95 * state["v"] + 0.05 * (q.T @ g @ r) ** 2
    u = q @ ((q.T @ m @ r) / (jnp.sqrt(v) + 1e-8)) @ r.T
    return w - 3e-3 * u, {"left": left, "right": right, "q": q, "r": r, "m": m, "v": v}


@pytest.mark.parametrize("precision", ["fp16-state", "fp8", "fp8-fp16-state"])
def test_basis_of_eigenvectors_of_gradients(precision: str) -> None:
    """The basis is a moment, all of the optimiser reads one rounding of a gradient, and its products are in f32.

    The basis makes the gradient diagonal. What is 1e-7 beside the diagonal is divided by its own size: weights were
    1e5 times too large after a step in `fp8`.
    """

    def step(state: _Tree, x: jax.Array, y: jax.Array, first: jax.Array) -> tuple[_Tree, jax.Array]:
        loss, gradients = jax.value_and_grad(_loss)(state["p"], x, y)
        new = {k: _rotated(w, gradients[k], state[k], first) for k, w in state["p"].items()}
        return {"p": {k: w for k, (w, _) in new.items()}, **{k: moments for k, (_, moments) in new.items()}}, loss

    parameters = _start()["p"]
    zeros = {
        k: {"left": np.zeros((w.shape[0],) * 2), "right": np.zeros((w.shape[1],) * 2), "m": 0 * w, "v": 0 * w}
        | {"q": np.eye(w.shape[0]), "r": np.eye(w.shape[1])}
        for k, w in parameters.items()
    }
    expected: Any = jax.tree.map(np.float32, {"p": parameters, **zeros})
    scaled, wanted = sc.scalify(step, precision=precision), jax.jit(step)
    rng = np.random.default_rng(1)
    batch = (*_batch(rng), np.float32(1))
    state, *_ = scaled.stored(*sc.as_scaled_array((expected, *batch)))
    for first in (1, 0, 0, 0, 0, 0):
        batch = (*_batch(rng), np.float32(first))
        state, loss = scaled(state, *sc.as_scaled_array(batch))
        expected, want = wanted(expected, *batch)
        np.testing.assert_allclose(np.asarray(loss), want, rtol=1e-2 if precision == "fp16-state" else 5e-2)
    text = str(scaled.lower(state, *sc.as_scaled_array(batch)).as_text())
    operands = re.findall(r"dot_general.* : \(tensor<[0-9x]*x(\w+)>, tensor<[0-9x]*x(\w+)>\)", text)
    assert len([pair for pair in operands if "f32" not in pair]) == 5, operands


def _inverse_root(a: jax.Array) -> jax.Array:
    """(A + r I)^-1/4 of a statistic of gradients, r 10^-6 of its largest eigenvalue, which a power iteration finds."""
    n = a.shape[0]

    def iterate(v: jax.Array) -> jax.Array:
        u = a @ v
        return u / (jnp.linalg.norm(u) + 1e-30)

    v = jax.lax.fori_loop(0, 10, lambda _, v: iterate(v), jnp.ones(n) / n**0.5)
    a = a + (1e-6 * (v @ (a @ v)) + 1e-30) * jnp.eye(n)
    z = 5 / (2 * jnp.linalg.norm(a))

    def newton(_: Any, carried: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        m, x = carried
        q = (5 * jnp.eye(n) - m) / 4
        return q @ q @ q @ q @ m, x @ q

    return jax.lax.fori_loop(0, 15, newton, (a * z, jnp.eye(n) * z**0.25))[1]


def _shampoo(state: _Tree, x: jax.Array, y: jax.Array) -> tuple[_Tree, jax.Array]:
    loss, gradients = jax.value_and_grad(_loss)(state["p"], x, y)
    left = {k: 0.95 * state["l"][k] + 0.05 * g @ g.T for k, g in gradients.items()}
    roots = jax.lax.cond(
        state["n"] % 3 == 0, lambda: {k: _inverse_root(a) for k, a in left.items()}, lambda: state["r"]
    )
    directions = {k: roots[k] @ g for k, g in gradients.items()}
    norms = {k: jnp.linalg.norm(gradients[k]) / (jnp.linalg.norm(d) + 1e-16) for k, d in directions.items()}
    parameters = {k: w - 0.5 * norms[k] * directions[k] for k, w in state["p"].items()}
    return {"p": parameters, "l": left, "r": roots, "n": state["n"] + 1}, loss


@pytest.mark.parametrize("precision", ["fp16", "fp8-fp16-state"])
def test_roots_of_statistics(precision: str) -> None:
    """What starts from a constant (ones, the identity) and is computed of statistics alone is the optimiser's too."""
    p = _start()["p"]
    square = {k: np.zeros((w.shape[0],) * 2, np.float32) for k, w in p.items()}
    eye = {k: np.eye(w.shape[0], dtype=np.float32) for k, w in p.items()}
    expected: Any = {"p": p, "l": square, "r": eye, "n": np.int32(0)}
    state: Any = sc.as_scaled_array(expected)
    scaled, wanted = sc.scalify(_shampoo, precision=precision), jax.jit(_shampoo)
    rng = np.random.default_rng(1)
    text = str(scaled.lower(state, *sc.as_scaled_array(_batch(rng))).as_text())
    operands = re.findall(r"dot_general.* : \(tensor<[0-9x]*x(\w+)>, tensor<[0-9x]*x(\w+)>\)", text)
    assert len([pair for pair in operands if "f32" not in pair]) == 5, operands  # the model's
    for _ in range(8):
        batch = _batch(rng)
        state, loss = scaled(state, *sc.as_scaled_array(batch))
        expected, want = wanted(expected, *batch)
        np.testing.assert_allclose(np.asarray(loss), want, rtol=5e-3 if precision == "fp16" else 5e-2)
