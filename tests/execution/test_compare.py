"""The verdicts on results."""

import pathlib
import re
from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest

from scalify_hlo.execution.compare import Comparison, ResultComparison, Tolerance, compare_results
from scalify_hlo.execution.element_types import ELEMENT_TYPES, Array, epsilon
from scalify_hlo.execution.signature import Signature, TensorSpec

RANDOM = np.random.default_rng(0)
IDEAL = RANDOM.standard_normal(1000)
NOISE = 1e-5 * RANDOM.standard_normal(1000)
ORIGINAL = (IDEAL + NOISE).astype(np.float32)


def compare(
    original: Sequence[Array], rewritten: Sequence[Array], ideal: Sequence[Array] | None, paired: bool = True
) -> Comparison:
    """Compare results; the rewritten ones come as data, scale, data, scale, ... unless `paired` is off."""
    roles = ["data", "scale"] * len(original) if paired else [""] * len(rewritten)
    return compare_results(
        Signature((), tuple(_spec(f"r{i}", a, "") for i, a in enumerate(original))),
        Signature((), tuple(_spec("", a, role) for a, role in zip(rewritten, roles, strict=True))),
        original,
        rewritten,
        ideal,
    )


def _spec(name: str, array: Array, role: str) -> TensorSpec:
    assert role in ("", "data", "scale")
    return TensorSpec(name, array.shape, ELEMENT_TYPES[array.dtype], role)


def one(original: Array, data: Array, scale: float, ideal: Array | None) -> ResultComparison:
    ideals = None if ideal is None else [ideal]
    (result,) = compare([original], [data, np.asarray(scale, np.float32)], ideals).results
    return result


def test_the_same_bits_are_exact() -> None:
    result = one(ORIGINAL, ORIGINAL / 8, 8.0, IDEAL)
    assert result.verdict == "exact"
    assert result.scale == 8
    assert result.data_rms == pytest.approx(ORIGINAL.std() / 8, rel=0.1)
    assert result.noise == pytest.approx(result.error)


def test_a_mask_beyond_the_type_may_be_clipped_to_the_largest_number() -> None:
    ideal, original = np.array([-1e9, 1.0]), np.array([-np.inf, 1.0], np.float16)
    assert one(original, np.array([-65504, 1 / 128], np.float16), 128.0, ideal).passed
    assert not one(original, np.array([-65504, 1.0], np.float16), 1.0, ideal).passed  # less than 2^-8 of it is left
    assert not one(original, np.array([65504, 1 / 128], np.float16), 128.0, ideal).passed


def test_what_a_cast_to_f8_cannot_hold_may_be_saturated() -> None:
    original = np.array([np.nan, 1.0], ml_dtypes.float8_e4m3fn)
    ideal = np.array([np.inf, 1.0])
    saturated = np.array([448.0, 1.0], ml_dtypes.float8_e4m3fn)
    assert compare([original], [saturated], [ideal], paired=False).passed
    assert not compare([original], [saturated[::-1]], [ideal], paired=False).passed


