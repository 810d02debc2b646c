"""What a step is given, standardised by statistics that the step carries: of size 1, whatever the statistics were."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo

ROUNDED = {"xla_allow_excess_precision": False}
GENERATOR = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return np.float32(GENERATOR.normal(size=shape))


def running(mean: Any, variance: Any, count: Any, x: Any) -> tuple[Any, Any, Any]:
    """Statistics of a batch taken into those of the batches before."""
    mean = mean + (jnp.mean(x, 0) - mean) / (count + 1)
    variance = variance + (jnp.mean((x - mean) ** 2, 0) - variance) / (count + 1)
    return mean, variance, (x - mean) / jnp.sqrt(variance + 1e-6)


def predicted(w: Any, x: Any) -> Any:
    return (jnp.tanh(x @ w[0]) @ w[1])[:, 0]


def targets(w: Any, state: Any, x: Any, y: Any) -> Any:
    """Megawatts, 454 on average, to be predicted."""
    mean, variance, z = running(*state, y)

    def loss(w: Any) -> Any:
        return jnp.exp(jnp.sum(w[0] ** 2) * 0.01) * jnp.sum((predicted(w, x) - z) ** 4)

    return jax.grad(loss)(w), mean, variance


def observations(w: Any, state: Any, x: Any, y: Any) -> Any:
    """Frequencies of about 2^13 Hz, that are observed."""
    mean, variance, z = running(*state, y)

    def loss(w: Any) -> Any:
        return jnp.mean((z * predicted(w, x) - z**3) ** 2)

    return jax.grad(loss)(w), mean, variance


def returns(w: Any, state: Any, x: Any, y: Any) -> Any:
    """Rewards divided by how far they vary, as weights of a policy's log-probabilities."""
    variance = state[1] + (jnp.var(y) - state[1]) / (state[2] + 1)

    def loss(w: Any) -> Any:
        value = predicted(w, x)
        advantage = jax.lax.stop_gradient(y / jnp.sqrt(variance + 1e-8))
        return -jnp.mean(jax.nn.log_sigmoid(value) * advantage**3)

    return jax.grad(loss)(w), state[0], variance


STEPS: dict[str, tuple[Callable[..., Any], Any]] = {
    "targets": (targets, 454 + 17 * normal(64)),
    "observations": (observations, 8000 + 20 * normal(64)),
    "returns": (returns, 3e3 * normal(64)),
}


@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
@pytest.mark.parametrize("name", STEPS)
def test_gradients_are_those_of_f32(name: str, precision: Any) -> None:
    function, given = STEPS[name]
    weights = [normal(6, 20) / 3, normal(20, 1) / 4]
    state, x = (np.float32(0), np.float32(1), np.float32(0)), normal(64, 6)

    def step(w: Any, state: Any, x: Any, y: Any) -> Any:
        gradients, mean, variance = function(w, state, x, y)
        return [a - 0.01 * g for a, g in zip(w, gradients, strict=True)], (mean, variance, state[2] + 1), gradients

    expected = jax.jit(step)(weights, state, x, given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaled = jax.jit(scalify_hlo.scalify(step, precision=precision), compiler_options=ROUNDED)
        got = scaled(*scalify_hlo.as_scaled_array((weights, state, x, given)))
    for a, b in zip(got[2], expected[2], strict=True):
        assert np.linalg.norm(np.asarray(a).astype(np.float64) - b) < 5e-3 * np.linalg.norm(b)
    np.testing.assert_allclose(np.asarray(got[1][1]), expected[1][1], rtol=1e-2)
