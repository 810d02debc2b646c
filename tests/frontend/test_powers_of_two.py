"""Rounding to powers of two against math.frexp, for numpy and JAX arrays."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalify_hlo.frontend.powers_of_two import (
    Pow2RoundMode,
    clip_scale,
    pow2_decompose,
    pow2_round,
    pow2_round_down,
    pow2_round_up,
)

NORMAL = st.floats(min_value=2.0**-126, max_value=2.0**126, width=32)


@given(NORMAL, st.sampled_from([-1, 1]))
def test_decompose(value, sign):
    value = np.float32(sign * value)
    scale, mantissa = pow2_decompose(value)
    assert scale * mantissa == value
    assert 1 <= abs(mantissa) < 2
    assert math.frexp(scale)[0] == 0.5


def test_decompose_of_special_values():
    scale, mantissa = pow2_decompose(np.float32([0, np.inf, -np.inf, np.nan]))
    np.testing.assert_array_equal(mantissa, np.float32([0, np.inf, -np.inf, np.nan]))
    assert scale[0] == np.float32(2.0**-126)


@given(NORMAL)
def test_down(value):
    expected = 2.0 ** (math.frexp(value)[1] - 1)
    assert float(pow2_round_down(np.float32(value))) == expected


def test_down_of_f16_subnormals():
    x = np.float16([2.0**-24, 3 * 2.0**-24])
    np.testing.assert_array_equal(pow2_round_down(x), np.float16([2.0**-24, 2.0**-23]))


@given(NORMAL)
def test_nearest(value):
    mantissa, exponent = math.frexp(value)
    expected = 2.0 ** (exponent if mantissa >= 0.75 else exponent - 1)
    assert float(pow2_round(np.float32(value), Pow2RoundMode.NEAREST)) == expected


def test_none_keeps_the_magnitude():
    np.testing.assert_array_equal(pow2_round(np.float32([-3, 5]), Pow2RoundMode.NONE), np.float32([3, 5]))


@pytest.mark.parametrize("mode", [Pow2RoundMode.DOWN, Pow2RoundMode.UP, Pow2RoundMode.NEAREST])
def test_numpy_and_jax_agree(mode):
    x = np.float32([0, 1, 1.5, -1.75, 3, 2.0**-126, 3e38, np.inf, 1e-30])
    np.testing.assert_array_equal(pow2_round(x, mode), jax.jit(lambda v: pow2_round(v, mode))(x))


@pytest.mark.parametrize("mode", [Pow2RoundMode.DOWN, Pow2RoundMode.UP, Pow2RoundMode.NEAREST])
def test_special_values(mode):
    np.testing.assert_array_equal(pow2_round(np.float32([0, np.inf, -np.inf]), mode), np.float32([0, np.inf, np.inf]))
    assert np.isinf(pow2_round(np.float32(np.nan), mode))


def test_stochastic_is_refused():
    with pytest.raises(NotImplementedError, match="DOWN, NEAREST or UP"):
        pow2_round(np.float32(1), Pow2RoundMode.STOCHASTIC)


@given(NORMAL)
def test_up(value):
    mantissa, exponent = math.frexp(value)
    expected = value if mantissa == 0.5 else 2.0**exponent
    assert float(pow2_round_up(np.float32(value))) == expected


def test_clip_keeps_reciprocals_finite():
    clipped = clip_scale(np.float32([0, 1e-45, 1, np.inf]))
    assert np.all(np.isfinite(1 / clipped)) and np.all(clipped > 0)
    assert isinstance(clip_scale(jnp.float32(0)), jax.Array)
