"""Gradients with the parameter itself among their terms, in loops: x + g of x - h (x + g) is no update of x.

They were held at the parameter's scale, at which the rest of the gradient is beyond f16.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_RNG = np.random.default_rng(0)
_X = np.float32(_RNG.normal(size=(128, 10)))
_Y = np.float32(np.sin(2 * _X[:, 0]) + _X[:, 1] * _X[:, 2])


def _energy(p: Any, x: Any, y: Any) -> Any:
    """A likelihood of deviation 0.2 and a prior of deviation 1."""
    error = (jnp.tanh(x @ p["a"]) @ p["b"])[:, 0] - y
    return 0.5 * jnp.sum(error**2) / 0.04 + 0.5 * sum(jnp.sum(w**2) for w in p.values())


def _moved(p: Any, g: Any, h: float) -> Any:
    return jax.tree.map(lambda u, v: u + h * v, p, g)


def _leapfrog(p: Any, m: Any, x: Any, y: Any) -> Any:
    """Hamiltonian Monte Carlo: one step of ten, which is accepted if it keeps the energy."""

    def step(carried: Any, _: Any) -> Any:
        q, m = carried
        m = _moved(m, jax.grad(_energy)(q, x, y), -1e-3)
        q = _moved(q, m, 2e-3)
        return (q, _moved(m, jax.grad(_energy)(q, x, y), -1e-3)), None

    (q, _), _ = jax.lax.scan(step, (p, m), None, length=10)
    accepted = _energy(q, x, y) < _energy(p, x, y) + 1e6
    return jax.tree.map(lambda u, v: jnp.where(accepted, u, v), q, p)


def _langevin(p: Any, m: Any, x: Any, y: Any) -> Any:
    """Langevin dynamics, whose last state is kept if it is finite."""

    def step(q: Any, _: Any) -> Any:
        return _moved(_moved(q, jax.grad(_energy)(q, x, y), -1e-4), m, 1e-3), None

    q, _ = jax.lax.scan(step, p, None, length=10)
    finite = jnp.isfinite(_energy(q, x, y))
    return jax.tree.map(lambda u, v: jnp.where(finite, u, v), q, p)


def _adapted(p: Any, m: Any, x: Any, y: Any) -> Any:
    """Steps of descent from where a task begins, with what has been learnt before as their prior."""

    def step(_: Any, q: Any) -> Any:
        return _moved(q, jax.grad(_energy)(q, x, y), -2e-4)

    q = jax.lax.fori_loop(0, 10, step, p)
    return jax.tree.map(lambda u, v, n: u + 0.1 * (jnp.where(jnp.sum(v) < 1e9, v, u) - u) + 0 * n, p, q, m)


@pytest.mark.parametrize("precision", ["fp16", "fp16 gradients=f32"])
@pytest.mark.parametrize("step", [_leapfrog, _langevin, _adapted])
def test_they_are_as_large_as_their_terms(step: Callable[..., Any], precision: str) -> None:
    p = {"a": np.float32(_RNG.normal(size=(10, 16)) / 3), "b": np.float32(_RNG.normal(size=(16, 1)) / 4)}
    m = {key: np.float32(_RNG.normal(size=w.shape)) for key, w in p.items()}
    got = sc.scalify(step, precision=precision)(*sc.as_scaled_array((p, m, _X, _Y)))
    wanted = jax.jit(step)(p, m, _X, _Y)
    for key, w in p.items():
        change = np.asarray(wanted[key], np.float64) - w
        error = np.asarray(got[key], np.float64) - np.asarray(wanted[key], np.float64)
        assert np.linalg.norm(error) < 3e-3 * np.linalg.norm(change)
