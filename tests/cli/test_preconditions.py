"""What MLIR's verifier lets pass and this package relies on: refused in one located line, all of it at once."""

import pathlib

import pytest

from tests import shared_data
from tests.cli.conftest import Run

IDENTITY = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n  return %a : tensor<2xf32>\n}\n"
CALL = "  %0 = call @NAME(%a) : (tensor<2xf32>) -> tensor<2xf32>\n"


def calling(name: str, callee: str, visibility: str = "") -> str:
    return (
        f"func.func {visibility} @{name}(%a: tensor<2xf32>) -> tensor<2xf32> {{\n"
        + CALL.replace("NAME", callee)
        + "  return %0 : tensor<2xf32>\n}\n"
    )


def argument(attribute: str) -> str:
    return IDENTITY.replace("2xf32>) ->", f"2xf32> {{{attribute}}}) ->")


BLOCKS = """
func.func private @loop(%x: tensor<2xf32>) -> tensor<2xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<2xf32>
}
"""
REFUSED = {
    "blocks": (calling("main", "loop") + BLOCKS, "6:1", "function @loop has 2 blocks"),
    "alias": (argument('tf.aliasing_output = "a"'), "1:17", "must be an integer"),
    "alias of no result": (argument("tf.aliasing_output = 33 : i32"), "1:17", "one of the 1 results"),
    "next of no result": (argument("scalify.next = -1 : i32"), "1:17", "one of the 1 results"),
    "scale shape": (argument('scalify.scale_shape = "x"'), "1:17", "must be an array of i64"),
    "sharding": (argument("mhlo.sharding = 1 : i32"), "1:17", "must be a string"),
    "role": (argument("scalify.role"), "1:17", "must be a string"),
    "result info": (IDENTITY.replace(" tensor<2xf32> {\n", " (tensor<2xf32> {jax.result_info = 5 : i32}) {\n"), "1:1",
                    "attribute 'jax.result_info' of result 0 of @main is 5 : i32"),
    "partitions": ('module attributes {mhlo.num_partitions = "x"} {\n' + IDENTITY + "}\n", "1:1", "of the module"),
    "mesh of another size": (
        'module attributes {mhlo.num_partitions = 8 : i32} {\n  sdy.mesh @mesh = <["a"=2, "b"=2]>\n}', "2:3",
        'mesh <["a"=2, "b"=2]> has 4 devices, and the module is for 8',
    ),
    "mesh of another size, written out": (
        "module attributes {mhlo.num_partitions = 8 : i32} {\n"
        + argument('sdy.sharding = #sdy.sharding<mesh<["a"=4]>, [{"a"}]>').replace("2xf32", "8xf32") + "}\n", "2:1",
        'mesh <["a"=4]> has 4 devices, and the module is for 8',
    ),
    "axis of no mesh": ('sdy.mesh @mesh = <["a"=2]>\n' + argument('sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>'),
                        "2:1", 'unknown axis name: "b"'),
    "marker": ('func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n'
               '  %0 = stablehlo.composite "scalify.get_data_and_scale" %a {decomposition = @f}\n'
               "    : (tensor<2xf32>) -> tensor<2xf32>\n  return %0 : tensor<2xf32>\n}\n"
               + IDENTITY.replace("@main", "private @f"), "2:8", "2 results or more; this has 1 and 1"),
    "main calls itself": (calling("main", "main"), "2:8", "@main -> @main"),
    "mutual recursion": (calling("main", "f") + calling("f", "main", "private"), "6:8", "@main -> @f -> @main"),
    "private recursion": (calling("main", "f") + calling("f", "f", "private"), "6:8", "@f -> @f"),
    "no body": (calling("main", "f") + "func.func private @f(tensor<2xf32>) -> tensor<2xf32>\n", "2:8", "no body"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "position", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_in_one_located_line(opt: Run, text: str, position: str, message: str):
    line = opt(stdin=text).error_line()
    assert line.startswith(f"<stdin>:{position}: error: ")
    assert message in line


def test_everything_wrong_is_told_at_once(opt: Run):
    result = opt(stdin=argument('tf.aliasing_output = "a", jax.result_info = 1 : i32'))
    assert len(result.lines) == 2


def test_calls_of_one_function_from_many_places_are_no_recursion(opt: Run):
    text = calling("main", "f") + calling("f", "g", "private") + IDENTITY.replace("@main", "private @g")
    twice = text.replace("  return %0", CALL.replace("NAME", "g").replace("%0", "%1") + "  return %0", 1)
    assert opt(stdin=twice).status == 0


@pytest.mark.parametrize("name", ["", "a b", 'quo\\"te', "\\F0\\9F\\8E\\89"])
def test_any_name_of_a_function(opt: Run, name: str):
    text = calling("main", "NAME").replace("@NAME", f'@"{name}"') + IDENTITY.replace("@main", f'private @"{name}"')
    assert opt(stdin=text).status == 0


def reported() -> list[pathlib.Path]:
    folder = shared_data.SHARED / "repro" / "robustness"
    return sorted(folder.glob("*.mlir")) if folder.is_dir() else []


def test_the_reported_inputs_are_here():
    assert sorted(shared_data.shared("repro").glob("robustness/*.mlir")) == reported()


@pytest.mark.parametrize("path", [p for p in reported() if "segv" not in p.name], ids=lambda p: p.stem)
def test_reported_input(opt: Run, path: pathlib.Path):
    """Inputs from outside on which the command hung or failed by a defect of its own."""
    result = opt(path)
    if result.status:
        assert result.status == 1
        assert result.error_line().startswith(f"{path}:")
    else:
        # MLIR prints a name that is empty, or no UTF-8, as what it does not read; bytecode has all of them.
        again = opt(path, "--emit=bytecode").output
        assert opt("--emit=bytecode", stdin=again).output == again, "what is rewritten is left as it is"
