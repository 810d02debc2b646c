"""Which values lie in memory between kernels, of programs in which it is known."""

import pytest

from scalify_hlo.analysis.calls import CallGraph, walk
from scalify_hlo.analysis.memory import Memory
from scalify_hlo.bindings import ir, make_context

_DOT = (
    "stablehlo.dot_general {0}, {1}, contracting_dims = [1] x [0]"
    " : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>"
)
_SUM = (
    "stablehlo.reduce({0} init: %zero) applies stablehlo.add across dimensions = [{1}]"
    " : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>"
)
_TWO = "stablehlo.{2} {0}, {1} : tensor<8x8xf32>"
_CALL = "stablehlo.custom_call @f({0}) : (tensor<8x8xf32>) -> tensor<8x8xf32>"
_ONE = "stablehlo.{1} {0} : tensor<8x8xf32>"


def _written(lines: list[str]) -> list[str]:
    """Of a program of lines `name = operation`, the names of the values that lie in memory."""
    names = [line.split(" = ")[0] for line in lines]
    body = "\n".join(f"%{line}" for line in lines)
    with make_context():
        module = ir.Module.parse(
            "func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {\n"
            f"%zero = stablehlo.constant dense<0.0> : tensor<f32>\n{body}\nreturn %{names[-1]} : tensor<8x8xf32>\n}}"
        )
        operations = walk(module.operation)
        block = operations[0].regions[0].blocks[0]
        memory = Memory(CallGraph(module))
        memory.note(block)
        results = [op.results[0] for op in operations[2:-1] if op.operation.block == block]
        return [name for name, value in zip(names, results, strict=True) if memory.is_written(value)]


