"""State of a type that no precision has chosen stays: bf16 parameters, moments, bases of adapters, FP8 caches."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import scalify_hlo as sc

WIDTH, CLASSES = 32, 8
PRESETS = ("bf16", "fp16", "fp16-state", "fp8", "fp8-fp16-state")


def parameters(dtype: Any) -> dict[str, jax.Array]:
    rng = np.random.default_rng(1)
    shapes = {"in": (WIDTH, 2 * WIDTH), "out": (2 * WIDTH, WIDTH), "head": (WIDTH, CLASSES)}
    return {name: jnp.asarray(rng.standard_normal(shape) / shape[0] ** 0.5, dtype) for name, shape in shapes.items()}


def loss_of(p: Any, x: Any, y: Any) -> jax.Array:
    x = x.astype(p["head"].dtype)
    x = x + jax.nn.gelu(x @ p["in"]) @ p["out"]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax((x @ p["head"]).astype(jnp.float32)), y[:, None], 1))


def step(optimiser: optax.GradientTransformation, state: Any, x: Any, y: Any) -> tuple[Any, jax.Array]:
    p, moments = state
    loss, gradients = jax.value_and_grad(loss_of)(p, x, y)
    updates, moments = optimiser.update(gradients, moments, p)
    return (optax.apply_updates(p, updates), moments), loss


def trained(function: Callable[..., Any], state: Any, steps: int = 12) -> tuple[Any, list[float]]:
    rng, losses = np.random.default_rng(0), []
    for _ in range(steps):
        x = rng.standard_normal((48, WIDTH)).astype(np.float32)
        state, loss = function(state, x, np.argmax(x[:, :CLASSES], 1))
        losses.append(float(loss))
    return state, losses


def types(state: Any) -> list[str]:
    leaves = jax.tree.leaves(state, is_leaf=lambda x: isinstance(x, sc.ScaledArray))
    return [leaf.dtype.name for leaf in leaves]


@pytest.mark.parametrize("precision", PRESETS)
@pytest.mark.parametrize(
    "optimiser",
    [optax.sgd(0.1, momentum=0.9), optax.MultiSteps(optax.adamw(3e-3, mu_dtype=jnp.bfloat16), 2)],
    ids=["sgd", "accumulated adamw"],
)
def test_parameters_of_bf16(optimiser: Any, precision: str) -> None:
    """They came back as f32 from the presets with f32 state, twice the memory, and were trained as f32 is."""
    p = parameters(jnp.bfloat16)
    state = p, optimiser.init(p)
    plain_state, expected = trained(jax.jit(functools.partial(step, optimiser)), state)
    scaled = sc.scalify(functools.partial(step, optimiser), precision=precision)
    stored, *_ = scaled.stored(sc.as_scaled_array(state), *_batch())
    assert types(stored[0]) == types(p)
    new, losses = trained(scaled, stored)
    assert types(new[0]) == types(p)
    chosen = {"float32": "float16"} if precision == "fp8-fp16-state" else {}
    assert types(new[1]) == [chosen.get(name, name) for name in types(plain_state[1])]
    np.testing.assert_allclose(losses, expected, rtol=0.02)


def _batch() -> tuple[Any, Any]:
    return np.zeros((48, WIDTH), np.float32), np.zeros(48, np.int64)


@pytest.mark.parametrize("precision", PRESETS)
def test_a_frozen_base_of_bf16(precision: str) -> None:
    """Most of the memory of an adapted model: the base goes through the step as it is."""

    def adapted(state: Any, x: Any, y: Any) -> Any:
        base, adapter = state

        def loss(adapter: Any) -> jax.Array:
            return loss_of({**base, "in": base["in"] + (adapter["a"] @ adapter["b"]).astype(jnp.bfloat16)}, x, y)

        value, gradients = jax.value_and_grad(loss)(adapter)
        return (base, jax.tree.map(lambda w, g: w - 0.3 * g, adapter, gradients)), value

    rng = np.random.default_rng(2)
    adapter = {"a": np.float32(rng.standard_normal((WIDTH, 4)) / 6), "b": np.zeros((4, 2 * WIDTH), np.float32)}
    state = parameters(jnp.bfloat16), adapter
    _, expected = trained(jax.jit(adapted), state)
    scaled = sc.scalify(adapted, precision=precision)
    (base, _), losses = trained(scaled, scaled.stored(sc.as_scaled_array(state), *_batch())[0])
    assert set(types(base)) == {"bfloat16"}
    np.testing.assert_allclose(losses, expected, rtol=0.02)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float8_e4m3fn, jnp.float8_e5m2])
@pytest.mark.parametrize("precision", ["bf16", "fp16", "fp8"])
def test_a_cache(precision: str, dtype: Any) -> None:
    """The cache of a decode step, which is written in its own type: a carry of a scan has to keep that."""

    def decode(p: Any, cache: jax.Array, x: jax.Array, place: jax.Array) -> Any:
        cache = jax.lax.dynamic_update_slice(cache, (x @ p["in"]).astype(cache.dtype)[None], (place, 0, 0))
        return cache, jnp.mean(cache.astype(jnp.float32), 0) @ p["out"]

    cache = jnp.zeros((4, 2, 2 * WIDTH), dtype)
    x = np.random.default_rng(3).standard_normal((2, WIDTH)).astype(np.float32)
    expected = jax.jit(decode)(parameters(jnp.float32), cache, x, 1)
    found = sc.scalify(decode, precision=precision)(sc.as_scaled_array(parameters(jnp.float32)), cache, x, 1)
    assert found[0].dtype == dtype
    np.testing.assert_allclose(np.asarray(found[0], np.float32), np.asarray(expected[0], np.float32), atol=0.3)
    np.testing.assert_allclose(np.asarray(sc.asarray(found[1])), expected[1], atol=0.1)
