"""Functions that are as small as what they are of, however they are written, keep that size where they are rounded."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

FUNCTIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "clip": lambda h: jnp.clip(h, -1, 1),
    "hard_tanh": jax.nn.hard_tanh,
    "lower bound first": lambda h: jnp.where(h > 1, 1, jnp.maximum(h, -1)),
    "elu": jax.nn.elu,
    "selu": jax.nn.selu,
    "masked tanh": lambda h: jnp.where(jnp.arange(32) < 24, jnp.tanh(h), 0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_values_are_not_lost_in_fp8(name: str) -> None:
    """At 2^-10 choices of a bound and of pieces of an activation left E4M3 at scale 1: gradients were 65 % off."""
    rng = np.random.default_rng(0)
    x, y = (np.float32(rng.standard_normal(shape)) for shape in ((16, 32), (16, 8)))
    weights = [np.float32(rng.standard_normal(shape) / 5.66) for shape in ((32, 32), (32, 32), (32, 8))]
    f = FUNCTIONS[name]

    def step(w: Any, x: Any, y: Any) -> Any:
        return jax.grad(lambda w: jnp.mean((f(f(x @ w[0]) @ w[1]) @ w[2] - y) ** 2))(w)

    x *= np.float32(2.0**-10)
    wanted = jax.jit(step)(weights, x, y)
    found = sc.scalify(functools.partial(step), precision="fp8")(*sc.as_scaled_array((weights, x, y)))
    for mine, its in zip(found, wanted, strict=True):
        its = np.float64(its)
        assert np.linalg.norm(np.asarray(mine, np.float64) - its) < 0.2 * np.linalg.norm(its)