@pytest.mark.parametrize(
    ("lines", "written"),
    [
        pytest.param(
            ["h = " + _DOT.format("%x", "%w"), "t = " + _ONE.format("%h", "tanh"), "y = " + _DOT.format("%t", "%w"),
             "tt = " + _TWO.format("%t", "%t", "multiply"), "d = " + _TWO.format("%y", "%tt", "multiply")],
            [], id="of one tensor: computed again",
        ),
        pytest.param(
            ["c = " + _CALL.format("%x"), "t = " + _ONE.format("%c", "tanh"), "y = " + _DOT.format("%c", "%w")],
            [], id="of a custom call, read by what comes next",
        ),
        pytest.param(
            ["c = " + _CALL.format("%x"), "y = " + _DOT.format("%c", "%w"), "r = " + _TWO.format("%c", "%y", "add")],
            ["c"], id="of a custom call, read again by a later kernel",
        ),
        pytest.param(
            ["c = " + _CALL.format("%x"), "y = " + _DOT.format("%c", "%w"), "z = " + _DOT.format("%c", "%y")],
            ["c"], id="of a custom call, read again by a later product",
        ),
        pytest.param(
            ["c = " + _CALL.format("%x"), "t = " + _ONE.format("%c", "tanh"), "y = " + _DOT.format("%x", "%w"),
             "z = " + _DOT.format("%c", "%y"), "r = " + _TWO.format("%t", "%z", "multiply")],
            ["c"], id="of a custom call, of which a function is read again",
        ),
        pytest.param(
            ["h = " + _DOT.format("%x", "%w"), "s = " + _TWO.format("%x", "%h", "add"),
             "y = " + _DOT.format("%s", "%w"), "r = " + _TWO.format("%s", "%y", "add")],
            ["s"], id="of two tensors, read again by a later kernel",
        ),
        pytest.param(
            ["h = " + _DOT.format("%x", "%w"), "s = " + _TWO.format("%x", "%h", "add"),
             "r = " + _TWO.format("%s", "%s", "multiply")],
            [], id="of two tensors, read by the same kernel",
        ),
        pytest.param(
            ["h = " + _DOT.format("%x", "%w"), "t = " + _ONE.format("%h", "tanh"), "y = " + _DOT.format("%t", "%w"),
             "d = " + _TWO.format("%y", "%t", "multiply")],
            ["t"], id="read by a product, and again by a later kernel",
        ),
        pytest.param(
            ["h = " + _DOT.format("%x", "%w"), "e = " + _ONE.format("%h", "exponential"), "n = " + _SUM.format("%e", 1),
             "b = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>",
             "p = " + _TWO.format("%e", "%b", "divide"), "y = " + _DOT.format("%p", "%w")],
            [], id="a softmax is one kernel",
        ),
        pytest.param(
            ["h = " + _DOT.format("%x", "%w"), "d = " + _ONE.format("%h", "tanh"), "n = " + _SUM.format("%d", 0),
             "y = " + _DOT.format("%d", "%w")],
            ["d"], id="read by a product, and summed",
        ),
        pytest.param(
            ["h = " + _DOT.format("%x", "%w"), "s = " + _TWO.format("%x", "%h", "add"),
             "t = " + _ONE.format("%s", "abs"),
             "y = " + _DOT.format("%h", "%w"), "d = " + _TWO.format("%y", "%t", "multiply")],
            ["s"], id="of two tensors, a function of which is read again",
        ),
        pytest.param(
            ["h = " + _DOT.format("%x", "%w"), "s = " + _TWO.format("%x", "%h", "add"), "n = " + _SUM.format("%s", 0),
             "b = stablehlo.broadcast_in_dim %n, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>",
             "d = " + _TWO.format("%s", "%b", "multiply")],
            ["s"], id="read again behind a sum over columns",
        ),
        pytest.param(
            ["h = " + _DOT.format("%x", "%w"), "s = " + _TWO.format("%x", "%h", "add"), "n = " + _SUM.format("%s", 1),
             "b = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>",
             "d = " + _TWO.format("%s", "%b", "multiply")],
            [], id="read again behind a sum over rows",
        ),
        pytest.param(
            ["h = " + _DOT.format("%x", "%w"), "t = " + _ONE.format("%h", "tanh"), "n = " + _SUM.format("%t", 0),
             "m = stablehlo.transpose %t, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>",
             "y = " + _DOT.format("%m", "%w")],
            ["t"], id="summed, and read by a product once it is transposed",
        ),
        pytest.param(
            ["n = " + _SUM.format("%x", 1), "i = stablehlo.convert %n : (tensor<8xf32>) -> tensor<8xi32>",
             'g = "stablehlo.torch_index_select"(%w, %i) {dim = 0 : i64, batch_dims = 0 : i64}'
             " : (tensor<8x8xf32>, tensor<8xi32>) -> tensor<8x8xf32>", "a = " + _ONE.format("%g", "abs"),
             "y = " + _DOT.format("%x", "%w"), "d = " + _TWO.format("%y", "%a", "multiply")],
            ["a"], id="of what is gathered: not computed again",
        ),
    ],
)  # fmt: skip
def test_what_lies_in_memory(lines: list[str], written: list[str]) -> None:
    assert _written(lines) == written


def test_functions_are_looked_through() -> None:
    with make_context():
        module = ir.Module.parse(f"""
func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {{
  %h = {_DOT.format("%x", "%w")}
  %s = call @sum(%x, %h) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = {_DOT.format("%s", "%w")}
  %r = {_TWO.format("%s", "%y", "add")}
  return %r : tensor<8x8xf32>
}}
func.func private @sum(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {{
  %0 = {_TWO.format("%a", "%b", "add")}
  return %0 : tensor<8x8xf32>
}}""")
        main, function = (op.operation.regions[0].blocks[0] for op in module.body.operations)
        memory = Memory(CallGraph(module))
        memory.note(main)
        assert memory.is_written(function.operations[0].result)
        assert memory.is_written(main.operations[1].result)  # the call
        assert not memory.is_written(main.operations[3].result)
