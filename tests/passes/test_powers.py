"""Powers by exponents that are no constants may be of any size, and are f32 in presets that compute in f16."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo

Array = jax.Array
ROUNDED: Any = {"xla_allow_excess_precision": False}
ROWS, HIDDEN, SLOTS = 32, 16, 64


def _sharpened(z: Array, y: Array) -> Array:
    """Attention of a neural Turing machine: 1/64 to the power of 3 or 4."""
    w = jax.nn.softmax(z) ** (3 + jax.nn.softplus(y))
    return w / w.sum(-1, keepdims=True)


def _far_kernel(z: Array, y: Array) -> Array:
    """Kernels of points that are all far away, normalised."""
    w = jnp.exp((4 + y) * z - 20)
    return w / w.sum(-1, keepdims=True)


def _generalised_mean(z: Array, y: Array) -> Array:
    """Of small positive numbers, by a learned power."""
    power = 5 + jnp.mean(y)
    return z * jnp.mean((0.02 * jax.nn.softplus(z)) ** power, axis=-1, keepdims=True) ** (1 / power)


@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
@pytest.mark.parametrize("model", [_sharpened, _far_kernel, _generalised_mean])
def test_gradients_through_powers_of_any_size(model: Callable[[Array, Array], Array], precision: Any) -> None:
    generator = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return (generator.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32)

    p = {"a": normal(8, HIDDEN), "z": normal(HIDDEN, SLOTS), "y": normal(HIDDEN, 1), "out": normal(SLOTS, 8)}
    x = generator.normal(size=(ROWS, 8)).astype(np.float32)

    def loss(p: dict[str, Array], x: Array) -> Array:
        h = jnp.tanh(x @ p["a"])
        return jnp.mean((model(h @ p["z"], h @ p["y"]) @ p["out"] - x) ** 2)

    expected: Any = jax.jit(jax.grad(loss))(p, x)
    step = scalify_hlo.scalify(jax.grad(loss), precision=precision)
    found: Any = jax.jit(step, compiler_options=ROUNDED)(*scalify_hlo.as_scaled_array((p, x)))
    for name, gradient in expected.items():
        error = np.linalg.norm(np.asarray(found[name]) - gradient) / np.linalg.norm(gradient)
        assert error < 0.02, name
