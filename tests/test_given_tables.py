"""Columns in unlike units, quotients and weights that a step computes of what it is given: their sizes are measured.

# x[:, 1:] of x = (10^7, 0.3), (t - 1.7e9) / 1e6, 1 / (d + 1e-8), (z - y)^2 / deviation^2
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
WIDE = np.asarray(10.0 ** RNG.uniform(-4, 0, (128, 16)), np.float32)
GONE = RNG.random(X.shape) < 0.3


def network(p: Any, x: Any) -> Any:
    return jnp.tanh(x @ p[0]) @ p[1]


def error(p: Any, x: Any, y: Any) -> Any:
    return jnp.mean((network(p, x) - y) ** 2)


def after_an_id(p: Any, table: Any, y: Any) -> Any:
    return error(p, table[:, 1:], y)


def with_a_time(p: Any, table: Any, y: Any) -> Any:
    return error(p, jnp.concatenate([table[:, :31], (table[:, 31:] - 1.7e9) / 1e6], 1), y)


def in_other_units(p: Any, table: Any, y: Any) -> Any:
    return error(p, jnp.concatenate([table[:, :16], table[:, 16:] * 1e-6], 1), y)


def times_a_mask(p: Any, x: Any, y: Any, mask: Any) -> Any:
    return error(p, x * mask, y)


def by_variance(p: Any, x: Any, y: Any, deviation: Any) -> Any:
    return jnp.mean((network(p, x) - y) ** 2 / deviation**2)


def by_deviation(p: Any, x: Any, y: Any, deviation: Any) -> Any:
    return jnp.mean(((network(p, x) - y) / deviation) ** 2)


def relative(p: Any, x: Any, y: Any) -> Any:
    return jnp.mean((network(p, x) - y) ** 2 / (y**2 + 1e-5))


def inverse_propensity(p: Any, x: Any, y: Any, chance: Any) -> Any:
    return jnp.mean(1 / jnp.clip(chance, 1e-6, 1) * jnp.mean((network(p, x) - y) ** 2, -1))


def inverse_distances(p: Any, x: Any, y: Any, places: Any) -> Any:
    weights = 1 / (jnp.sum((places[:, None] - places) ** 2, -1) + 1e-8)
    return jnp.mean((weights @ network(p, x) / jnp.sum(weights, 1, keepdims=True) - y) ** 2)


LOSSES: list[tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = [
    (after_an_id, (np.concatenate([np.float32(RNG.integers(0, 10**7, (128, 1))), X], 1), Y)),
    (with_a_time, (np.concatenate([X[:, :31], np.float32(1.7e9 + 1e6 * normal(128, 1))], 1), Y)),
    (in_other_units, (np.concatenate([X[:, :16], X[:, 16:] * 1e6], 1), Y)),
    (times_a_mask, (np.where(GONE, np.float32(-9999), X), Y, np.float32(~GONE))),
    (by_variance, (X, Y, WIDE)),
    (by_deviation, (X, Y, WIDE)),
    (relative, (X, Y)),
    (inverse_propensity, (X, Y, WIDE[:, 0] / 4)),
    (inverse_distances, (X, Y, normal(128, 2))),
]


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
@pytest.mark.parametrize(("loss", "batch"), LOSSES, ids=[f.__name__ for f, _ in LOSSES])
def test_gradients(loss: Callable[..., Any], batch: tuple[np.ndarray, ...], precision: Any) -> None:
    def step(state: Any, batch: Any) -> tuple[Any, Any]:
        parameters, _ = state
        value, gradients = jax.value_and_grad(loss)(parameters, *batch)
        return (jax.tree.map(lambda p, g: p - 1e-3 * g, parameters, gradients), gradients), value

    state = PARAMETERS, [np.zeros_like(p) for p in PARAMETERS]
    (_, wanted), value = jax.jit(step)(state, batch)
    f = sc.scalify(step, precision=precision)
    scaled, given = sc.as_scaled_array((state, batch))
    scaled, _ = f.stored(scaled, given)
    (_, found), rounded = f(scaled, given)
    assert abs(float(rounded) - float(value)) < (0.1 if precision == "fp8" else 0.01) * float(value)
    for want, have in zip(wanted, sc.asarray(found, np.float32), strict=True):
        assert np.linalg.norm(have - want) < (0.01 if precision == "fp16" else 0.12) * np.linalg.norm(want)
