"""A far multiple of a mask that is added: one that leaves elements out, and one that is a term, are told apart by use.

A softmax, a minimum, a sort or a quotient by it leaves out the elements to which 1e9 was added, and its size must not
become that of the rest; of what is multiplied, or solved by, it is a term like others.
"""

import warnings
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_N = 8


def _distances(x: jax.Array) -> jax.Array:
    return ((x[:, None] - x[None]) ** 2).sum(-1)


def _causal_attention(x: jax.Array, y: jax.Array) -> jax.Array:
    return jax.nn.softmax(x @ y.T / 3 + (1 - jnp.tril(jnp.ones((_N, _N)))) * -1e9) @ y


def _contrastive(x: jax.Array, y: jax.Array) -> jax.Array:
    z = x / jnp.linalg.norm(x, axis=1, keepdims=True)
    labels = jax.nn.one_hot((jnp.arange(_N) + _N // 2) % _N, _N)
    return -(jax.nn.log_softmax(2 * z @ z.T - 1e9 * jnp.eye(_N)) * labels).sum(-1) * y[0]


def _nearest(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.sort(_distances(x) + 1e9 * jnp.eye(_N), 1)[:, :4] @ y[:4]


def _attraction(x: jax.Array, y: jax.Array) -> jax.Array:
    return (1 / (_distances(x) + 1e6 * jnp.eye(_N))) @ y


def _ridge(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.linalg.solve(x.T @ x + 1e5 * jnp.eye(_N), y)


def _stiff(x: jax.Array, y: jax.Array) -> jax.Array:
    return ((x @ x.T + 3e6 * jnp.eye(_N)) @ y) * 1e-6


_PROGRAMS: dict[str, Callable[[jax.Array, jax.Array], jax.Array]] = {
    "attention": _causal_attention, "contrastive": _contrastive, "nearest": _nearest, "attraction": _attraction,
    "ridge": _ridge, "stiff": _stiff, "exponential": lambda x, y: jax.scipy.linalg.expm(x / 3) + 0 * y,
}  # fmt: skip


@pytest.mark.parametrize("name", _PROGRAMS)
def test_masks_and_terms_in_f16(name: str) -> None:
    function = _PROGRAMS[name]
    rng = np.random.default_rng(0)
    x, y = (np.float32(rng.standard_normal((_N, _N))) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.asarray(sc.scalify(function, precision="fp16")(*sc.as_scaled_array((x, y))))
    expected = np.asarray(jax.jit(function)(x, y))
    assert np.sqrt(((found - expected) ** 2).mean()) <= 4e-3 * np.sqrt((expected**2).mean())


@pytest.mark.parametrize("norm", [0.1, 1, 4, 16])
def test_the_exponential_of_a_matrix_in_f16(norm: float) -> None:
    """The factors of its quotient, L and U, were rounded to f16 at the scale 1."""
    rng = np.random.default_rng(0)
    x = np.float32(rng.standard_normal((4, 4)))
    x *= np.float32(norm / np.abs(x).sum(0).max())
    found = np.asarray(sc.scalify(jax.scipy.linalg.expm, precision="fp16")(sc.as_scaled_array(x)))
    expected = np.asarray(jax.scipy.linalg.expm(x))
    assert np.abs(found - expected).max() <= 6e-3 * np.abs(expected).max()
