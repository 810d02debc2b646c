"""Scales of what is between two bounds, of fractions, and of exponentials that are multiplied by each other."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

F32 = jnp.finfo(jnp.float32)


# clamp(m a, s x, m b) = m clamp(a, x s/m, b), 0 < a, b: bounds at the ends of the type say nothing of x
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scale", [2.0**-30, 1.0, 2.0**20])
@pytest.mark.parametrize("bounds", [(1e-3, 1e3), (1e-10, 1e10), (float(F32.tiny), float(F32.max)), (1e-6, 1.0)])
def test_bounds_of_one_sign(bounds: tuple[float, float], scale: float, sign: int) -> None:
    low, high = sorted(sign * bound for bound in bounds)
    x = np.float32([2.3, 0.7, 1, 0.1]) * sign
    found = sc.scalify(lambda x: jnp.clip(x, low, high))(sc.scaled_array(x, np.float32(scale)))
    np.testing.assert_allclose(np.asarray(found, np.float64), np.clip(np.float64(x) * scale, low, high), rtol=1e-6)
    assert 0.5 * min(max(scale, bounds[0]), bounds[1]) <= float(found.scale) <= min(max(scale, bounds[0]), bounds[1])


def test_a_step_size_that_is_kept_within_the_type() -> None:
    def step(size: Any, q: Any) -> Any:
        p = jnp.cos(q)
        for _ in range(4):
            p = p - size * q**3
            q = q + size * p
        return jnp.clip(jnp.exp(jnp.log(size) * 0.9), F32.tiny, F32.max), jnp.sum(q**2 + p**2)

    q = np.float32([0.1, 0.5, -1])
    size, scaled = np.float32(0.3), sc.as_scaled_array(np.float32(0.3))
    for _ in range(5):
        size, energy = jax.jit(step)(size, q)
        scaled, found = sc.scalify(step)(scaled, sc.as_scaled_array(q))
        np.testing.assert_allclose(np.asarray(found), energy, rtol=1e-5)


FRACTIONS: dict[str, Callable[[Any], Any]] = {
    "floor": lambda x: x - jnp.floor(x),
    "index": lambda x: x - jnp.floor(x).astype(jnp.int32),
    "truncated": lambda x: x - x.astype(jnp.int32).astype(jnp.float32),
    "mod": lambda x: jnp.mod(x, 1.0),
    "rem": lambda x: jax.lax.rem(x, jnp.float32(1)),
}


# 0 <= x - floor(x) < 1
@pytest.mark.parametrize("scale", [1.0, 2.0**7])
@pytest.mark.parametrize("name", FRACTIONS)
def test_fractions_have_unit_scale(name: str, scale: float) -> None:
    x = np.float32([2.25, 70.75, 100.125, 0.5])
    found = sc.scalify(FRACTIONS[name])(sc.scaled_array(x / np.float32(scale), np.float32(scale)))
    np.testing.assert_array_equal(np.asarray(found), FRACTIONS[name](x))
    assert float(found.scale) <= 1 or name not in ("mod", "rem")  # differences only where narrow types read them


@pytest.mark.parametrize("name", ["index", "mod"])
def test_weights_of_an_interpolation(name: str) -> None:
    rng = np.random.default_rng(0)
    table = np.float32(rng.uniform(-1e-4, 1e-4, (102, 102, 16)))
    w = np.float32(rng.standard_normal((16, 64)) / 4), np.float32(rng.standard_normal((64, 16)) / 8)
    places, y = np.float32(rng.random((256, 2))), np.float32(rng.standard_normal((256, 16)))

    def loss(p: Any, x: Any, y: Any) -> Any:
        s = x * 100
        i, f = jnp.floor(s).astype(jnp.int32), FRACTIONS[name](s)
        corners: Any = 0.0
        for dx in (0, 1):
            for dy in (0, 1):
                share = (f[:, 0] if dx else 1 - f[:, 0]) * (f[:, 1] if dy else 1 - f[:, 1])
                corners = corners + share[:, None] * p[0][i[:, 0] + dx, i[:, 1] + dy]
        return jnp.mean((jax.nn.relu(corners @ p[1]) @ p[2] - y) ** 2)

    def step(p: Any, x: Any, y: Any) -> Any:
        gradient = jax.grad(loss)(p, x, y)
        return jax.tree.map(lambda w, g: w - g, p, gradient), gradient

    expected = jax.jit(step)((table, *w), places, y)[1]
    found = sc.scalify(step, precision="fp8")(*sc.as_scaled_array(((table, *w), places, y)))[1]
    for each, gradient in zip(sc.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        error = np.linalg.norm(np.asarray(each, np.float64) - gradient)
        assert error <= 0.35 * np.linalg.norm(gradient)  # all of it where E4M3 had nothing for the corners


LAYERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "coupling": lambda z, s, m: z * jnp.exp(s) + m,
    "inverse": lambda z, s, m: (z - m) * jnp.exp(-s),
    "powers of two": lambda z, s, m: z * jnp.exp2(s) + m,
}


# z_{k+1} = z_k exp(s_k) + m_k, exp(s_k) = 1 nearly: what is measured has unit size, without room that is multiplied
@pytest.mark.parametrize("name", LAYERS)
def test_exponentials_that_are_multiplied(name: str) -> None:
    rng = np.random.default_rng(0)
    weights = [
        (np.float32(rng.standard_normal((10, 16)) / 3), np.float32(rng.standard_normal((16, 20)) * 0.02))
        for _ in range(4)
    ]
    noise = np.float32(rng.standard_normal((32, 10)))

    def loss(weights: Any, z: Any) -> Any:
        volume = jnp.float32(0)
        for a, b in weights:
            m, s = jnp.split(jax.nn.relu(z @ a) @ b, 2, -1)
            z = LAYERS[name](z, s, m)[..., ::-1]
            volume += jnp.mean(s.sum(-1))
        return jnp.mean(0.5 * jnp.sum(z**2, -1)) - volume

    def step(weights: Any, z: Any) -> Any:
        gradient = jax.grad(loss)(weights, z)
        return jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradient), gradient

    expected = jax.jit(step)(weights, noise)[1]
    found = sc.scalify(step, precision="fp16")(*sc.as_scaled_array((weights, noise)))[1]
    for each, gradient in zip(sc.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert np.linalg.norm(np.asarray(each) - gradient) <= 1e-2 * np.linalg.norm(gradient)
