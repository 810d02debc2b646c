"""Functions whose arguments are bf16 or f16 and have to be: they are traced so where they refuse f32."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

RNG = np.random.default_rng(0)
W = {name: jnp.asarray(RNG.standard_normal((16, 16)) / 4, jnp.bfloat16) for name in "ab"}
X = np.float32(RNG.standard_normal((8, 16)))


def recurrent(w: Any, x: Any) -> Any:
    """The carry is of the type of the weights."""

    def cell(h: Any, row: Any) -> Any:
        return jnp.tanh(row @ w["a"] + h @ w["b"]), None

    x = x.astype(jnp.bfloat16)
    return jax.lax.scan(cell, jnp.zeros((4, 16), jnp.bfloat16), x.reshape(2, 4, 16))[0].astype(jnp.float32)


def convolved(w: Any, x: Any) -> Any:
    """`lax` promotes no types."""
    images = x.astype(jnp.bfloat16).reshape(1, 8, 4, 4)
    kernel = w["a"].reshape(8, 8, 2, 2)
    return jax.lax.conv(images, kernel, (1, 1), "SAME").astype(jnp.float32) + jnp.mean(w["b"].astype(jnp.float32))


def chosen(w: Any, x: Any) -> Any:
    y = x.astype(jnp.bfloat16) @ w["a"].astype(jnp.bfloat16)
    return jax.lax.cond(jnp.sum(y) > 0, lambda: w["b"], lambda: jnp.zeros((16, 16), jnp.bfloat16)).astype(jnp.float32)


@pytest.mark.parametrize("precision", ["bf16", "fp16", "fp16-state", "fp8", "fp8-fp16-state"])
@pytest.mark.parametrize("function", [recurrent, convolved, chosen])
def test_steps_of_bf16_weights(function: Callable[[Any, Any], Any], precision: str) -> None:
    def step(w: Any, x: Any) -> Any:
        value, gradient = jax.value_and_grad(lambda w: jnp.mean(function(w, x) ** 2))(w)
        return jax.tree.map(lambda p, g: (p - 0.1 * g).astype(p.dtype), w, gradient), value

    narrow = sc.scalify(step, precision=precision)
    w, state = W, sc.as_scaled_array(W)
    for _ in range(3):
        w, value = jax.jit(step)(w, X)
        state, got = narrow(state, sc.as_scaled_array(X))
        np.testing.assert_allclose(sc.asarray(got), value, rtol=0.03)
    assert {leaf.data.dtype for leaf in sc.tree.leaves(state)} == {jnp.dtype(jnp.bfloat16)}


def test_a_function_that_refuses_both_says_so() -> None:
    def wrong(w: Any) -> Any:
        return jax.lax.scan(lambda c, _: (c.astype(jnp.float16), None), w, None, length=2)[0]

    with pytest.raises(TypeError, match="carry"):
        sc.scalify(wrong, precision="fp16")(sc.as_scaled_array(W["a"]))
