"""Routines of a library that factorise a matrix or solve by one, in programs of narrow types."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
import pytest

import scalify_hlo as sc

dense: Any = jnp.linalg
linalg: Any = jax.scipy.linalg
transforms: Any = jax


def _square(a: Any) -> Any:
    """A positive definite matrix that is as large as a squared."""
    return a @ a.T + jnp.eye(5) * jnp.mean(jnp.abs(a)) ** 2


def _gradient(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def weighted(a: Any) -> Any:
        y = f(a)
        return jnp.sum(y * jnp.sin(1.0 + jnp.arange(y.size, dtype=np.float32)).reshape(y.shape))

    return transforms.grad(weighted)


def _inverse(a: Any) -> Any:
    return dense.inv(a)


def _cholesky(a: Any) -> Any:
    return dense.cholesky(_square(a))


def _solved(a: Any) -> Any:
    return linalg.cho_solve(linalg.cho_factor(_square(a)), a)


def _eigenvalues(a: Any) -> Any:
    return dense.eigvalsh(_square(a))


def _singular_values(a: Any) -> Any:
    return dense.svd(a)[1]


def _factor_q(a: Any) -> Any:
    return dense.qr(a)[0]


def _factor_r(a: Any) -> Any:
    return dense.qr(a)[1]


def _factor_l(a: Any) -> Any:
    return linalg.lu(a)[1]


def _unit_solved(a: Any) -> Any:
    return linalg.solve_triangular(a / jnp.max(jnp.abs(a)), a, unit_diagonal=True)


def _pivoted_r(a: Any) -> Any:
    return linalg.qr(a, pivoting=True)[1]


def _tridiagonal_solved(a: Any) -> Any:
    """Conduction between cells beside each other; the right side has no size, so that the result's is an inverse."""
    conducted = jnp.abs(a[:, 0])
    zero = jnp.zeros(1)
    below, above = jnp.concatenate([zero, -conducted[1:]]), jnp.concatenate([-conducted[1:], zero])
    diagonal = jnp.mean(conducted) - below - above
    return jax.lax.linalg.tridiagonal_solve(below, diagonal, above, jnp.eye(5))


def _perturbed_solved(a: Any) -> Any:
    below, above = jnp.zeros(5).at[1:].set(a[1:, 0]), jnp.zeros(5).at[:-1].set(a[1:, 1])
    diagonal = 3 * jnp.max(jnp.abs(a)) + a[:, 2]
    return jax.lax.linalg.tridiagonal_solve(below, diagonal, above, jnp.eye(5), perturb_singular=True)


_FUNCTIONS = (_inverse, _cholesky, _solved, _eigenvalues, _singular_values, _factor_q, _factor_r, _factor_l,
              _unit_solved, _pivoted_r, _tridiagonal_solved, _perturbed_solved)  # fmt: skip


def _matrix() -> Any:
    return (np.random.default_rng(0).standard_normal((5, 5)) + 2 * np.eye(5)).astype(np.float32)


def _value(result: Any) -> Any:
    return np.asarray(result.data, np.float64) * np.asarray(result.scale, np.float64)


def _error(got: Any, expected: Any) -> float:
    return float(np.linalg.norm(got - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("exponent", [-20, 0, 24])
@pytest.mark.parametrize(
    "f",
    [
        *_FUNCTIONS,
        *map(_gradient, (_inverse, _cholesky, _solved, _eigenvalues, _factor_q, _factor_r, _tridiagonal_solved)),
    ],
)
def test_results_keep_their_digits_at_any_size_of_the_matrix(f: Callable[[Any], Any], exponent: int) -> None:
    """At the scale 1 the inverse of a matrix of 2^24 was 0 in f16, and its Cholesky factor's gradient NaN."""
    a = _matrix() * np.float32(2.0**exponent)
    got = _value(sc.scalify(f, precision="fp16")(*sc.as_scaled_array((jnp.asarray(a),))))
    assert _error(got, np.asarray(jax.jit(f)(a), np.float64)) < 2.0**-9


@pytest.mark.parametrize("f", _FUNCTIONS)
def test_powers_of_two_change_no_bit_in_f32(f: Callable[[Any], Any]) -> None:
    a = _matrix()
    got: Any = sc.scalify(f)(sc.ScaledArray(jnp.asarray(a / 8), jnp.float32(8)))
    np.testing.assert_array_equal(np.asarray(got), np.asarray(jax.jit(f)(a), np.float32))


def test_a_gradient_of_the_exponential_of_a_matrix() -> None:
    """Pade's approximant is solved by a matrix of 2^24: 40% of the gradient was lost."""

    a = (np.random.default_rng(0).standard_normal((4, 4)) * 0.5).astype(np.float32)
    f = _gradient(linalg.expm)
    got = _value(sc.scalify(f, precision="fp16")(*sc.as_scaled_array((jnp.asarray(a),))))
    assert _error(got, np.asarray(f(a), np.float64)) < 2.0**-9
