"""Scales that are quotients whose divisors, multiplied with each other, leave the range of f32."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

QUOTIENTS: list[tuple[str, Callable[..., jax.Array], list[int], int]] = [
    ("x / a / a / b / b", lambda x, a, b: x / a / a / b / b, [-100, -29, -36], 30),
    ("x / (a b)", lambda x, a, b: x / (a * b), [-70, -70, -70], 70),
    ("1 / (a b)", lambda a, b: 1 / (a * b), [-70, -50], 120),
    ("x y / (a b c)", lambda x, y, a, b, c: x * y / (a * b * c), [-30, -40, -70, -70, -50], 120),
]


@pytest.mark.parametrize(("_", "quotient", "exponents", "expected"), QUOTIENTS, ids=[case[0] for case in QUOTIENTS])
def test_a_quotient_is_not_divided_again(
    _: str, quotient: Callable[..., jax.Array], exponents: list[int], expected: int
) -> None:
    """XLA makes x / a / b one quotient by a b, which is 0 in f32 where a and b are scales of 2^-80."""
    arrays = [
        sc.ScaledArray(jnp.ones(4, jnp.float16), jnp.asarray(2.0**exponent, jnp.float32)) for exponent in exponents
    ]
    result = jax.jit(sc.scalify(quotient))(*arrays)
    np.testing.assert_array_equal(np.float64(result.data) * np.float64(result.scale), np.full(4, 2.0**expected))
