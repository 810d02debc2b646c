"""Training with fake quantisation: integers in f32 are as large as what is rounded, however that is spelled."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc


@jax.custom_vjp
def straight_through(x: jax.Array) -> jax.Array:
    return jnp.round(x)


straight_through.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))


def symmetric(x: jax.Array) -> jax.Array:
    step = jax.lax.stop_gradient(jnp.max(jnp.abs(x)) / 127)
    return jnp.clip(straight_through(x / step), -127, 127) * step


def by_the_inverse(x: jax.Array) -> jax.Array:
    most = jax.lax.stop_gradient(jnp.max(jnp.abs(x)))
    return jnp.clip(straight_through(x * (127 / most)), -127, 127) * (most / 127)


def asymmetric(x: jax.Array) -> jax.Array:
    low, high = jax.lax.stop_gradient((jnp.min(x), jnp.max(x)))
    step = (high - low) / 255
    zero = jnp.round(-low / step)
    return (jnp.clip(straight_through(x / step) + zero, 0, 255) - zero) * step


def in_groups(x: jax.Array) -> jax.Array:
    return jax.vmap(symmetric)(x.reshape(-1, 4)).reshape(x.shape)


def fixed_point(x: jax.Array) -> jax.Array:
    return jnp.clip(straight_through(x * 64), -128, 127) / 64


RNG = np.random.default_rng(0)
SHAPES = {"a": (16, 64), "b": (64, 64), "c": (64, 4)}
PARAMS = {name: np.float32(RNG.standard_normal(shape) / np.sqrt(shape[0])) for name, shape in SHAPES.items()}
X = np.float32(RNG.standard_normal((64, 16)))


@pytest.mark.parametrize("quantised", [symmetric, by_the_inverse, asymmetric, in_groups, fixed_point])
def test_gradients(quantised: Callable[[jax.Array], jax.Array]) -> None:
    def step(p: Any, x: Any) -> Any:
        def loss(p: Any) -> Any:
            q = quantised
            y = q(jax.nn.gelu(q(jax.nn.gelu(q(x) @ q(p["a"]))) @ q(p["b"]))) @ q(p["c"])
            return jnp.mean((y - jnp.sin(x[:, :4])) ** 2)

        value, gradient = jax.value_and_grad(loss)(p)
        return jax.tree.map(lambda p, g: p - 0.1 * g, p, gradient), value, gradient

    _, value, gradient = jax.jit(step)(PARAMS, X)
    narrow = sc.scalify(step, precision="fp16")
    _, got, found = narrow(*narrow.stored(*sc.as_scaled_array((PARAMS, X))))
    np.testing.assert_allclose(sc.asarray(got), value, rtol=1e-2)
    for name in SHAPES:
        error = np.linalg.norm(sc.asarray(found[name], np.float32) - gradient[name])
        assert error < 0.03 * np.linalg.norm(gradient[name]), name
