"""Exponentials of what is learnt are of any size: what products read of them is measured; loops stack them in f32."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_Tree = dict[str, Any]
_RNG = np.random.default_rng(0)
_RETURNS = np.float32(0.01 * _RNG.standard_t(6, (32, 60)))
_X = np.float32(_RNG.standard_normal((256, 16)))


def _normal(*shape: int) -> np.ndarray:
    return np.float32(_RNG.standard_normal(shape))


def _volatility(p: _Tree, r: jax.Array) -> jax.Array:
    """Variances v <- omega + alpha r^2 + beta v, 10^-4; a loop stacks 1 / v^2 for the gradient of r^2 / v."""

    def step(v: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        density = -0.5 * jnp.log(v) - 0.5 * x**2 / v
        return jnp.exp(p["omega"]) + p["alpha"] * x**2 + jax.nn.sigmoid(p["beta"]) * v, density

    return -jnp.mean(jax.lax.scan(step, jnp.mean(r**2, 1), r.T)[1])


def _layers(outputs: int, bias: float) -> _Tree:
    return {"a": _normal(16, 32) / 4, "b": 0.1 * _normal(32, outputs) / 6, "c": np.full(outputs, bias, np.float32)}


def _network(p: _Tree, x: jax.Array) -> jax.Array:
    return jnp.tanh(x @ p["a"]) @ p["b"] + p["c"]


def _revenues(p: _Tree, x: jax.Array, y: jax.Array) -> jax.Array:
    """exp(14 + f(x)): of d exp(z) = exp(z) dz products of matrices read."""
    return jnp.mean(((y - jnp.exp(_network(p, x))) / 1e6) ** 2)


def _deviations(p: _Tree, x: jax.Array, y: jax.Array) -> jax.Array:
    """A normal density whose deviation is learnt as its logarithm, e^-6."""
    mean, log_deviation = jnp.split(_network(p, x), 2, -1)
    return jnp.mean(jnp.exp(-2 * log_deviation) * (y - mean) ** 2 / 2 + log_deviation)


def _kernels(p: _Tree, x: jax.Array, y: jax.Array) -> jax.Array:
    """A product of one exponential, multiplied by another."""
    mixed = jnp.exp(x @ p["q"] - 4) @ jnp.abs(p["v"])
    return jnp.mean((mixed * jnp.exp(_network(p, x)) / 1e4 - y) ** 2)


_PROGRAMS: dict[str, tuple[Callable[..., jax.Array], _Tree, tuple[np.ndarray, ...]]] = {
    "volatility": (
        _volatility,
        {name: np.full(32, number, np.float32) for name, number in (("omega", -11), ("alpha", 0.1), ("beta", 1))},
        (_RETURNS,),
    ),
    "revenues": (_revenues, _layers(4, 14), (_X, np.float32(1.5e6 * np.exp(0.1 * _normal(256, 4))))),
    "deviations": (_deviations, _layers(8, -6), (_X, 1e-3 * _normal(256, 4))),
    "kernels": (
        _kernels,
        _layers(4, 8) | {"q": _normal(16, 24) / 4, "v": _normal(24, 4) / 10},
        (_X, _normal(256, 4)),
    ),
}


@pytest.mark.parametrize("name", _PROGRAMS)
def test_gradients(name: str) -> None:
    loss, weights, batch = _PROGRAMS[name]

    def step(p: _Tree, *batch: jax.Array) -> tuple[_Tree, _Tree, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(p, *batch)
        return jax.tree.map(lambda w, g: w - 1e-6 * g, p, gradients), gradients, value

    expected, scaled = jax.jit(step)(weights, *batch), sc.scalify(step, precision="fp16")
    found = scaled(sc.as_scaled_array(weights), *batch)
    np.testing.assert_allclose(np.asarray(found[2]), np.asarray(expected[2]), rtol=2e-3)
    for key, want in expected[1].items():
        error = np.asarray(found[1][key], np.float32) - want
        assert np.sqrt(np.mean(error**2)) < 0.01 * np.sqrt(np.mean(np.square(want))), key
