"""Likelihoods of Gaussian processes: what factors and solves give is f32 until a product reads it.

# d/dp log p(y) = (tr(K^-1 dK) - y^T K^-1 dK K^-1 y) / 2, two terms that cancel
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.linalg import cho_solve, solve_triangular

import scalify_hlo as sc

_POINTS = 40


def by_cholesky(k: Any, y: Any) -> Any:
    factor = jnp.linalg.cholesky(k)
    fit = y @ cho_solve((factor, True), y)
    return 0.5 * fit / _POINTS + jnp.mean(jnp.log(jnp.diag(factor)))


def by_halves(k: Any, y: Any) -> Any:
    factor = jnp.linalg.cholesky(k)
    return 0.5 * jnp.mean(solve_triangular(factor, y, lower=True) ** 2) + jnp.mean(jnp.log(jnp.diag(factor)))


def by_solve(k: Any, y: Any) -> Any:
    return 0.5 * (y @ jnp.linalg.solve(k, y)) / _POINTS + 0.5 * jnp.linalg.slogdet(k)[1] / _POINTS


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
@pytest.mark.parametrize("likelihood", [by_cholesky, by_halves, by_solve])
def test_gradients_of_a_likelihood(likelihood: Any, precision: Any) -> None:
    rng = np.random.default_rng(0)
    x = np.float32(np.sort(rng.uniform(0, 10, _POINTS)))
    y = np.float32(np.sin(x) + 0.05 * rng.standard_normal(_POINTS))

    def step(q: Any, x: Any, y: Any) -> Any:
        def loss(q: Any) -> Any:
            apart = x[:, None] - x
            smooth = jnp.exp(q["size"]) * jnp.exp(-0.5 * apart**2 / jnp.exp(2 * q["length"]))
            return likelihood(smooth + jnp.exp(q["noise"]) * jnp.eye(_POINTS), y)

        value, gradient = jax.value_and_grad(loss)(q)
        return jax.tree.map(lambda w, g: w - 0.1 * g, q, gradient), gradient, value

    q = {"size": np.float32(0), "length": np.float32(0.2), "noise": np.float32(-6)}
    _, expected, value = jax.jit(step)(q, x, y)
    _, found, found_value = sc.scalify(step, precision=precision)(*sc.as_scaled_array((q, x, y)))
    np.testing.assert_allclose(np.asarray(found_value), value, rtol=1e-3)
    for name, gradient in expected.items():
        np.testing.assert_allclose(np.asarray(found[name]), gradient, rtol=1e-2, atol=1e-3)
