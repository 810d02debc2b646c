"""Source lines with carets below diagnostics."""

import pathlib

import pytest

from scalify_hlo.errors import Diagnostic
from scalify_hlo.io.excerpts import Source, excerpt, with_excerpts
from tests.cli.conftest import Run

SOURCE = Source("f.mlir", "module {\n\t%0 = one %1\n  %wide = two\n}\n")


def test_the_command_shows_the_line(opt: Run):
    result = opt(stdin="func.func @main() {\n  stablehlo.nonsense\n  return\n}\n")
    assert result.stderr.splitlines()[1:] == ["  stablehlo.nonsense", "  ^"]
    assert result.stderr.startswith("<stdin>:2:3: error: ")


def test_a_program_in_a_file(opt: Run, tmp_path: pathlib.Path):
    path = tmp_path / "in.mlir"
    path.write_text("func.func @main(%x: tensor<4xf32>) {\n  %0 = stablehlo.negate %y : tensor<4xf32>\n}\n")
    assert opt(path).stderr.splitlines()[1:] == ["  %0 = stablehlo.negate %y : tensor<4xf32>", " " * 24 + "^"]


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("f.mlir:2:7", ["\t%0 = one %1", "\t     ^"]),
        ("f.mlir:3:3", ["  %wide = two", "  ^"]),
        ("f.mlir:1:1", []),  # stands for an unknown place
        ("f.mlir:4:3", []),
        ("f.mlir:9:1", []),
        ("f.mlir:0:0", []),
        ("other.mlir:2:7", []),
        ("missing.py:2:7", []),
        ("jit(f)/dot", []),
        ("", []),
    ],
)
def test_positions(location: str, shown: list[str]):
    assert excerpt(location, SOURCE) == shown


def test_a_python_line(tmp_path: pathlib.Path):
    """JAX counts columns from 0."""
    path = tmp_path / "model.py"
    path.write_text("def f(x):\n    return x @ x\n")
    assert excerpt(f"{path}:2:11", None) == ["    return x @ x", "           ^"]


def test_long_lines_are_cut_around_the_place():
    text = "a" * 5000 + "X" + "b" * 5000
    line, caret = excerpt("f.mlir:1:5001", Source("f.mlir", text))
    assert len(line) == 160 and line[caret.index("^")] == "X"


def test_terminals_are_not_obeyed():
    line, _ = excerpt("f.mlir:1:3", Source("f.mlir", "a\x1b[31mb"))
    assert line == "a?[31mb"


def test_a_note_at_the_same_place_does_not_repeat_the_line():
    here, there = "f.mlir:2:7", "f.mlir:3:3"
    diagnostic = Diagnostic("no", here, notes=(Diagnostic("a", here, "note"), Diagnostic("b", there, "note")))
    carets = [line for line in with_excerpts(diagnostic, SOURCE).splitlines() if line.strip() == "^"]
    assert len(carets) == 2


def test_remarks_are_one_line():
    assert with_excerpts(Diagnostic("done", "f.mlir:2:7", "remark"), SOURCE) == "f.mlir:2:7: remark: done"