@pytest.mark.parametrize("element", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_a_cast_that_saturates_gives_the_largest_number(element: type) -> None:
    """A mask of -1e9 is the least number of the type then, and no measure of how exact the others have to be."""
    ideal, original = np.array([-1e9, 1.0]), np.array([-np.inf, 1.0]).astype(element)
    least = float(ml_dtypes.finfo(element).min)
    for values, right in (([least, 1.0], True), ([least / 4, 1.0], False), ([-least, 1.0], False)):
        assert compare([original], [np.array(values, element)], [ideal], paired=False).passed == right


def test_units_of_subnormal_numbers_are_the_smallest_number() -> None:
    unit = 2.0**-24
    ideal = np.full(64, 17 * unit)
    original = ideal.astype(np.float16)
    assert one(original, original + np.float16(4 * unit), 1.0, ideal).passed
    assert not one(original, original + np.float16(5 * unit), 1.0, ideal).passed
    assert one(original, np.full(64, 3.0, np.float16), 4 * unit, ideal).passed is False  # 12 units


def test_another_sample_of_the_noise_is_fine() -> None:
    other = (IDEAL - 2 * NOISE[::-1]).astype(np.float32)
    result = one(ORIGINAL, other, 1.0, IDEAL)
    assert result.verdict == "ok"
    assert result.passed


@pytest.mark.parametrize("factor", [2.0, 0.5, 1.001, -1.0, 0.0])
def test_a_wrong_factor_is_wrong(factor: float) -> None:
    assert one(ORIGINAL, ORIGINAL, factor, IDEAL).verdict == "wrong"


def test_one_wrong_element_among_many_is_wrong() -> None:
    data = ORIGINAL.copy()
    data[17] += 1e-3
    result = one(ORIGINAL, data, 1.0, IDEAL)
    assert result.verdict == "wrong"
    assert result.absolute_error == pytest.approx(1e-3, rel=0.05)
    assert "off by" in result.explanation()


def test_a_small_error_everywhere_is_wrong() -> None:
    """Below what the largest error may be, above what the root mean square may."""
    data = (ORIGINAL + 2e-5 * 8).astype(np.float32)
    result = one(ORIGINAL, data, 1.0, IDEAL)
    assert result.absolute_error < result.limit
    assert result.verdict == "wrong"


def test_without_an_ideal_the_original_is_the_reference() -> None:
    assert one(ORIGINAL, ORIGINAL, 1.0, None).verdict == "exact"
    assert one(ORIGINAL, ORIGINAL, 1.0, None).noise is None
    off = (ORIGINAL * (1 + 2**-23)).astype(np.float32)
    assert one(ORIGINAL, off, 1.0, None).verdict == "ok"
    assert one(ORIGINAL, (IDEAL - NOISE).astype(np.float32), 1.0, None).verdict == "wrong"


def test_the_sign_of_a_zero_is_not_exact_but_no_error() -> None:
    zeros = np.array([0.0, 1.0], np.float32)
    assert one(zeros, np.array([-0.0, 1.0], np.float32), 1.0, zeros.astype(np.float64)).verdict == "ok"


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_resolution_of_narrow_types(dtype: type) -> None:
    ideal = IDEAL
    original = ideal.astype(dtype)
    off = (ideal * 1.02).astype(dtype)
    assert one(original, original, 1.0, ideal).verdict == "exact"
    assert one(original, off, 1.0, ideal).verdict == ("ok" if dtype is ml_dtypes.bfloat16 else "wrong")
    assert one(original, (ideal * 1.5).astype(dtype), 1.0, ideal).verdict == "wrong"


def test_finite_where_the_original_overflows_is_right_when_f64_says_so() -> None:
    ideal = np.array([70000.0, 1.0])
    original = np.array([np.inf, 1.0], np.float16)
    result = one(original, np.array([35000, 0.5], np.float16), 2.0, ideal)
    assert result.passed
    assert result.saved == 1
    assert one(original, original, 1.0, ideal).passed
    assert one(original, np.array([17500, 0.5], np.float16), 2.0, ideal).verdict == "wrong"


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_infinities_and_nans_out_of_place_are_wrong(bad: float) -> None:
    data = ORIGINAL.copy()
    data[3] = bad
    result = one(ORIGINAL, data, 1.0, IDEAL)
    assert result.verdict == "wrong"
    assert "finite where it should not" in result.explanation()
    ideal = IDEAL.copy()
    ideal[3] = bad
    assert one(data, data, 1.0, ideal).verdict == "exact"
    assert one(data, ORIGINAL, 1.0, ideal).verdict == "wrong"


def test_a_result_without_a_finite_value_is_unchecked_and_fails() -> None:
    nan = np.full(3, np.nan, np.float32)
    comparison = compare([nan], [nan, np.asarray(1, np.float32)], [nan.astype(np.float64)])
    assert comparison.results[0].verdict == "unchecked"
    assert not comparison.passed
    assert "no finite value" in comparison.failures()[0].explanation()


def test_an_empty_result_is_exact() -> None:
    assert one(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32), 1.0, np.zeros((0, 3))).verdict == "exact"


