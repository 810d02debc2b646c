"""Sums of few terms in f16 are formed in f16, as the program has them: the same bits, and no sum that overflows."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.execution.inputs import Split
from tests.support import Rewritten, check_program

_PROGRAMS: dict[str, Callable[[jax.Array, jax.Array], jax.Array]] = {
    "products": lambda x, w: x @ w,
    "batches": lambda x, w: jnp.einsum("ij,jk->jik", x, w),
    "windows": lambda x, w: jax.lax.reduce_window(x + w[0, 0] * 0, jnp.float16(0), jax.lax.add, (1, 8), (1, 1), "SAME"),
    "integers": lambda x, w: x @ jnp.round(8 * w).astype(jnp.int8).astype(jnp.float16),
}


def _text(name: str, rows: int = 8) -> str:
    specs = jax.ShapeDtypeStruct((4, rows), jnp.float16), jax.ShapeDtypeStruct((rows, 3), jnp.float16)
    return jax.jit(_PROGRAMS[name]).lower(*specs).as_text()


@pytest.mark.parametrize("name", _PROGRAMS)
def test_few_terms_have_the_bits_of_the_original(name: str) -> None:
    """Accumulated in f32 they were rounded less often."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float16) for shape in ((4, 8), (8, 3))]
    check_program(_text(name), arrays)


@pytest.mark.parametrize("rows", [7, 8, 9, 64])
def test_no_sum_overflows_before_it_is_made_smaller(rows: int) -> None:
    """Terms of 1.5 * 2^13 whose sum is 2^17 of their scale, 2^15 of that of the result."""
    x, w = np.full((4, rows), 1.5 * 2.0**13 * 8 / rows, np.float16), np.ones((rows, 3), np.float16)
    (result,) = Rewritten.of(_text("products", rows)).run([Split(x, np.float32(2**20)), Split(w, np.float32(2**-30))])
    assert result.scale is not None
    got = result.data.astype(np.float64) * result.scale
    np.testing.assert_allclose(got, 1.5 * 2.0**16 * 2.0**-10, rtol=2.0**-9)


def test_more_terms_are_accumulated_in_f32() -> None:
    assert "tensor<4x3xf32>" in Rewritten.of(_text("products", 9)).text
    assert "tensor<4x3xf32>" not in Rewritten.of(_text("products", 8)).text
