"""Numbers that are replaced again before elements meet say nothing of a size."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.recognition.replaced_numbers import find_replaced_numbers
from tests.recognition.counting import count_found

select = jax.lax.select
ZEROS, ONES = np.zeros(4, np.float16), np.ones(4, np.float16)


def found(function: Callable[[Any], Any]) -> int:
    return count_found(find_replaced_numbers, jax.jit(function).lower(ZEROS).as_text())


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: select(x == 0, ZEROS, 1 / select(x == 0, ONES, x)), 1),
        (lambda x: select(x > 0, jnp.sqrt(select(x > 0, x, ONES)), ZEROS), 1),
        (lambda x: select(x == 0, 1 / select(x == 0, ONES, x), ZEROS), 0),  # where it is read
        (lambda x: select(x > 1, ZEROS, 1 / select(x == 0, ONES, x)), 0),  # another question
        (lambda x: select(x == 0, ZEROS, x / jnp.sum(select(x == 0, ONES, x))), 0),  # all elements read it
        (lambda x: select(x == 0, ONES, x), 0),  # it is a result
        (lambda x: select(x == 0, ZEROS, (select(x == 0, ONES, x) > 2).astype(x.dtype)), 0),
    ],
)
def test_what_is_one(function: Callable[[Any], Any], count: int) -> None:
    assert found(function) == count


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
@pytest.mark.parametrize("exponent", [-20, -14, -8, 0, 8, 14])
def test_quotients_beside_zeros_keep_their_gradients(precision: str, exponent: int) -> None:
    """At the scale of the 1, squares of the inverse of 2^-8 were infinite, and gradients not numbers."""
    generator = np.random.default_rng(0)
    x, w = (generator.normal(size=size).astype(np.float32) for size in ((16, 8), (8, 8)))
    x[0] = 0

    def loss(w: Any, x: Any) -> Any:
        h = x @ w
        inverse = jnp.where(h == 0, 0, 1 / jnp.where(h == 0, 1, h))
        return jnp.sum(jnp.tanh(inverse @ w * 2.0**exponent) ** 2)

    x = x * np.float32(2.0**exponent)
    exact = np.asarray(jax.jit(jax.grad(loss))(w, x), np.float64)
    scaled = sc.scalify(jax.grad(loss), precision=precision)(*map(sc.as_scaled_array, (w, x)))
    got = np.asarray(scaled.data, np.float64) * np.asarray(scaled.scale, np.float64)
    assert np.linalg.norm(got - exact) < 0.03 * np.linalg.norm(exact)
