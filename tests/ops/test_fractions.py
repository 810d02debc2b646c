"""x - floor(x) is below 1, however large x is. It had the scale of x, and interpolation computes powers of it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_SIZE = 16
_RNG = np.random.default_rng(0)
_IMAGES = np.float32(_RNG.uniform(0, 1, (4, _SIZE, _SIZE, 3)))
_FLOW = np.float32(0.3 * _RNG.standard_normal((4, _SIZE, _SIZE, 2)))
_Y, _X = (np.float32(places) for places in np.indices((_SIZE, _SIZE)))


def _fractions(x: jax.Array) -> tuple[jax.Array, ...]:
    nearest = x - jnp.round(x)
    return x - jnp.floor(x), jnp.ceil(x), (1 - (x - jnp.floor(x))) ** 2, nearest


@pytest.mark.parametrize("element", [np.float32, np.float16])
def test_they_are_of_scale_1(element: Any) -> None:
    places = np.float32(_RNG.uniform(0, 200, 64)).astype(np.float16).astype(np.float32)

    def function(x: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(y.astype(np.float32) for y in _fractions(x))

    found = sc.scalify(function)(sc.scaled_array((places / 128).astype(element), np.float32(128)))
    for value, expected in zip(found, function(places), strict=True):
        np.testing.assert_allclose(np.asarray(value), np.asarray(expected), atol=2e-3)
    if element == np.float16:
        assert [float(each.scale) for each in (found[0], found[3])] == [1, 1]


def _warped(image: jax.Array, flow: jax.Array) -> jax.Array:
    """Bilinear interpolation at places that are moved."""
    y, x = (jnp.clip(places + flow[..., i], 0, _SIZE - 1.001) for i, places in enumerate((_Y, _X)))
    below, left = jnp.floor(y), jnp.floor(x)
    v, u = (y - below)[..., None], (x - left)[..., None]
    i, j = below.astype(np.int32), left.astype(np.int32)
    first = image[i, j] * (1 - v) + image[i + 1, j] * v
    return first * (1 - u) + (image[i, j + 1] * (1 - v) + image[i + 1, j + 1] * v) * u


def _similarity(flow: jax.Array, images: jax.Array) -> jax.Array:
    """A quotient by pools of squares, as structural similarity has it."""
    squares = jax.vmap(_warped)(images, flow) ** 2
    pools = jax.lax.reduce_window(squares, 0.0, jax.lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "VALID")
    return jnp.mean(1 / (pools / 9 + 1e-3))


def _smoothness(flow: jax.Array, images: jax.Array) -> jax.Array:
    return jnp.mean(jnp.diff(jax.vmap(_warped)(images, flow), axis=1) ** 4)


@pytest.mark.parametrize("loss", [_similarity, _smoothness])
def test_gradients_behind_interpolation(loss: Any) -> None:
    expected = jax.jit(jax.grad(loss))(_FLOW, _IMAGES)
    found = np.asarray(sc.scalify(jax.grad(loss), precision="fp16")(*sc.as_scaled_array((_FLOW, _IMAGES))), np.float32)
    assert np.linalg.norm(found - expected) < 0.03 * np.linalg.norm(expected)
