"""Layers that start as zeros: their scale is the smallest normal f32, products of it are 0: nothing may divide by them.

Zero-initialised projections, gates and biases are common, and what follows them is a normalisation or a mask as often
as not. Its derivative at zero is 1/sqrt(epsilon), far from 0.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from examples import gpt2
from scalify_hlo import as_scaled_array, asarray, scalify
from tests.same_program import assert_same

_TINY = gpt2.GPT2Config(layers=1, width=16, heads=2, context=8, vocabulary=32)


def _layer_norm(x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def _layer_norm_by_moments(x: jax.Array) -> jax.Array:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt((x**2).mean(-1, keepdims=True) - mean**2 + 1e-5)


def _rms_norm(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-6)


def _batch_norm(x: jax.Array) -> jax.Array:
    centred = x - x.mean(0)
    return centred * jax.lax.rsqrt((centred**2).mean(0) + 1e-5)


def _unit_length(x: jax.Array) -> jax.Array:
    return x / jnp.sqrt((x**2).sum(-1, keepdims=True) + 1e-6)


def _masked_softmax(x: jax.Array) -> jax.Array:
    return jax.nn.softmax(jnp.where(jnp.tri(*x.shape, dtype=bool), x, -jnp.inf))


@pytest.mark.parametrize(("dtype", "size"), [("float32", 0.0), ("float32", 2.0**-80), ("float16", 0.0)])
@pytest.mark.parametrize(
    "norm", [_layer_norm, _layer_norm_by_moments, _rms_norm, _batch_norm, _unit_length, _masked_softmax]
)
def test_gradient_of_a_layer_of_zeros_before(norm: Callable[[jax.Array], jax.Array], dtype: str, size: float) -> None:
    random = np.random.default_rng(0)
    layer, x, readout = (random.standard_normal(shape).astype(dtype) for shape in ((8, 16), (4, 8), (16, 3)))

    def loss(layer: jax.Array, x: jax.Array, readout: jax.Array) -> jax.Array:
        # Each row with a derivative of its own: batch normalisation's gradient would else be zero but for rounding.
        return jnp.sum(jnp.sin(norm(x @ layer) @ readout + x[:, :3]))

    assert_same(jax.grad(loss, (0, 1, 2)), layer * np.asarray(size, dtype), x, readout)


@pytest.mark.parametrize(
    ("zero", "dtype"), [("attention_in", "float32"), ("out", "float32"), ("out", "float16"), ("", "float16")]
)
def test_gpt2_step_with_weights_of_zeros(zero: str, dtype: str) -> None:
    """The input of attention; the two projections back to the residual stream; all parameters."""
    norm_dtype = "float32" if dtype == "float16" else None
    config = dataclasses.replace(_TINY, dtype=dtype, norm_dtype=norm_dtype)

    def emptied(path: Any, leaf: jax.Array) -> np.ndarray[Any, Any]:
        name = jax.tree_util.keystr(path)
        inside = "parameters" in name and zero in name and ("weight" in name or not zero)
        return np.zeros_like(leaf) if inside else np.asarray(leaf)

    state = jax.tree_util.tree_map_with_path(emptied, gpt2.initial_state(config))
    tokens = np.random.default_rng(0).integers(0, config.vocabulary, (2, config.context + 1), np.int32)
    assert_same(gpt2.make_train_step(config), state, tokens, np.asarray(1e-3, dtype))


@pytest.mark.parametrize(
    "optimizer",
    [optax.adam(1e-3, eps=1e-5), optax.rmsprop(1e-3), optax.lamb(1e-3), optax.adafactor(1e-3, min_dim_size_to_factor=4),
     optax.adagrad(1e-2)],
    ids=["adam", "rmsprop", "lamb", "adafactor", "adagrad"],
)  # fmt: skip
@pytest.mark.parametrize("zero", ["out", "hidden"])
def test_optimizers_with_gradients_of_zeros(optimizer: optax.GradientTransformation, zero: str) -> None:
    """Where one layer is zeros the gradient of the other is: 0 / (sqrt(0) + epsilon), at scales that underflow."""
    random = np.random.default_rng(0)
    shapes = {"hidden": (8, 16), "out": (16, 4)}
    layers = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    layers[zero] = np.zeros_like(layers[zero])
    x, y = (random.standard_normal(shape).astype(np.float32) for shape in ((4, 8), (4, 4)))

    def step(layers: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
        gradients = jax.grad(lambda w: jnp.mean(((x @ w["hidden"]) @ w["out"] - y) ** 2))(layers)
        updates, state = optimizer.update(gradients, state, layers)
        return optax.apply_updates(layers, updates), state

    assert_same(step, layers, optimizer.init(layers), x, y)


def test_a_sum_of_zeros_that_is_divided() -> None:
    """XLA merges the division by the sum's scale, 2^-126, with the program's own."""

    def step(m: jax.Array, v: jax.Array, g: jax.Array) -> jax.Array:
        return (0.7 * m + 0.4 * g) / (jnp.sqrt(0.8 * v + 0.3 * g * g) + 1e-8)

    assert_same(step, *[np.zeros(8, np.float32)] * 3)


def _standardised(weight: jax.Array) -> jax.Array:
    return weight * jax.lax.rsqrt(weight.var(0) * weight.shape[0])


def _skip_gain(zero: Any, weights: Any, x: jax.Array) -> jax.Array:  # SkipInit, normaliser-free networks
    first, second = (_standardised(weights[name]) for name in ("first", "second"))
    return x + 0.2 * zero["gain"] * (jax.nn.gelu(jax.nn.gelu(x) @ first) @ second)


def _rezero(zero: Any, weights: Any, x: jax.Array) -> jax.Array:
    return x + zero["gain"] * (jax.nn.relu(_layer_norm(x) @ weights["first"]) @ weights["second"])


def _gated(zero: Any, weights: Any, x: jax.Array) -> jax.Array:  # Flamingo's gate of cross-attention
    attended = jax.nn.softmax(x @ weights["first"]) @ weights["second"]
    return x + jnp.tanh(zero["gain"]) * attended


def _low_rank(zero: Any, weights: Any, x: jax.Array) -> jax.Array:  # LoRA's B
    return x @ _standardised(weights["first"]) + 2.0 * ((x @ weights["second"]) @ zero["layer"])


def _last_layer(zero: Any, weights: Any, x: jax.Array) -> jax.Array:
    return x + jax.nn.silu(_rms_norm(x @ weights["first"]) @ weights["second"]) @ zero["layer"]


def _layer_scale(zero: Any, weights: Any, x: jax.Array) -> jax.Array:  # ConvNeXt's and CaiT's, adaptive norms' gates
    return x + zero["layer"][0] * (jax.nn.gelu(x @ weights["first"]) @ weights["second"])


@pytest.mark.parametrize("precision", ["fp16", "fp16-state", "fp8"])
@pytest.mark.parametrize("branch", [_skip_gain, _rezero, _gated, _low_rank, _last_layer, _layer_scale])
def test_branches_that_start_at_zero_in_f16(branch: Callable[..., jax.Array], precision: Any) -> None:
    """Derivatives of what a branch of zeros multiplies are 0 at scales near 2^-126, that of the zero is not."""
    random = np.random.default_rng(0)
    weights = {name: (random.standard_normal((8, 8)) / 3).astype(np.float32) for name in ("first", "second")}
    x, target = (random.standard_normal((16, 8)).astype(np.float32) for _ in range(2))
    zero = {"gain": np.zeros((), np.float32), "layer": np.zeros((8, 8), np.float32)}

    def gradients(zero: Any, weights: Any, x: jax.Array, target: jax.Array) -> Any:
        def loss(zero: Any, weights: Any, x: jax.Array) -> jax.Array:
            return jnp.mean((branch(zero, weights, branch(zero, weights, x)) - target) ** 2)

        return jax.grad(loss, (0, 1, 2))(zero, weights, x)

    arguments = zero, weights, x, target
    results = scalify(gradients, precision=precision)(*as_scaled_array(arguments))
    wanted = jax.tree_util.tree_leaves(jax.jit(gradients)(*arguments))
    for result, expected in zip(jax.tree_util.tree_leaves(asarray(results)), wanted, strict=True):
        size = float(np.sqrt(np.mean(np.square(expected)))) + 1e-30
        error = np.sqrt(np.mean(np.square(np.asarray(result, np.float32) - np.asarray(expected)))) / size
        assert error < (0.3 if precision == "fp8" else 0.01), (size, error)


@pytest.mark.parametrize("least", [0.0, 1e-4])
def test_gain_of_zero_before_standardised_weights(least: float) -> None:
    """Normaliser-free networks in f16: s s t / max(t, u) where t and u are of zeros is not (s / max(t, u)) s t."""
    random = np.random.default_rng(0)
    layers = [(random.standard_normal((8, 8)) / 3).astype(np.float32) for _ in range(2)]
    biases = [np.zeros(8, np.float32) for _ in range(2)]
    gain, x = np.zeros((), np.float32), random.standard_normal((16, 8)).astype(np.float32)

    def linear(layer: jax.Array, bias: jax.Array, x: jax.Array) -> jax.Array:
        return x @ (layer * jax.lax.rsqrt(jnp.maximum(layer.var(0) * 8, least) if least else layer.var(0) * 8)) + bias

    def loss(parameters: Any, x: jax.Array) -> jax.Array:
        layers, biases, gain = parameters
        hidden = jax.nn.gelu(linear(layers[0], biases[0], jax.nn.gelu(x)))
        y = x + 0.2 * gain * linear(layers[1], biases[1], hidden)
        return jnp.sum(y * y) / 128

    arguments = (layers, biases, gain), x
    results = scalify(jax.grad(loss, (0, 1)), precision="fp16")(*as_scaled_array(arguments))
    wanted = jax.tree_util.tree_leaves(jax.jit(jax.grad(loss, (0, 1)))(*arguments))
    for result, expected in zip(jax.tree_util.tree_leaves(asarray(results)), wanted, strict=True):
        np.testing.assert_allclose(result, expected, rtol=0, atol=0.01 * float(np.abs(expected).max()) + 1e-30)
