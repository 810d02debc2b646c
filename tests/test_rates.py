"""Exponentials far from 1 that a constant brings back to 1, in front of a layer: laws of rates in SI units.

# 1e-12 (exp(v / 0.026) - 1), 1e13 exp(-E / (R T)), 2e-9 sinh(20 + x), 3e6 sigmoid(-15 + x): of size 1
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return np.asarray(RNG.standard_normal(shape), np.float32)


PARAMETERS = [normal(32, 64) / 6, normal(64, 16) / 8]
X, Y = normal(128, 32), normal(128, 16)


def diode(t: Any) -> Any:
    """Current through a diode in mA, at half a volt or so."""
    return 1e-12 * jnp.expm1((0.55 + 0.05 * t) / 0.02585) * 1e3


def arrhenius(t: Any) -> Any:
    """A rate at temperatures about 320 K."""
    return 1e13 * jnp.exp(-8e4 / (8.314 * (320 + 10 * t)))


def boltzmann(t: Any) -> Any:
    return jnp.exp(jnp.clip(5 * t, -5, 5) - 20) * 1e8


def electrode(t: Any) -> Any:
    """Butler-Volmer."""
    return jnp.sinh(20 + 2 * t) * 2e-9


def gate(t: Any) -> Any:
    """A channel that is nearly closed."""
    return jax.nn.sigmoid(-15 + 2 * t) * 3e6


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
@pytest.mark.parametrize("law", [diode, arrhenius, boltzmann, electrode, gate])
def test_gradients(law: Callable[[Any], Any], precision: Any) -> None:
    def loss(p: Any, x: Any, y: Any) -> Any:
        return jnp.mean((law(jnp.tanh(x @ p[0])) @ p[1] - y) ** 2)

    def step(state: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(state[0], x, y)
        return (jax.tree.map(lambda p, g: p - 1e-3 * g, state[0], gradients), gradients), value

    state = PARAMETERS, [np.zeros_like(p) for p in PARAMETERS]
    (_, wanted), value = jax.jit(step)(state, X, Y)
    f = sc.scalify(step, precision=precision)
    arguments = f.stored(*sc.as_scaled_array((state, X, Y)))
    (_, found), rounded = f(*arguments)
    assert abs(float(rounded) - float(value)) < 0.01 * float(value)
    for want, have in zip(wanted, sc.asarray(found, np.float32), strict=True):
        assert np.linalg.norm(have - want) < (0.005 if precision == "fp16" else 0.12) * np.linalg.norm(want)


def test_layers_with_elu_are_not_measured() -> None:
    """expm1(where(x > 0, 0, x)) is no larger than 1, whatever x is."""

    def loss(p: Any, x: Any, y: Any) -> Any:
        return jnp.mean((jax.nn.selu(jax.nn.elu(x @ p[0])) @ p[1] - y) ** 2)

    def step(p: Any, x: Any, y: Any) -> Any:
        return jax.tree.map(lambda p, g: p - 1e-3 * g, p, jax.grad(loss)(p, x, y))

    text = str(jax.jit(sc.scalify(step, precision="fp16")).lower(*sc.as_scaled_array((PARAMETERS, X, Y))).as_text())
    assert "128x64xf32>, tensor<f32>) -> tensor<f32>" not in text
