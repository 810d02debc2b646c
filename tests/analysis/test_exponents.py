"""Which exponentials are known to be of a size that f16 holds."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.analysis.calls import CallGraph, walk
from scalify_hlo.analysis.exponents import Exponentials
from scalify_hlo.execution.modules import as_module


def _found(function: Callable[[jax.Array], jax.Array], element: str) -> list[bool]:
    """Of each exponential of a function of one matrix, whether it may leave an element type."""
    module = as_module(jax.export.export(jax.jit(function))(jax.ShapeDtypeStruct((4, 8), "float32")).mlir_module())
    exponentials = Exponentials(CallGraph(module))
    return [exponentials.may_leave(op, element) for op in walk(module.operation) if op.name == "stablehlo.exponential"]


def _blocks(x: jax.Array) -> jax.Array:
    """A softmax over blocks of a row, whose largest element so far is carried."""

    def body(carried: tuple[jax.Array, jax.Array], scores: jax.Array) -> tuple[tuple[jax.Array, jax.Array], None]:
        largest, total = carried
        new = jnp.maximum(largest, scores.max(-1))
        total = total * jnp.exp(largest - new) + jnp.exp(scores - new[:, None]).sum(-1)
        return (new, total), None

    start = (jnp.full(4, -jnp.inf), jnp.zeros(4))
    return jax.lax.scan(body, start, x.reshape(4, 4, 2).swapaxes(0, 1))[0][1]


@pytest.mark.parametrize(
    "function",
    [
        jax.nn.softmax, jax.nn.logsumexp, jax.nn.softplus, jax.nn.silu, jax.nn.gelu,
        lambda x: jnp.exp(jax.nn.log_softmax(x)),
        lambda x: jax.nn.softmax(x, where=x > 0),
        lambda x: jnp.exp(-jnp.square(x) / 2),
        lambda x: jnp.exp(2 * jnp.tanh(x)),
        lambda x: 1 / (1 + jnp.exp(-x)),
        lambda x: jax.vjp(jax.nn.softplus, x)[1](x)[0],
        lambda x: jax.vjp(lambda x: jnp.logaddexp(x, x[::-1]), x)[1](x)[0],
        _blocks,
    ],
)  # fmt: skip
def test_those_that_are_bounded(function: Callable[[jax.Array], jax.Array]) -> None:
    assert not any(_found(function, "f16"))


@pytest.mark.parametrize(
    "function",
    [
        jnp.exp,
        lambda x: jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True),
        lambda x: jnp.exp(x - x.mean(-1, keepdims=True)),
        lambda x: jnp.exp(x - x.min(-1, keepdims=True)),
        lambda x: jnp.exp(20 * jnp.tanh(x)),
        lambda x: jnp.log1p(jnp.exp(x)),
    ],
)
def test_those_that_may_be_of_any_size(function: Callable[[jax.Array], jax.Array]) -> None:
    assert any(_found(function, "f16"))
    assert not any(_found(function, "bf16"))


@pytest.mark.parametrize("precision", ["fp16", "fp16-state", "fp8", "fp8-fp16-state"])
def test_a_contrastive_loss_that_is_written_with_exponentials(precision: str) -> None:
    """exp(cosine / 0.05) up to 2^29: the loss was infinite."""
    generator = np.random.default_rng(0)
    weights = np.float32(generator.normal(size=(8, 16)) / 3)
    x = np.float32(generator.normal(size=(12, 8)))

    def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(w: jax.Array) -> jax.Array:
            z = x @ w
            z = z / jnp.linalg.norm(z, axis=-1, keepdims=True)
            e = jnp.exp(z @ z.T / 0.05) * (1 - jnp.eye(12))
            return -jnp.mean(jnp.log(jnp.exp(jnp.sum(z * jnp.roll(z, 6, 0), -1) / 0.05) / e.sum(-1)))

        value, gradient = jax.value_and_grad(loss)(w)
        return w - 0.01 * gradient, value

    rewritten = sc.scalify(step, precision=precision)
    state, _ = rewritten.stored(*sc.as_scaled_array((weights, x)))
    new, value = rewritten(state, *sc.as_scaled_array((x,)))
    expected, exact = step(jnp.asarray(weights), jnp.asarray(x))
    assert abs(float(np.asarray(value)) - float(exact)) < 0.05 * abs(float(exact))
    np.testing.assert_allclose(np.asarray(new.to_array(np.float32)), expected, rtol=0, atol=0.05)
