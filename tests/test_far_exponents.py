"""Scales whose constant part is no f32: 2^-200 s is one, where s is 2^100.

# (s a) b = s (a b), which XLA makes of it: for a = 2^-126 and b = 2^-74, 0
"""

from typing import Any

import jax
import numpy as np
import pytest

import scalify_hlo as sc


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("steps", [2, 3])
def test_a_product_with_constants_keeps_its_scale(sign: int, steps: int) -> None:
    """It was 0, or infinite, from XLA; right in the interpreter, which does what it is told."""
    factor = np.float32(2.0 ** (100 * sign))
    data = np.float32([1.0, -1.5, 0.75])
    scale = 2.0 ** (-60.0 * sign)

    def f(x: Any) -> Any:
        y = x * x  # 2^-120
        for _ in range(steps - 1):
            y = y * factor
        return y

    result: Any = jax.jit(sc.scalify(f))(sc.ScaledArray(data, np.float32(scale)))
    expected = data.astype(np.float64) ** 2 * scale**2 * float(factor) ** (steps - 1)
    np.testing.assert_array_equal(np.asarray(result.data, np.float64) * float(result.scale), expected)
