"""What a loop multiplies by the same matrix in each iteration, with nothing that normalises it, has no size in f16."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import scalify_hlo as sc
from scalify_hlo.analysis.calls import CallGraph
from scalify_hlo.analysis.multiplied_in_turns import multiplied_in_turns
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.normal_form import NormalForm

N, STEPS = 16, 24
_rng = np.random.default_rng(0)
OBSERVED = _rng.integers(0, N, (8, STEPS)).astype(np.int32)
POINTS = np.float32(_rng.standard_normal((32, 8)))
PLACES = np.float32(_rng.standard_normal((32, 2)))


def normal(*shape: int) -> np.ndarray:
    return np.float32(_rng.standard_normal(shape))


def forward_recursion(w: Any, *, normalised: bool = False) -> jax.Array:
    """Minus the mean log likelihood of observations under a hidden Markov model, in probability space: 1e-30."""
    moves, emits, starts = (jax.nn.softmax(w[name]) for name in ("moves", "emits", "starts"))

    def step(a: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        a = (a @ moves) * emits[:, x]
        total = a.sum() if normalised else jnp.float32(1)
        return a / total if normalised else a, total

    def likelihood(x: jax.Array) -> jax.Array:
        last, totals = lax.scan(step, starts * emits[:, x[0]], x[1:])
        return jnp.log(last.sum()) + jnp.log(totals).sum()

    return -jnp.mean(jax.vmap(likelihood)(jnp.asarray(OBSERVED)))


def transport(w: Any, *, unrolled: bool = False) -> jax.Array:
    """The cost of moving points onto others by Sinkhorn's algorithm, of kernels between 1 and e^-50."""
    moved = jnp.tanh(POINTS @ w["in"]) @ w["out"]
    cost = ((moved[:, None] - PLACES[None]) ** 2).sum(-1)
    kernel = jnp.exp(-cost / 0.3)

    def step(u: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        v = (1 / 32) / (kernel.T @ u + 1e-16)
        return (1 / 32) / (kernel @ v + 1e-16), v

    u = v = jnp.ones(32) / 32
    if unrolled:
        for _ in range(10):
            u, v = step(u, None)
    else:
        u, found = lax.scan(step, u, None, 10)
        v = found[-1]
    return (u[:, None] * kernel * v * cost).sum()


def partition_function(w: Any) -> jax.Array:
    """Free energy of a ring of 32 spins by powers of its transfer matrix, e^70."""
    coupling = w["couplings"] + w["couplings"].T
    transfer = jnp.exp(0.2 + 0.1 * coupling)
    whole = lax.fori_loop(0, STEPS, lambda _, z: z @ transfer, jnp.eye(N))
    return -jnp.log(jnp.trace(whole))


PROGRAMS: dict[str, tuple[Callable[..., jax.Array], dict[str, np.ndarray]]] = {
    "forward recursion": (
        forward_recursion, {"moves": normal(N, N), "emits": normal(N, N), "starts": normal(N)}
    ),
    "Sinkhorn's algorithm": (transport, {"in": normal(8, 64) / 3, "out": normal(64, 2) / 8}),
    "Sinkhorn's algorithm, unrolled": (
        functools.partial(transport, unrolled=True), {"in": normal(8, 64) / 3, "out": normal(64, 2) / 8}
    ),
    "partition function": (partition_function, {"couplings": normal(N, N)}),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_loss_and_gradients_are_the_originals(name: str, precision: str):
    """Before this losses were infinite or 2 % off, and gradients NaN, 0, or wrong by 200 % and more."""
    function, weights = PROGRAMS[name]
    step = jax.value_and_grad(function)
    loss, gradients = sc.scalify(functools.partial(step), precision=precision)(sc.as_scaled_array(weights))
    wanted, by_f32 = jax.jit(step)(weights)
    assert float(np.asarray(loss)) == pytest.approx(float(wanted), rel=1e-4)
    for key, gradient in by_f32.items():
        error = np.linalg.norm(np.asarray(gradients[key], np.float64) - gradient) / np.linalg.norm(gradient)
        assert error < 0.005, key


def found(function: Callable[..., Any], *arguments: Any, names: bool = True) -> int:
    """How many products are found in a function."""
    text = jax.jit(function).lower(*arguments).as_text(debug_info=names)
    with make_context():
        module = ir.Module.parse(text)  # kept alive
        NormalForm().apply(module, [])
        values = multiplied_in_turns(CallGraph(module))
        return sum(isinstance(v, ir.OpResult) and v.owner.name == "stablehlo.dot_general" for v in values)


def recurrent(w: Any, x: jax.Array, activation: Callable[[jax.Array], jax.Array], driven: bool) -> jax.Array:
    def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
        return activation(h @ w + (x if driven else 0)), None

    return jnp.mean(lax.scan(step, x[0], x)[0] ** 2)


@pytest.mark.parametrize("names", [True, False])
def test_layers_are_none(names: bool):
    x, w = np.ones((8, 4, N), np.float32), np.ones((N, N), np.float32)
    for activation, driven in ((jnp.tanh, True), (jax.nn.relu, False), (jax.nn.relu, True), (lambda h: h, True)):
        step = jax.grad(functools.partial(recurrent, activation=activation, driven=driven))
        assert found(step, w, x, names=names) == 0


def test_what_decays_beside_a_layer_makes_none_of_it():
    """Though it is kept for the derivative."""

    def loss(w: Any, x: jax.Array) -> jax.Array:
        def step(carry: Any, x: jax.Array) -> tuple[Any, None]:
            h, gate = carry
            return (jnp.tanh((h * gate) @ w + x), gate * 0.9), None

        return jnp.mean(lax.scan(step, (x[0], jnp.ones_like(x[0])), x)[0][0] ** 2)

    x, w = np.ones((8, 4, N), np.float32), np.ones((N, N), np.float32)
    assert found(jax.grad(loss), w, x) == 0


def test_what_is_normalised_has_a_size():
    weights = PROGRAMS["forward recursion"][1]
    assert found(jax.grad(functools.partial(forward_recursion, normalised=True)), weights) == 0
    assert found(jax.grad(forward_recursion), weights) == 3


def test_a_matrix_of_each_iteration_is_a_layers():
    x, w = np.ones((4, N), np.float32), np.ones((8, N, N), np.float32)
    assert found(lambda w, x: lax.scan(lambda h, w: (h @ w, None), x, w)[0], w, x) == 0
    assert found(lambda w, x: lax.scan(lambda h, _: (h @ w[0], None), x, None, 8)[0], w, x) == 1
