"""What stands for missing numbers in data that a step is given, chosen away, does not decide how the rest is rounded.

# select(|a| < 9000, a, 0): of the size of what is chosen, not of a
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
GONE_X, GONE_Y = RNG.random(X.shape) < 0.3, RNG.random(Y.shape) < 0.3


def network(p: Any, x: Any) -> Any:
    return jnp.tanh(x @ p[0]) @ p[1]


def replaced(p: Any, x: Any, y: Any) -> Any:
    """A survey: missing answers are 0."""
    return jnp.mean((network(p, jnp.where(jnp.abs(x) > 9000, 0, x)) - y) ** 2)


def masked(p: Any, x: Any, y: Any) -> Any:
    """Station data: a float mask times what was measured."""
    return jnp.mean((network(p, x * (x > -9000)) - y) ** 2)


def imputed(p: Any, x: Any, y: Any) -> Any:
    """Patients' records: missing values are the column's mean."""
    known = x < 9000
    mean = jnp.sum(jnp.where(known, x, 0), 0) / jnp.sum(known, 0)
    return jnp.mean((network(p, jnp.where(known, x, mean)) - y) ** 2)


def unknown_targets(p: Any, x: Any, y: Any) -> Any:
    """A climate model's output, 1e20 on land: the difference is chosen, of which the other part is no data."""
    known = jnp.abs(y) < 9000
    return jnp.sum(jnp.where(known, network(p, x) - y, 0) ** 2) / jnp.sum(known)


def unknown_targets_first(p: Any, x: Any, y: Any) -> Any:
    known = jnp.abs(y) < 9000
    return jnp.sum(known * (network(p, x) - jnp.where(known, y, 0)) ** 2) / jnp.sum(known)


LOSSES: list[tuple[Callable[..., Any], float, float]] = [
    (replaced, -9999.0, 0.0), (replaced, 1e20, 0.0), (masked, -9999.0, 0.0), (imputed, 1e9, 0.0),
    (unknown_targets, 0.0, 1e20), (unknown_targets_first, 0.0, 1e10),
]  # fmt: skip


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
@pytest.mark.parametrize(("loss", "of_x", "of_y"), LOSSES, ids=[f"{f.__name__} {x or y:g}" for f, x, y in LOSSES])
def test_gradients(loss: Callable[..., Any], of_x: float, of_y: float, precision: Any) -> None:
    def step(parameters: Any, x: Any, y: Any) -> tuple[Any, Any]:
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        return jax.tree.map(lambda p, g: p - 100 * g, parameters, gradients), value

    x = np.where(GONE_X, np.float32(of_x), X) if of_x else X
    y = np.where(GONE_Y, np.float32(of_y), Y) if of_y else Y
    wanted, value = jax.jit(step)(PARAMETERS, x, y)
    found, rounded = sc.scalify(step, precision=precision)(*sc.as_scaled_array((PARAMETERS, x, y)))
    assert abs(float(rounded) - float(value)) < 0.01 * float(value)
    for before, want, have in zip(PARAMETERS, wanted, found, strict=True):
        moved, expected = np.float64(np.asarray(have)) - before, np.float64(want) - before
        assert np.linalg.norm(moved - expected) < (0.005 if precision == "fp16" else 0.1) * np.linalg.norm(expected)
