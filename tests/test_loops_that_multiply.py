"""Gradients that a loop multiplies in each iteration: of rates that a network gives, and of where a simulation starts.

# c' = f c: of n iterations f^n, and what f is off by to the n-th power
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

ROUNDED = {"xla_allow_excess_precision": False}
STEPS = 40
TIMES = np.linspace(0, 2, STEPS, dtype=np.float32)[:, None]


def _epidemic(start: Any, rates: Any, size: Any) -> Any:
    """S' = S - b S I / N, E' = E + b S I / N - E / 4, I' = I + E / 4 - I / 6 of 10^6 people."""

    def day(c: Any, rate: Any) -> Any:
        s, e, i = c
        infected, ill = 0.3 * jnp.exp(rate) * s * i / size, e / 4
        return (s - infected, e + infected - ill, i + ill - i / 6), ill

    return jax.lax.scan(day, (size - start, 0 * start, start), rates)[1] / 100


def _predators(start: Any, rates: Any, size: Any) -> Any:
    """Of thousands of prey and their hunters."""

    def day(c: Any, rate: Any) -> Any:
        prey, hunters = c
        eaten = 0.2 * jnp.exp(rate) * prey * hunters / size
        return (prey + 0.1 * prey * (1 - prey / size) - eaten, hunters + 0.5 * eaten - 0.1 * hunters), hunters

    return jax.lax.scan(day, (0.5 * size, start), rates)[1] / 10


def _savings(start: Any, rates: Any, size: Any) -> Any:
    """Interest on what is left of an income and its growth, in a currency of large numbers."""

    def month(c: Any, rate: Any) -> Any:
        wealth, income = c
        return ((1 + 0.1 * jax.nn.sigmoid(rate)) * wealth + 0.01 * income, income * (1 + 0.05 * jnp.tanh(rate))), wealth

    return jax.lax.scan(month, (start, 0.1 * size), rates)[1] / 1e3


# Where it starts is a parameter: log(50) in f16 is 2^-10 off in the presets that store it so.
@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 2e-3), ("fp16-state", 1e-2), ("fp8", 1e-2)])
@pytest.mark.parametrize("simulated", [_epidemic, _predators, _savings])
def test_a_step_on_a_simulation_is_that_of_f32(
    simulated: Callable[[Any, Any, Any], Any], precision: Any, tolerance: float
) -> None:
    """Gradients of where it starts were the largest number of f16, and in `fp16` those of the network 40 % off or 0."""
    generator = np.random.default_rng(0)
    size = np.float32([1.2e6, 8.5e5, 4.4e5])
    layers = [np.float32(generator.normal(size=shape) / np.sqrt(shape[0])) for shape in ((1, 32), (32, 1))]
    parameters = [*layers, np.log(np.float32([50, 70, 60]))]

    def loss(p: Any, size: Any, y: Any) -> Any:
        rates = 0.3 * (jnp.tanh(TIMES @ p[0]) @ p[1])[:, 0]
        return jnp.mean((simulated(jnp.exp(p[2]), rates, size) - y) ** 2)

    def step(p: Any, m: Any, size: Any, y: Any) -> Any:
        m = [0.9 * old + g for old, g in zip(m, jax.grad(loss)(p, size, y), strict=True)]
        return [w - 1e-6 * each for w, each in zip(p, m, strict=True)], m

    y = np.float32(generator.uniform(1, 2, (STEPS, 3)))
    state = parameters, [np.zeros_like(w) for w in parameters]
    _, expected = jax.jit(step)(*state, size, y)
    scaled: Any = jax.jit(sc.scalify(step, precision=precision), compiler_options=ROUNDED)
    _, got = scaled(*sc.as_scaled_array((*state, size, y)))
    for a, b in zip(got, expected, strict=True):
        right = np.asarray(b, np.float64)
        assert np.linalg.norm(np.asarray(a, np.float64) - right) <= tolerance * np.linalg.norm(right)
