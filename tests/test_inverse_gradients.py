"""Gradients of a layer that a size divides: laws of physics on parameters that a network gives, in SI units.

# d log(p q) = q dp / (p q): what has a size as a divisor is as far above its estimate as the size is below it
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

ROUNDED = {"xla_allow_excess_precision": False}
Parameters = list[np.ndarray]


def _factors(parameters: Any, x: Any) -> list[Any]:
    first, second = parameters
    return jnp.split(jnp.exp(0.3 * jnp.tanh(x @ first) @ second), 4, -1)


def _ladder(parameters: Any, x: Any, frequency: Any) -> Any:
    """How much two resistors and two capacitors let through."""
    a, b, c, d = _factors(parameters, x)
    r1, c1, r2, c2 = a * 1e4, b * 1e-8, c * 5e4, d * 2e-9
    real = 1 - frequency**2 * r1 * r2 * c1 * c2
    imaginary = frequency * (r1 * c1 + r1 * c2 + r2 * c2)
    return jnp.mean((1 / jnp.sqrt(real**2 + imaginary**2) - 0.5) ** 2)


def _beam(parameters: Any, x: Any, force: Any) -> Any:
    """How far a cantilever bends, relative to a centimetre."""
    a, b, c, d = _factors(parameters, x)
    modulus, width, height, length = a * 2e11, b * 0.02, c * 0.03, d * 2
    return jnp.mean((force * length**3 / (3 * modulus * width * height**3 / 12) / 1e-2 - 1) ** 2)


def _resonator(parameters: Any, x: Any, frequency: Any) -> Any:
    """How far a mass on a damped spring moves, relative to the spring at rest."""
    a, b, c, _ = _factors(parameters, x)
    mass, spring, damping = a * 1e-3, b * 1e4, c * 0.1
    stiffness = jnp.sqrt((spring - mass * frequency**2) ** 2 + (damping * frequency) ** 2)
    return jnp.mean((1e4 / stiffness - 0.5) ** 2)


def _shaft(parameters: Any, x: Any, torque: Any) -> Any:
    """How far a shaft is twisted, relative to a tenth."""
    a, b, c, _ = _factors(parameters, x)
    length, modulus, radius = a * 2, b * 8e10, c * 0.02
    return jnp.mean((torque * length / (modulus * np.pi * radius**4 / 32) / 0.1 - 1) ** 2)


def _planck(parameters: Any, x: Any, wavelength: Any) -> Any:
    """What a body radiates: the inverse fifth power of a length is 2^100, and its square no f32."""
    first, second = parameters
    outputs = 0.3 * jnp.tanh(x @ first) @ second
    temperature, emissivity = jnp.exp(outputs[:, :1]), jnp.exp(outputs[:, 1:2])
    exponent = 0.01439 / (wavelength * temperature * 5000)
    return jnp.mean((emissivity * 1.19e-16 / wavelength**5 / (jnp.exp(exponent) - 1) / 1e13 - 1) ** 2)


def _uniform(low: float, high: float) -> np.ndarray:
    return np.random.default_rng(2).uniform(low, high, (64, 6)).astype(np.float32)


PROGRAMS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "ladder": (_ladder, np.exp(_uniform(5, 11))),
    "beam": (_beam, _uniform(10, 500)),
    "shaft": (_shaft, _uniform(1, 10)),
    "resonator": (_resonator, np.exp(_uniform(6, 10))),
    "planck": (_planck, _uniform(0.4e-6, 2e-6)),
}


CASES = [
    *((name, precision, tolerance) for name in ("ladder", "beam", "shaft", "planck") for precision, tolerance in
      (("fp16", 2e-3), ("fp8", 0.15))),
    ("resonator", "fp16", 8e-3),  # of what is left of spring - mass w^2 at resonance
]  # fmt: skip


@pytest.mark.parametrize(("name", "precision", "tolerance"), CASES)
def test_gradients_are_those_of_f32(name: str, precision: Any, tolerance: float) -> None:
    """They were 12 to 100 % off in `fp16`, silently, and up to 100 % in `fp8`; those of radiation NaN in both."""
    loss, given = PROGRAMS[name]
    generator = np.random.default_rng(0)
    parameters = [np.float32(generator.normal(size=s) / np.sqrt(s[0])) for s in ((16, 32), (32, 4))]
    arguments = (parameters, np.float32(generator.normal(size=(64, 16))), given)
    expected = jax.jit(jax.grad(loss))(*arguments)
    scaled = jax.jit(sc.scalify(jax.grad(loss), precision=precision), compiler_options=ROUNDED)
    for a, b in zip(scaled(*sc.as_scaled_array(arguments)), expected, strict=True):
        assert np.linalg.norm(np.asarray(a, np.float64) - b) < tolerance * np.linalg.norm(b)
