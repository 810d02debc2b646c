"""Every constant that chooses a scale has a program that notices when it moves by a factor of 4."""

import pathlib
import re
from collections.abc import Callable

import pytest

from benchmarks.budget_moves import changed, constants, moved
from scalify_hlo import budget
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.io.scales_file import TensorStatistics
from scalify_hlo.serving.calibration import Calibration, exponent
from tests.budget_programs import cases, program

# Of programs just within and just beyond a constant: which are rewritten differently with 4 times of it, and which with
# a quarter. Others than these: one changes with either.
_WITHIN_AND_BEYOND = ("-*", "*-")
_PATTERNS = {
    "CANCELLATION": ("**", "-*"),
    "ERRORS_IN_F16": ("-*", "**"),
    "ERRORS_OF_SMALL": ("-*", "**"),
    "FURTHEST_CONSTANT": ("-*", "**"),
    "FURTHEST_CONSTANT_SCALE": ("-*", "**"),
    "HEADROOM": ("-*", "**"),
    "PRODUCTS_IN_F16": ("-*", "**"),
    "HIGHEST_POWER": ("--*", "***"),
    "MASK": ("*-", "-*"),
    "MOST": ("*-", "-*"),
    "MOST_FACTORS": ("-*", "**"),
    "STATE_LEFT": ("*-", "-*"),
    "STATISTIC": ("*-", "-*"),
    "TOLERANCE": ("*-", "-*"),
}
# A number that the constant itself becomes in the rewritten program.
_NUMBERS = {
    "ABOVE_BOUND": "64",
    "ABOVE_BOUND_OF_F32": "4",
    "AGREEING": "64",
    "ALIGNMENT": "64",
    "AVERAGE_GROWTH": "0.125",
    "AVERAGE_OF_SQUARES": "0.25",
    "BELOW_DIVISOR": "1.52587891E-5",
    "BELOW_EPSILON": "1.22070313E-4",
    "BLOCK": "0.0078125",
    "FIRST_UPDATE": "32",
    "HIGH_POWER_ERROR": "0.015625",
    "FURTHEST_HIGH_POWER": "7.37869762E+19",
    "FLOOR": "3.55271368E-15",
    "LEAST_DIVISOR": "8.27180613E-25",
    "LOOP_WINDOW": "128",
    "LOOP_ZEROS": "9.09494702E-13",
    "STAND_IN": "0.0078125",
    "MASK_LOSS": "0.00390625",
    "MASK_ROOM": "9.31322574E-10",
    "MASK_SHARE": "64",
    "MOMENTS_BELOW": "0.03125",
    "RESCALE_HEADROOM_F16": "16",
    "STATE_NEAR": "0.03125",
    "STEEP": "16",
    "SUMMED_SQUARES": "32",
    "UPDATE": "9.765625E-4",
    "ZEROS": "7.70371977E-34",
}
# Tested below: they are of calibration, not of rewriting.
_MEASURED = {"CALIBRATED_NEAR", "CUT_OFF"}


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"stablehlo\.constant dense<([-+.\dE]+)>", text, re.IGNORECASE)]


def _changes(name: str, factor: float) -> str:
    """For each program of a constant, * if it is rewritten differently with `factor` times the constant."""
    marks = ""
    for text, rewriting in cases()[name]:
        before = rewriting(text)
        with changed(name, moved(constants()[name], factor)):
            marks += "-*"[rewriting(text) != before]
    return marks


@pytest.mark.parametrize("name", sorted(constants().keys() - _MEASURED))
def test_a_constant_that_moves_changes_a_program(name: str):
    got = _changes(name, 4), _changes(name, 0.25)
    if name not in _NUMBERS:
        assert got == _PATTERNS.get(name, _WITHIN_AND_BEYOND)
        return
    assert got == ("*", "*")
    ((text, rewriting),) = cases()[name]
    # What else happens to be that number stays.
    number = float(_NUMBERS[name])
    count = _numbers(rewriting(text)).count(number)
    for factor in (4, 0.25):
        with changed(name, moved(constants()[name], factor)):
            assert _numbers(rewriting(text)).count(number) < count


def _calibrated_operands() -> dict[str, float]:
    """What operands of FP8 products of sizes 2^2 to 2^5 are divided by."""
    text = program(lambda x, w: x @ w, "f32[4,8]", "f32[8,4]")
    with make_context(), ir.Location.unknown():
        calibration = Calibration(ir.Module.parse(text))
        for power in (2, 3, 4, 5):
            calibration.scales.statistics[str(power)] = TensorStatistics(100, 4.0**power, 2.0**power, {power: 100})
        calibration.choose_operands()
    return dict(calibration.scales.operands)


def _saturating() -> list[int]:
    """Exponents of tensors with one element in 8,000 and in 20,000 that is much larger."""
    found = [TensorStatistics(count, 1.0, 1000.0, {9: 1, 0: count - 1}) for count in (8_000, 20_000)]
    return [exponent(each, "percentile") for each in found]


def test_operands_of_fp8_products_are_divided_from_far_away_alone():
    assert _calibrated_operands() == {"4": 16.0, "5": 32.0}


def test_few_enough_of_calibrated_magnitudes_saturate():
    assert _saturating() == [2, -7]


@pytest.mark.parametrize("factor", [4, 0.25])
@pytest.mark.parametrize(("name", "chosen"), [("CALIBRATED_NEAR", _calibrated_operands), ("CUT_OFF", _saturating)])
def test_a_constant_of_calibration_that_moves_changes_what_is_chosen(
    name: str, chosen: Callable[[], object], factor: float
):
    before = chosen()
    with changed(name, moved(constants()[name], factor)):
        assert chosen() != before


def test_every_constant_has_its_unit_and_reason():
    """A comment above it, which begins with what it is a number of."""
    text = pathlib.Path(budget.__file__).read_text()
    for name in constants():
        before = text[: text.index(f"\n{name} = ")].splitlines()
        assert before[-1].startswith("# "), name
