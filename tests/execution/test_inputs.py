"""Seeded inputs and their (data, scale) pairs."""

import ml_dtypes
import numpy as np
import pytest

from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.inputs import (
    ScaleMode,
    draw_inputs,
    recombine,
    rewritten_arguments,
    split_by_exponent,
    split_scales,
)
from scalify_hlo.execution.signature import Pairing, Signature, TensorSpec

ARGUMENTS = Signature(
    (
        TensorSpec("weights", (64, 32), "f32"),
        TensorSpec("bias", (1000,), "bf16"),
        TensorSpec("step", (), "i32"),
        TensorSpec("tokens", (4, 16), "i32"),
        TensorSpec("key", (2,), "ui32"),
        TensorSpec("mask", (100,), "i1"),
        TensorSpec("spectrum", (200,), "complex<f32>"),
        TensorSpec("rate", (), "f16"),
    ),
    (),
)


def test_inputs_have_the_shapes_dtypes_and_ranges_asked_for() -> None:
    arrays = draw_inputs(ARGUMENTS, seed=1)
    for spec, array in zip(ARGUMENTS.arguments, arrays, strict=True):
        assert array.shape == spec.shape
        assert array.dtype == spec.dtype
    weights, bias, step, tokens, key, mask, spectrum, _ = arrays
    assert weights.std() == pytest.approx(64**-0.5, rel=0.1)
    assert bias.astype(np.float32).std() == pytest.approx(1, rel=0.1)
    assert 1 <= step < 8
    assert tokens.min() >= 0
    assert tokens.max() < 8
    assert key.max() > 2**20
    assert 20 < mask.sum() < 80
    assert np.abs(spectrum.imag).max() > 1


def test_inputs_depend_on_the_seed_and_on_nothing_else() -> None:
    first, again, other = (draw_inputs(ARGUMENTS, seed) for seed in (3, 3, 4))
    assert [a.tobytes() for a in first] == [a.tobytes() for a in again]
    assert first[0].tobytes() != other[0].tobytes()


def test_positive_inputs_stay_away_from_zero() -> None:
    weights, bias, *_ = draw_inputs(ARGUMENTS, draw="positive")
    assert weights.min() > 0.1 / 8 * 0.99
    assert bias.astype(np.float32).min() > 0.09


@pytest.mark.parametrize("mode", ["rms", "jitter", "one"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
@pytest.mark.parametrize("magnitude", [1e-3, 1.0, 300.0])
def test_data_times_scale_is_the_value_exactly(mode: ScaleMode, dtype: type, magnitude: float) -> None:
    x = (magnitude * np.random.default_rng(0).standard_normal(500)).astype(dtype)
    (split,) = split_scales([x], mode, seed=5)
    assert split.scale is not None
    assert split.data.dtype == x.dtype
    assert split.scale.dtype == np.float32
    assert split.scale.shape == ()
    np.testing.assert_array_equal(recombine(split.data, split.scale), x.astype(np.float64))
    exponent = float(np.log2(split.scale))
    assert exponent == int(exponent)


def test_scales_follow_the_root_mean_square_and_are_never_one() -> None:
    arrays: list[Array] = [np.full(10, value, np.float32) for value in (1.0, 100.0, 2.0**-20)]
    scales = [float(split.scale) for split in split_scales(arrays, "rms") if split.scale is not None]
    assert scales[0] in (0.5, 2.0)
    assert scales[1:] == [128.0, 2.0**-20]
    assert [split.scale for split in split_scales(arrays, "one")] == [1, 1, 1]


def test_jitter_goes_both_ways() -> None:
    arrays: list[Array] = [np.full(2, 2.0**20, np.float32)] * 50
    exponents = [int(np.log2(split.scale)) for split in split_scales(arrays, "jitter") if split.scale is not None]
    assert min(exponents) < 17
    assert max(exponents) > 23
    assert all(14 <= e <= 26 for e in exponents)


def test_zeros_carry_the_smallest_scale() -> None:
    (split,) = split_scales([np.zeros(3, np.float32)])
    assert split.scale == np.finfo(np.float32).tiny


def test_jitter_makes_no_scale_smaller_than_the_smallest() -> None:
    """XLA takes subnormal numbers for 0, which is no scale."""
    scales = [split.scale for split in split_scales([np.zeros(3, np.float32)] * 20, "jitter")]
    assert min(float(scale) for scale in scales if scale is not None) == np.finfo(np.float32).tiny


@pytest.mark.parametrize("mode", ["rms", "jitter"])
@pytest.mark.parametrize("value", [1e300, 5e-324, np.finfo(np.float64).max, np.finfo(np.float32).max])
def test_values_beyond_the_range_of_a_scale_have_the_nearest_one(mode: ScaleMode, value: float) -> None:
    """Squares of them are infinite, or zero, in f64 itself; a scale of more than 2^127 is no f32."""
    x = np.array([value, -value])
    for split in split_scales([x] * 10, mode):
        assert split.scale is not None and 0 < split.scale < np.inf
        np.testing.assert_array_equal(recombine(split.data, split.scale), x)


def test_integers_have_no_scale() -> None:
    (split,) = split_scales([np.array([1, 2])])
    assert split.scale is None
    np.testing.assert_array_equal(split.data, [1, 2])


def test_an_exponent_that_would_lose_bits_is_moved_towards_zero() -> None:
    x = np.array([1.0, 3 * 2.0**-24], np.float16)  # the second is a subnormal with two bits
    split = split_by_exponent(x, 8)
    assert split.scale == 1
    split = split_by_exponent(x, -20)
    assert split.scale == 2.0**-15  # 1 / 2^-16 overflows f16
    np.testing.assert_array_equal(recombine(split.data, split.scale), x.astype(np.float64))


def test_recombination_is_in_f64() -> None:
    value = recombine(np.array([60000], np.float16), np.asarray(2.0**100, np.float32))
    assert value.dtype == np.float64
    assert value[0] == 60000 * 2.0**100


def test_complex_numbers_are_recombined_part_by_part() -> None:
    value = recombine(np.array([complex(np.inf, 1), complex(2, -np.inf)], np.complex64), np.float32(4.0))
    np.testing.assert_array_equal(value.real, [np.inf, 8])
    np.testing.assert_array_equal(value.imag, [4, -np.inf])


def test_rewritten_arguments_take_the_types_and_shapes_of_the_rewritten_signature() -> None:
    x, n = np.array([[2.0, 4.0], [6.0, 8.0]], np.float32), np.asarray(3, np.int32)
    splits = [split_by_exponent(x, 1), *split_scales([n]), split_by_exponent(x, 2)]
    rewritten = Signature(
        (
            TensorSpec("x", (2, 2), "f32", "data"),
            TensorSpec("x", (2, 1), "f8E8M0FNU", "scale"),
            TensorSpec("n", (), "i32"),
            TensorSpec("plain", (2, 2), "f32"),
        ),
        (),
    )
    data, scale, integer, plain = rewritten_arguments(
        splits, [Pairing(0, 1), Pairing(2, None), Pairing(3, None)], rewritten
    )
    np.testing.assert_array_equal(data, x / 2)
    assert scale.dtype == ml_dtypes.float8_e8m0fnu
    np.testing.assert_array_equal(scale.astype(np.float32), [[2], [2]])
    assert integer == 3
    assert plain.dtype == np.float32
    np.testing.assert_array_equal(plain, x)
