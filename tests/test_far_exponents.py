"""Factors that are no numbers of the type that they multiply: 2^-200 of f32, 2^16 of f16.

# (s a) b = s (a b), which XLA makes of it: for a = 2^-126 and b = 2^-74, 0; in f16 for a = 2^15 and b = 2, infinity
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("steps", [2, 3])
def test_a_product_with_constants_keeps_its_scale(sign: int, steps: int) -> None:
    """It was 0, or infinite, from XLA; right in the interpreter, which does what it is told."""
    factor = np.float32(2.0 ** (100 * sign))
    data = np.float32([1.0, -1.5, 0.75])
    scale = 2.0 ** (-60.0 * sign)

    def f(x: Any) -> Any:
        y = x * x  # 2^-120
        for _ in range(steps - 1):
            y = y * factor
        return y

    result: Any = jax.jit(sc.scalify(f))(sc.ScaledArray(data, np.float32(scale)))
    expected = data.astype(np.float64) ** 2 * scale**2 * float(factor) ** (steps - 1)
    np.testing.assert_array_equal(np.asarray(result.data, np.float64) * float(result.scale), expected)


def _chosen(w: Any, x: Any) -> Any:
    y = x @ w
    return jnp.mean(y**2) + 2e-5 * jnp.sum(jnp.where(x[:, :1] > x[None, :, 0], y @ y.T, 0))


def _gathered(w: Any, x: Any) -> Any:
    y = x @ w
    places = np.arange(6)
    return jnp.mean(y**2) + 1e-6 * jnp.sum((y @ y.T)[places, places[::-1]])


def _masked(w: Any, x: Any) -> Any:
    y = x @ w
    return jnp.mean(y**2) + 2e-5 * jnp.sum(jnp.tril(y @ y.T))


@pytest.mark.parametrize("loss", [_chosen, _gathered, _masked])
def test_small_gradients_of_some_places_are_finite(loss: Any) -> None:
    """A penalty of small weight has a gradient of one small number in some places: all was NaN, 0 by infinity."""
    generator = np.random.default_rng(0)
    arguments = np.float32(generator.normal(size=(8, 4))), np.float32(generator.normal(size=(16, 8)))
    expected = jax.jit(jax.grad(loss))(*arguments)
    scaled: Any = jax.jit(sc.scalify(jax.grad(loss), precision="fp16"))(*sc.as_scaled_array(arguments))
    assert np.linalg.norm(np.asarray(scaled, np.float64) - expected) < 1e-3 * np.linalg.norm(expected)
