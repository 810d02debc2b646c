"""The one walk over a module before it is rewritten."""

import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.survey import Survey

_LOOP = """
func.func public @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %0:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare GT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = func.call @body(%y) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %i, %1 : tensor<i32>, tensor<4xf32>
  }
  %2 = func.call @other(%0#1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
"""


def _survey(text: str) -> tuple[bool, dict[str, int], list[str]]:
    """(narrow, uses, the functions called in loops)"""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        survey = Survey().walk(module.operation)
        called = [ir.FlatSymbolRefAttr(op.attributes["callee"]).value for op in survey.calls_in_loops]
        return survey.narrow, dict(survey.uses), called


def test_calls_and_which_of_them_are_in_loops() -> None:
    assert _survey(_LOOP) == (False, {"body": 1, "other": 1}, ["body"])


@pytest.mark.parametrize(
    "body",
    [
        "%0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf16>\n%1 = stablehlo.add %0, %0 : tensor<4xf16>",
        "%0 = stablehlo.constant dense<1.0> : tensor<4xf8E4M3FN>",
        "%0 = stablehlo.reduce_precision %x, format = e8m7 : tensor<4xf32>\n"
        "%1 = stablehlo.dot %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<f16>",
    ],
)
def test_a_narrow_type_anywhere_is_seen(body: str) -> None:
    assert _survey(f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{body}\nreturn %x : tensor<4xf32>\n}}")[0]


def test_a_narrow_argument_is_seen() -> None:
    assert _survey("func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> { return %x : tensor<4xf16> }")[0]