def test_integers_must_be_equal_unless_the_noise_changes_them() -> None:
    tokens = np.arange(100)
    changed = tokens.copy()
    changed[[3, 5]] += 1
    assert compare([tokens], [tokens], [tokens], paired=False).results[0].verdict == "exact"
    assert compare([tokens], [changed], [tokens], paired=False).results[0].verdict == "wrong"
    near_tie = tokens.copy()
    near_tie[3] += 1
    assert compare([tokens], [changed], [near_tie], paired=False).results[0].verdict == "ok"


def test_swapped_results_are_wrong() -> None:
    a, b = ORIGINAL, ORIGINAL[::-1].copy()
    one_ = np.asarray(1, np.float32)
    comparison = compare([a, b], [b, one_, a, one_], [IDEAL, IDEAL[::-1]])
    assert [result.verdict for result in comparison.results] == ["wrong", "wrong"]


def test_complex_results() -> None:
    ideal = IDEAL + 1j * IDEAL[::-1]
    original = ideal.astype(np.complex64)
    assert compare([original], [original], [ideal], paired=False).results[0].verdict == "exact"
    assert compare([original], [original.conj()], [ideal], paired=False).results[0].verdict == "wrong"


def test_a_lucky_result_is_judged_by_the_noise_of_its_kind() -> None:
    """A scalar may hit its f64 value by chance; its rewriting need not."""
    lucky = np.asarray(0.5, np.float32)
    near = np.asarray(0.5 * (1 + 1e-5), np.float32)
    scale = np.asarray(1, np.float32)
    comparison = compare([ORIGINAL, lucky], [ORIGINAL, scale, near, scale], [IDEAL, lucky.astype(np.float64)])
    assert comparison.results[1].verdict == "ok"
    assert compare([lucky], [near, scale], [lucky.astype(np.float64)]).results[0].verdict == "wrong"


def test_the_tolerance_is_what_the_user_asks_for() -> None:
    other = (IDEAL - 2 * NOISE[::-1]).astype(np.float32)
    strict = compare_results(
        Signature((), (_spec("r", ORIGINAL, ""),)),
        Signature((), (_spec("r", other, ""),)),
        [ORIGINAL],
        [other],
        [IDEAL],
        Tolerance(noise_units=1.0),
    )
    assert strict.results[0].verdict == "wrong"


def test_the_table_has_a_line_for_each_result() -> None:
    lines = compare([ORIGINAL, ORIGINAL], [ORIGINAL, np.float32(2), ORIGINAL, np.float32(1)], None).table().splitlines()
    assert lines[0].split()[:2] == ["result", "type"]
    assert len(lines) == 3
    assert lines[1].split()[0] == "r0"
    assert "2^1" in lines[1]
    assert lines[1].endswith("wrong")
    assert lines[2].endswith("exact")


def test_the_documented_contract_is_the_one_that_is_checked():
    """docs/contract.md: the resolution of each type, and the units that are allowed of it."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "contract.md").read_text()
    rows = re.findall(r"^\| (\w+) \| 2\^(-\d+)[^|]*\| (\d+), (\d+) \|$", text, re.MULTILINE)
    assert {row[0] for row in rows} == {"f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2"}
    tolerance = Tolerance()
    for element, exponent, rms, largest in rows:
        if element != "f64":
            assert epsilon(element) == 2.0 ** int(exponent)
        assert (float(rms), float(largest)) == (tolerance.epsilons, 4 * tolerance.epsilons)
    assert f"{tolerance.noise_units:g} * RMS of the noise" in text
