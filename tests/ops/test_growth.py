"""How much the scale of a sum grows in f16: by 2^floor(log2 K^(3/4)) for K terms or products (docs/numerics.md).

K comes from attributes and shapes in many ways; the law is one, and so is that of the operands' scales.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from scalify_hlo.execution.inputs import Split
from tests.support import Rewritten


def _grouped(x: jax.Array, w: jax.Array) -> jax.Array:
    return lax.conv_general_dilated(x, w, (1, 1), "VALID", feature_group_count=2)


def _window(x: jax.Array) -> jax.Array:
    return lax.reduce_window(x, jnp.zeros((), x.dtype), lax.add, (3, x.shape[-1]), (1, 1), "VALID")


# The function, the shapes of its arguments for a number n, and K over n.
_SUMS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[tuple[int, ...], ...]], int]] = {
    "dot": (lambda x, y: x @ y, lambda n: ((2, n), (n, 3)), 1),
    "batched dot": (
        lambda x, y: jnp.einsum("bijk,bkjl->bil", x, y), lambda n: ((2, 2, 3, n), (2, n, 3, 2)), 3,
    ),
    "grouped convolution": (_grouped, lambda n: ((1, 4, 3, n), (2, 2, 2, n)), 4),
    "sum": (lambda x: lax.reduce_sum(x, (0, 2)), lambda n: ((3, 2, n),), 3),
    "window": (_window, lambda n: ((4, n),), 3),
}  # fmt: skip


@pytest.mark.parametrize("n", [1, 5, 16])
@pytest.mark.parametrize("name", _SUMS)
def test_growth_by_the_number_of_terms(name: str, n: int) -> None:
    function, shapes, times = _SUMS[name]
    exponents = (5, -3)[: len(shapes(n))]
    specs = [jax.ShapeDtypeStruct(shape, jnp.float16) for shape in shapes(n)]
    program = Rewritten.of(jax.jit(function).lower(*specs).as_text())
    ones = [np.ones(shape, np.float16) for shape in shapes(n)]
    (found,) = program.run([Split(x, np.float32(2.0**k)) for x, k in zip(ones, exponents, strict=True)])
    growth = math.floor(0.75 * math.log2(times * n))
    assert found.scale == 2.0 ** (sum(exponents) + growth)
    np.testing.assert_array_equal(found.data, times * n * 2.0**-growth)
