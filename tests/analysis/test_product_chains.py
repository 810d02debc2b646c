"""Products in a row, and what makes a chain of them shorter: operands that are to be measured."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from scalify_hlo.analysis.calls import CallGraph
from scalify_hlo.analysis.product_chains import long_chains
from scalify_hlo.bindings import ir, make_context

DEPTH = 20


def found(function: Callable[..., Any], *, gradient: bool = False) -> int:
    """How many operands are found in a function of (x, w), or with its derivative in w."""
    x, w = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((4, 8), (8, 8)))
    whole = jax.value_and_grad(lambda w, x: jnp.mean(function(x, w) ** 2)) if gradient else lambda w, x: function(x, w)
    text = jax.jit(whole).lower(w, x).as_text()
    with make_context():
        module = ir.Module.parse(text)  # kept alive
        return len(long_chains(CallGraph(module)))


def layers(layer: Callable[[jax.Array, jax.Array], jax.Array]) -> Callable[[jax.Array, jax.Array], jax.Array]:
    def function(x: jax.Array, w: jax.Array) -> jax.Array:
        for _ in range(DEPTH):
            x = layer(x, w)
        return x

    return function


def normalised(x: jax.Array) -> jax.Array:
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred * lax.rsqrt(jnp.mean(centred**2, -1, keepdims=True) + 1e-6)


PLAIN = {
    "linear": lambda x, w: x @ w,
    "tanh": lambda x, w: jnp.tanh(x @ w),
    "relu": lambda x, w: jax.nn.relu(x @ w + 1),
    "gelu": lambda x, w: jax.nn.gelu(x @ w),
    "soft sign": lambda x, w: jax.nn.soft_sign(x @ w),
    "clipped": lambda x, w: jnp.clip(x @ w, -1, 1),
}
SHORT = {
    "residual": lambda x, w: x + jnp.tanh(x @ w),
    "residual of two": lambda x, w: x + jax.nn.relu(x @ w) @ w,
    "normalised": lambda x, w: normalised(jnp.tanh(x @ w)),
    "normalised, with gains": lambda x, w: normalised(x @ w) * w[0] + w[1],
    "normalised, gains in the inverse": lambda x, w: x @ w * (lax.rsqrt(jnp.mean((x @ w) ** 2, -1)[:, None]) * w[0]),
    "batch normalisation": lambda x, w: jax.nn.relu(x @ w / jnp.sqrt(jnp.mean((x @ w) ** 2, 0) + 1e-3)),
    "divided by a norm": lambda x, w: x @ w / jnp.linalg.norm(x @ w),
    "residual behind a normalisation": lambda x, w: normalised(x + jax.nn.relu(x @ w) @ w),
}
# On the way back each layer's gradient is that of the next one times a matrix, as in a plain chain.
SHORT_FORWARD = {
    "softmax": lambda x, w: jax.nn.softmax(x @ w) @ w,
    "recurrence": lambda x, w: jnp.tanh(x @ w + w[:4] @ w),
}


@pytest.mark.parametrize("name", PLAIN)
def test_every_few_products_in_a_row_are_measured(name: str):
    function = layers(PLAIN[name])
    assert 2 <= found(function) <= DEPTH // 4
    assert found(function) < found(function, gradient=True) <= DEPTH // 2


@pytest.mark.parametrize("name", SHORT)
def test_what_a_sum_or_a_statistic_shortens_is_not(name: str):
    function = layers(SHORT[name])
    assert found(function) == 0
    assert found(function, gradient=True) == 0


@pytest.mark.parametrize("name", SHORT_FORWARD)
def test_what_enters_each_layer_anew_shortens_the_forward_pass_alone(name: str):
    function = layers(SHORT_FORWARD[name])
    assert found(function) == 0
    assert 0 < found(function, gradient=True) <= DEPTH // 3


def test_iterations_start_anew():
    def scanned(x: jax.Array, w: jax.Array) -> jax.Array:
        return lax.scan(lambda c, _: (layers(PLAIN["tanh"])(c, w), None), x, length=3)[0]

    assert found(scanned) == 0


def test_the_branches_of_a_choice_and_called_functions_are_parts_of_a_chain():
    half = layers(PLAIN["linear"])

    def function(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.jit(half)(lax.cond(x[0, 0] > 0, half, lambda x, w: x + w[:4], x, w), w)

    assert found(function) == found(lambda x, w: half(half(x, w), w))
