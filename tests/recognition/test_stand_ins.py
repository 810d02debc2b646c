"""Numbers that stand in for zeros."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.recognition.stand_ins import find_stand_ins
from tests.recognition.counting import count_found

select = jax.lax.select
ZEROS, ONES = np.zeros(4, np.float16), np.ones(4, np.float16)


def found(function: Callable[[Any], Any]) -> int:
    return count_found(find_stand_ins, jax.jit(function).lower(ZEROS).as_text())


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: select(x == 0, ONES, x), 1),
        (lambda x: select(x != 0, x, ONES), 1),
        (lambda x: select(x > 0.5, x, ONES), 1),
        (lambda x: select(jax.lax.ge(ZEROS, x), ONES, x), 1),
        (lambda x: select(jax.lax.lt(ZEROS, x), x, ONES), 1),
        (lambda x: select(jnp.abs(x) <= 2**-20, ONES, x), 1),
        (lambda x: select(jnp.abs(x) > 2**-20, x, ONES), 1),
        (lambda x: select(jnp.abs(x) < 2, ONES, x), 0),
        (lambda x: select(x == 0, x, ONES), 0),  # where the tensor is 0 it is taken
        (lambda x: select(x > 0, ONES, x), 0),
        (lambda x: select(x < 2, ONES, x), 0),  # what is smaller than the number is large
        (lambda x: select(x == 0, -ONES, x), 0),
        (lambda x: select(x == 0, ONES, x * 2), 0),  # another tensor
        (lambda x: select(x == 0, ZEROS, x), 0),
        (lambda x: select(x < -1, ONES, x), 0),
    ],
)
def test_what_is_one(function: Callable[[Any], Any], count: int) -> None:
    assert found(function) == count


@pytest.mark.parametrize("exponent", [-20, -12, 0, 8])
def test_quotients_by_norms_that_may_be_zeros(exponent: int) -> None:
    """Norms of 2^-20 were nearly lost beside the 1, and quotients by them infinite."""
    generator = np.random.default_rng(0)
    x, w = (generator.normal(size=(8, 8)).astype(np.float32) for _ in range(2))
    x[2] = 0

    def normalised(w: Any, x: Any) -> Any:
        h = x @ w
        n = jnp.sum(jnp.abs(h), -1, keepdims=True)
        return h / jnp.where(n == 0, 1, n)

    def both(w: Any, x: Any) -> Any:
        return normalised(w, x), jax.grad(lambda w: jnp.sum(jnp.tanh(normalised(w, x) * jnp.arange(8))))(w)

    x = x * np.float32(2.0**exponent)
    scaled = sc.scalify(both, precision="fp16")(*map(sc.as_scaled_array, (w, x)))
    for exact, result in zip(jax.jit(both)(w, x), scaled, strict=True):
        got = np.asarray(result.data, np.float64) * np.asarray(result.scale, np.float64)
        assert np.linalg.norm(got - exact) < 2.0**-9 * np.linalg.norm(exact)


@pytest.mark.parametrize("exponent", [8, 12, 16])
def test_quotients_by_numbers_that_are_not_next_to_zero(exponent: int) -> None:
    """The guard of `jnp.interp`."""
    generator = np.random.default_rng(1)
    d, n = ((generator.standard_normal(64) * 2.0**-exponent).astype(np.float16) for _ in range(2))

    def guarded(d: Any, n: Any) -> Any:
        return d / jnp.where(jnp.abs(n) <= 2.0**-20, 1, n)

    found = sc.asarray(sc.scalify(guarded)(*sc.as_scaled_array((d, n))), np.float32)
    np.testing.assert_allclose(found, np.float32(guarded(d, n)), rtol=2**-9)
