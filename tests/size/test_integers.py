"""Quantised weights: integers that fill their type, beside a scale for each channel."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

RNG = np.random.default_rng(0)


def _quantised(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    w = RNG.standard_normal(shape) / shape[0] ** 0.5
    scale = np.abs(w).max(0) / 127
    return np.int8(np.round(w / scale)), np.float32(scale)


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_frozen_weights_in_int8(precision: Any) -> None:
    """The integers counted as of size 1: products of layers were 2^13 larger than thought, and infinite in f16."""
    frozen = [_quantised(64, 64) for _ in range(3)]
    adapters = [(np.float32(RNG.standard_normal((64, 4)) / 8), np.zeros((4, 64), np.float32)) for _ in frozen]
    x = np.float32(RNG.standard_normal((32, 64)))

    def loss(adapters: Any, frozen: Any, x: jax.Array) -> jax.Array:
        for (a, b), (q, scale) in zip(adapters, frozen, strict=True):
            x = x @ (q.astype(jnp.float32) * scale) + (x @ a) @ b
            x = x * jax.nn.sigmoid((x @ x.T) @ x)
        return jnp.mean(x**2)

    def step(adapters: Any, frozen: Any, x: jax.Array) -> tuple[Any, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(adapters, frozen, x)
        return jax.tree.map(lambda w, g: w - 0.1 * g, adapters, gradient), value

    new, found = sc.scalify(step, precision=precision)(*sc.as_scaled_array((adapters, frozen, x)))
    _, wanted = jax.jit(step)(adapters, frozen, x)
    assert abs(float(np.asarray(found)) - float(wanted)) < 0.1 * float(wanted)
    assert all(np.all(np.isfinite(np.asarray(leaf.data, np.float32))) for leaf in _leaves(new))


def _leaves(tree: Any) -> list[Any]:
    return jax.tree.leaves(tree, is_leaf=lambda leaf: isinstance(leaf, sc.ScaledArray))
