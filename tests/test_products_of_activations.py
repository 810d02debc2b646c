"""Products of what layers gave with what layers gave, outside of attention: no linear layer, and no gradient."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

ROUNDED = {"xla_allow_excess_precision": False}
Parameters = list[Any]


def _features(parameters: Parameters, x: Any) -> Any:
    h = jnp.tanh(x @ parameters[0])
    return jnp.tanh(h @ parameters[1])


def _dynamics(parameters: Parameters, moments: Any, x: Any) -> tuple[Any, Any]:
    """A linear map from the features of one half to those of the other, by least squares."""
    z = _features(parameters, x)
    now, then = z[:64], z[64:]
    found = now.T @ now / 64
    both = 0.5 * found + 0.5 * moments
    step = jnp.linalg.solve(both + 1e-2 * jnp.eye(32), now.T @ then / 64)
    return jnp.mean((now @ step - then) ** 2), found


def _whitening(parameters: Parameters, moments: Any, x: Any) -> tuple[Any, Any]:
    """Features that are to be uncorrelated: of a batch, and beside a running average."""
    z = _features(parameters, x)
    z = z - jnp.mean(z, 0)
    found = z.T @ z / 128
    return jnp.mean((found - jnp.eye(32)) ** 2) + jnp.mean((0.5 * (found + moments) - jnp.eye(32)) ** 2), found


def _neighbours(parameters: Parameters, moments: Any, x: Any) -> tuple[Any, Any]:
    """Similarities of the rows of a batch, and their running average."""
    z = _features(parameters, x)
    found = z @ z.T / 32
    weights = jax.nn.softmax(found, -1)
    return jnp.mean((weights @ x - x) ** 2) + 0 * jnp.sum(moments), found


PROGRAMS: dict[str, tuple[Callable[..., Any], int]] = {
    "dynamics": (_dynamics, 32),
    "whitening": (_whitening, 32),
    "neighbours": (_neighbours, 128),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_not_in_fp8_nor_is_their_average(name: str) -> None:
    """They were, and the average was read as a gradient, in E5M2, by all: what a solve was given had no inverse."""
    loss, size = PROGRAMS[name]
    generator = np.random.default_rng(0)
    parameters = [np.float32(generator.normal(size=s) / np.sqrt(s[0])) for s in ((48, 64), (64, 32))]
    state = (parameters, np.eye(size, dtype=np.float32))
    x = np.float32(generator.normal(size=(128, 48)))

    def step(state: Any, x: Any) -> Any:
        parameters, moments = state
        (value, found), gradients = jax.value_and_grad(loss, has_aux=True)(parameters, moments, x - 1)
        parameters = [p - 0.1 * g for p, g in zip(parameters, gradients, strict=True)]
        return (parameters, 0.9 * moments + 0.1 * found), value

    lowered = jax.jit(sc.scalify(step, precision="fp8"), compiler_options=ROUNDED).lower(
        *sc.as_scaled_array((state, x))
    )
    text = lowered.as_text()
    products = [line for line in text.splitlines() if "dot_general" in line and "xf8" in line]
    layers = {frozenset((128, 48, 64)), frozenset((128, 64, 32))}
    assert products
    for line in products:
        assert {int(n) for n in re.findall(r"(\d+)x", line.partition(" : ")[2])} in layers, line
    assert f"tensor<{size}x{size}xf8E5M2>" not in text
    (_, moments), _ = lowered.compile()(*sc.as_scaled_array((state, x)))
    expected = jax.jit(step)(state, x)[0][1]
    assert np.linalg.norm(np.asarray(moments, np.float64) - expected) < 0.01 * np.linalg.norm(expected)
