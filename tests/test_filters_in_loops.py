"""What a loop computes in f32 alone is stacked in f32: innovations of a filter, y_t - m_t, and the likelihood of them.

# (101325 + 4) - 101325 = 4, of which f16 leaves 0 at the scale of what is given
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

STEPS = 40
_RANDOM = np.random.default_rng(3)
PRESSURES = np.float32(101325 + np.cumsum(_RANDOM.normal(0, 4, (8, STEPS)), 1) + _RANDOM.normal(0, 15, (8, STEPS)))


def local_level(q: Any, y: Any) -> Any:
    def one(carried: Any, y: Any) -> Any:
        mean, variance = carried
        variance = variance + jnp.exp(q["drift"])
        total, error = variance + jnp.exp(q["noise"]), y - mean
        gain = variance / total
        return (mean + gain * error, variance - gain * variance), 0.5 * (jnp.log(total) + error**2 / total)

    return jax.lax.scan(one, (y[0], jnp.float32(100)), y[1:])[1].mean()


def local_trend(q: Any, y: Any) -> Any:
    moves = jnp.array([[1.0, 1.0], [0.0, 0.9]])

    def one(carried: Any, y: Any) -> Any:
        mean, variance = carried
        mean, variance = moves @ mean, moves @ variance @ moves.T + jnp.diag(jnp.exp(q["drift"]))
        total, error = variance[0, 0] + jnp.exp(q["noise"]), y - mean[0]
        gain = variance[:, 0] / total
        return (mean + gain * error, variance - jnp.outer(gain, variance[0])), 0.5 * (jnp.log(total) + error**2 / total)

    return jax.lax.scan(one, (jnp.stack([y[0], 0.0]), jnp.diag(jnp.array([1e4, 1e2]))), y[1:])[1].mean()


def forecast(q: Any, y: Any) -> Any:
    """Exponential smoothing: what it learns are two numbers."""

    def one(level: Any, y: Any) -> Any:
        error = y - level
        return level + jax.nn.sigmoid(q["drift"]) * error, (error / 15) ** 2 + 1e-3 * q["noise"]

    return jax.lax.scan(one, y[0], y[1:])[1].mean()


PROGRAMS = {
    "level": (local_level, {"drift": np.float32(0), "noise": np.float32(2)}),
    "trend": (local_trend, {"drift": np.zeros(2, np.float32), "noise": np.float32(2)}),
    "smoothing": (forecast, {"drift": np.float32(0), "noise": np.float32(2)}),
}


@pytest.mark.parametrize("precision", ["fp16", "fp16-state", "fp8"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_filter_learns_as_in_f32(name: str, precision: Any) -> None:
    function, q = PROGRAMS[name]

    def step(q: Any, y: Any) -> Any:
        loss, gradient = jax.value_and_grad(lambda q: jax.vmap(function, (None, 0))(q, y).mean())(q)
        return jax.tree.map(lambda w, g: w - 0.1 * g, q, gradient), gradient, loss

    _, expected, loss = jax.jit(step)(q, PRESSURES)
    _, found, found_loss = sc.scalify(step, precision=precision)(*sc.as_scaled_array((q, PRESSURES)))
    np.testing.assert_allclose(np.asarray(found_loss), loss, rtol=1e-4)
    for each, gradient in zip(sc.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(each), gradient, rtol=2e-3)
