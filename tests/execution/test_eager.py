"""Running a module operation by operation gives what the compiled module gives, and shows every value."""

from typing import Any

import numpy as np
import pytest

from scalify_hlo.bindings import ir
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.eager import Eager
from scalify_hlo.execution.element_types import NUMPY_DTYPES
from scalify_hlo.execution.modules import as_module

PROGRAM = """
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = stablehlo.add %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>, %which: tensor<i32>) -> (tensor<4xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %start = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = func.call @twice(%y) : (tensor<4xf32>) -> tensor<4xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<4xf32>
  }
  %b = "stablehlo.case"(%which) ({
    %e = stablehlo.negate %r#1 : tensor<4xf32>
    stablehlo.return %e : tensor<4xf32>
  }, {
    %e = stablehlo.abs %x : tensor<4xf32>
    stablehlo.return %e : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %s = stablehlo.reduce(%b init: %start) applies stablehlo.add across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %b, %s : tensor<4xf32>, tensor<f32>
}"""


@pytest.mark.parametrize("which", [0, 1, -1, 7])
def test_loops_branches_and_calls_are_followed(which: int) -> None:
    arguments = [np.array([1, -2, 3, -4], np.float32), np.int32(3), np.int32(which)]
    eager, compiled = Eager(as_module(PROGRAM))(arguments), xla.compile(PROGRAM)(arguments)
    for a, b in zip(eager, compiled, strict=True):
        np.testing.assert_array_equal(a, b)


def test_every_value_is_shown_with_the_calls_that_lead_to_it() -> None:
    doubled: list[Any] = []

    def observer(op: ir.Operation, operands: Any, results: Any, path: Any) -> None:
        if op.name == "stablehlo.add" and path:
            doubled.append((operands[0][0], results[0][0], [call.name for call in path]))

    program = Eager(as_module(PROGRAM), observer)
    program([np.ones(4, np.float32), np.int32(3), np.int32(0)])
    assert doubled == [(1, 2, ["func.call"]), (2, 4, ["func.call"]), (4, 8, ["func.call"])]


def test_equal_operations_are_compiled_once() -> None:
    lines = [f"%{i + 1} = stablehlo.add %{i}, %{i} : tensor<4xf32>" for i in range(20)]
    body = "\n".join(lines)
    text = f"func.func @main(%0: tensor<4xf32>) -> tensor<4xf32> {{\n{body}\nreturn %20 : tensor<4xf32>\n}}"
    program = Eager(as_module(text))
    (result,) = program([np.ones(4, np.float32)])
    np.testing.assert_array_equal(result, np.full(4, 2.0**20))
    assert program.compiled == 1


def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ScalifyError, match="the module takes 3 arguments"):
        Eager(as_module(PROGRAM))([np.ones(4, np.float32)])


MOVES = """
func.func @main(%x: tensor<4x1x6xf16>, %n: tensor<3xi4>) -> (
    tensor<2x1x3xf16>, tensor<6x4xf16>, tensor<6x1x4xf16>, tensor<6x2x4x1xf16>, tensor<2x3xi4>, tensor<2xbf16>) {
  %s = stablehlo.slice %x [1:4:2, 0:1, 0:6:2] : (tensor<4x1x6xf16>) -> tensor<2x1x3xf16>
  %r = stablehlo.reshape %x : (tensor<4x1x6xf16>) -> tensor<6x4xf16>
  %t = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<4x1x6xf16>) -> tensor<6x1x4xf16>
  %b = stablehlo.broadcast_in_dim %t, dims = [0, 1, 2] : (tensor<6x1x4xf16>) -> tensor<6x2x4xf16>
  %c = stablehlo.reshape %b : (tensor<6x2x4xf16>) -> tensor<6x2x4x1xf16>
  %i = stablehlo.broadcast_in_dim %n, dims = [1] : (tensor<3xi4>) -> tensor<2x3xi4>
  %k = stablehlo.constant dense<-0.0> : tensor<2xbf16>
  return %s, %r, %t, %c, %i, %k : tensor<2x1x3xf16>, tensor<6x4xf16>, tensor<6x1x4xf16>, tensor<6x2x4x1xf16>,
    tensor<2x3xi4>, tensor<2xbf16>
}
"""


def test_what_only_moves_data_is_not_compiled() -> None:
    x = np.arange(24, dtype=np.float16).reshape(4, 1, 6)
    arguments = [x, np.arange(3).astype(NUMPY_DTYPES["i4"])]
    program = Eager(as_module(MOVES))
    for own, compiled in zip(program(arguments), xla.compile(MOVES)(arguments), strict=True):
        assert (own.dtype, own.shape, own.tobytes()) == (compiled.dtype, compiled.shape, compiled.tobytes())
    assert program.compiled == 0
