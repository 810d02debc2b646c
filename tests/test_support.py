"""The numeric checks themselves: each catches a rule that breaks its promise."""

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from scalify_hlo import rewrite_module
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rules import registry
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.scale import ONE
from tests.support import Rewritten, check_program, check_range, parse

NEGATE = """
  func.func public @main(%x: tensor<4xT>) -> tensor<4xT> {
    %0 = stablehlo.negate %x : tensor<4xT>
    return %0 : tensor<4xT>
  }"""

PRODUCT = """
  func.func public @main(%x: tensor<4x8xT>, %y: tensor<8x3xT>, %i: tensor<4xi32>) -> (tensor<4x3xT>, tensor<4xi32>) {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xT>, tensor<8x3xT>) -> tensor<4x3xT>
    return %0, %i : tensor<4x3xT>, tensor<4xi32>
  }"""


def typed(text: str, element_type: str) -> str:
    return text.replace("xT>", f"x{element_type}>")


Replace = Callable[[registry.RuleFunction], registry.RuleFunction]


@pytest.fixture
def negate_rule(monkeypatch: pytest.MonkeyPatch) -> Replace:
    """Put another function in the place of the rule for negate."""
    registry.load()
    monkeypatch.setitem(registry._rules, "stablehlo.negate", registry.rules()["stablehlo.negate"])
    return registry.rule("negate", family="homogeneous", law="wrong", scale="s", replace=True)


def test_right_rules_pass() -> None:
    assert "scalify.role" in check_program(typed(NEGATE, "f32"))
    check_program(typed(PRODUCT, "f32"))
    check_program(typed(PRODUCT, "bf16"), exact=False)
    check_program(typed(PRODUCT, "f32"), scales=[2.0**20, 0.125])
    check_range(typed(NEGATE, "f16"))
    check_range(typed(PRODUCT, "f16"))


def test_given_arrays_are_used() -> None:
    x = np.array([np.inf, np.nan, -0.0, 1.5], np.float32)
    check_program(typed(NEGATE, "f32"), [x])
    check_program(typed(NEGATE, "bf16"), [x.astype(ml_dtypes.bfloat16)])


def test_a_program_with_nothing_scaled_passes() -> None:
    check_program(typed(NEGATE, "f32"), options=ScalifyOptions(args="none"))


def test_a_wrong_scale_is_caught(negate_rule: Replace) -> None:
    @negate_rule
    def _twice(r: OpRewrite) -> None:
        x = r.scaled(0)
        r.result(x.scale.shifted(1), x.moments)

    with pytest.raises(AssertionError, match=r"result0: tensor<4xf32>.*4 of 4 elements differ"):
        check_program(typed(NEGATE, "f32"))
    with pytest.raises(AssertionError, match="elements differ"):
        check_program(typed(NEGATE, "f32"), exact=False)
    with pytest.raises(AssertionError, match="variant up"):
        check_range(typed(NEGATE, "f16"))


def test_an_unscaled_value_in_f16_is_caught(negate_rule: Replace) -> None:
    """It is right as long as f16 holds the values, so only the range check can tell."""

    @negate_rule
    def _unscaled(r: OpRewrite) -> None:
        r.set_operand(0, r.plain(0, "f16"))
        r.result(ONE)

    check_program(typed(NEGATE, "f16"))
    with pytest.raises(AssertionError, match="elements differ"):
        check_range(typed(NEGATE, "f16"))
    with pytest.raises(AssertionError, match="variant low"):
        check_range(typed(NEGATE, "f16"), exponents={"low": [-40]})


def test_a_scale_that_is_no_power_of_two_is_caught(negate_rule: Replace) -> None:
    @negate_rule
    def _off(r: OpRewrite) -> None:
        x = r.scaled(0)
        scale = r.emit.scale_value(x.scale)
        r.result(r.emit.as_scale(r.emit.op("multiply", scale.type, scale, r.emit.splat(scale, 1.5))), x.moments)

    with pytest.raises(AssertionError, match="is no power of two"):
        check_program(typed(NEGATE, "f32"))


def test_a_wrong_integer_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rewriter that changes what is not scaled."""
    wrong = rewrite_module(typed(PRODUCT, "f32")).replace(
        "return ", "%wrong = stablehlo.add %arg4, %arg4 : tensor<4xi32>\n    return "
    )
    wrong = wrong.replace(", %arg4 : tensor<4x3xf32>", ", %wrong : tensor<4x3xf32>")
    assert wrong.count("%wrong") == 2
    original = entry_signature(parse(typed(PRODUCT, "f32")))
    made = Rewritten(wrong, original, entry_signature(parse(wrong)))
    monkeypatch.setattr(Rewritten, "of", staticmethod(lambda *_: made))
    with pytest.raises(AssertionError, match=r"result1: tensor<4xi32>.*elements differ"):
        check_program(
            typed(PRODUCT, "f32"),
            [np.ones((4, 8), np.float32), np.ones((8, 3), np.float32), np.arange(4, dtype=np.int32)],
        )


def test_a_rule_that_gives_up_halfway_leaves_its_operands(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule may replace operands and then find that it has no scale: 56 x came out as 0.875 x."""
    registry.load()
    monkeypatch.setitem(registry._rules, "stablehlo.remainder", registry.rules()["stablehlo.remainder"])

    @registry.rule("remainder", family="homogeneous", law="wrong", scale="s", replace=True)
    def _halfway(r: OpRewrite) -> None:
        x, y = r.scaled(0), r.scaled(1)
        r.set_operand(0, x.data)
        r.set_operand(1, y.data)
        assert r.scaled(0).data == x.data
        assert r.scaled(1).scale == y.scale
        raise UnsupportedError("no scale after all")

    check_program(
        """
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<56.0> : tensor<4xf32>
    %0 = stablehlo.remainder %x, %c : tensor<4xf32>
    return %0 : tensor<4xf32>
  }""",
        [np.array([60.0, -3.0, 57.5, 1000.0], np.float32)],
        options=ScalifyOptions(on_unsupported="unscale"),
    )
