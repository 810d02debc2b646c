"""What a loop carries and reads whole (divisors, arguments of logarithms and sines) stays whole between iterations."""

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


# E[g^2] of gradients from 10^-3 to 10^2, of which f16 keeps the largest
def inner_adam(start: Any, scales: Any) -> Any:
    """Losses of problems that Adam solves in a loop, each of a scale of its own."""

    def step(carry: Any, t: Any) -> Any:
        x, m, v = carry
        g = scales[:, None] * x
        m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
        x = x - 0.05 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.98**t)) + 1e-8)
        return (x, m, v), jnp.mean(x**2, 1)

    zeros = jnp.zeros_like(start)
    return jax.lax.scan(step, (start, zeros, zeros), jnp.arange(1.0, 13.0))[1][-1]


# sin(x + d) = sin(x) + d cos(x): of a phase of 1000, f16 holds units
def oscillators(frequencies: Any, forces: Any) -> Any:
    """Phases of coupled oscillators, which go on growing."""

    def step(phase: Any, force: Any) -> Any:
        phase = phase + frequencies * (1 + 0.01 * jnp.tanh(force))
        return phase, jnp.sin(phase)

    return jnp.mean(jax.lax.scan(step, jnp.zeros_like(frequencies), forces)[1] * forces, 0)


# log(p q) = log(p) + log(q): -inf where f16 has rounded the product of the probabilities to 0
def survival(hazards: Any, risks: Any) -> Any:
    """Logarithms of the share that survives, a product over periods."""

    def step(share: Any, risk: Any) -> Any:
        share = share * (1 - jax.nn.sigmoid(hazards + risk))
        return share, jnp.log(share)

    return jnp.mean(jax.lax.scan(step, jnp.ones_like(hazards), risks)[1], 0)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "Adam": (inner_adam, (normal(8, 10), np.float32(10 ** np.linspace(-3, 2, 8)))),
    "phases": (oscillators, (40 + 5 * normal(16, 8), normal(50, 16, 8))),
    "survival": (survival, (normal(16, 8), 1 + normal(24, 16, 8))),
}


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_f32(name: str, precision: Any) -> None:
    program, arguments = PROGRAMS[name]
    expected = np.asarray(jax.jit(program)(*arguments))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaled = jax.jit(scalify_hlo.scalify(program, precision=precision), compiler_options=ROUNDED)
        got = np.asarray(scaled(*scalify_hlo.as_scaled_array(arguments))).astype(np.float64)
    error = np.abs(got - expected) / np.abs(expected) if name == "Adam" else np.abs(got - expected)
    assert error.max() < 1e-2
