"""Streams that are closed, full or take other characters, and file names that are no text: a line and a status."""

import os
import pathlib
import subprocess
import sys

import pytest

from scalify_hlo.errors import Diagnostic
from scalify_hlo.io.excerpts import with_excerpts
from tests.cli.conftest import PROGRAM, opt_process

_FULL = pathlib.Path("/dev/full")


def in_shell(tool: str, words: str, folder: pathlib.Path) -> "subprocess.CompletedProcess[bytes]":
    """A command with redirections, on the program in `in.mlir`."""
    (folder / "in.mlir").write_text(PROGRAM)
    command = f"{sys.executable} -m scalify_hlo.tools.{tool} {words}"
    return subprocess.run(command, shell=True, cwd=folder, capture_output=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("in.mlir >&-", b"<stdout>:1:1: error: cannot write this file: Bad file descriptor\n"),
        ("--version >&-", b"scalify-opt: error: Bad file descriptor\n"),
        ("- <&-", b"<stdin>:1:1: error: cannot read this file: Bad file descriptor\n"),
        # What was said went to stdout where there was no stderr.
        ("missing.mlir 2>&-", b""),
    ],
)
def test_closed_streams(tmp_path: pathlib.Path, words: str, said: bytes):
    """The next file that was opened took the number of the closed one, or it was an AttributeError."""
    finished = in_shell("scalify_opt", words, tmp_path)
    assert (finished.returncode, finished.stdout, finished.stderr) == (1, b"", said)


@pytest.mark.skipif(not _FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    ("tool", "words", "said"),
    [
        ("scalify_opt", "in.mlir", b"<stdout>:1:1: error: cannot write this file: No space left on device\n"),
        ("scalify_opt", "--list-rules", b"scalify-opt: error: No space left on device\n"),
        ("explain", "in.mlir", b"scalify-explain: error: No space left on device\n"),
    ],
)
def test_a_full_device_is_no_defect_of_the_tool(tmp_path: pathlib.Path, tool: str, words: str, said: bytes):
    finished = in_shell(tool, f"{words} > {_FULL}", tmp_path)
    assert (finished.returncode, finished.stderr) == (1, said)


def test_more_memory_than_there_is_is_no_defect_of_the_tool(tmp_path: pathlib.Path):
    text = PROGRAM.replace("tensor<4xf32>", "tensor<4000000000000xf32>")
    (tmp_path / "large.mlir").write_text(text)
    finished = in_shell("scalify_check", "large.mlir", tmp_path)
    assert finished.returncode == 1 and finished.stderr.startswith(b"scalify-check: error: not enough memory")


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
@pytest.mark.parametrize("text", [PROGRAM, PROGRAM.replace("negate", "nonsense"), None])
def test_a_file_whose_name_is_no_text(tmp_path: pathlib.Path, text: str | None):
    """A traceback of what wrote to stderr, or a TypeError of the parser, which takes UTF-8 alone."""
    path = os.fsencode(tmp_path) + b"/\xff.mlir"
    if text is not None:
        pathlib.Path(os.fsdecode(path)).write_text(text)
    result = opt_process(os.fsdecode(path))
    if text == PROGRAM:
        assert result.status == 0 and "scalify.role" in result.text
    else:
        assert f"{tmp_path}/\\udcff.mlir:" in result.error_line()


@pytest.mark.parametrize("flag", ["--args=\udcff", "--pass-pipeline=cse{\udcff}", "--scalify=args=\udcff"])
def test_options_that_are_no_text(flag: str):
    """MLIR takes UTF-8 alone as the text of a pass: TypeError."""
    assert "\\udcff" in opt_process(flag, stdin=PROGRAM).error_line()


def test_terminals_of_another_encoding(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setenv("LC_ALL", "POSIX")
    monkeypatch.setenv("PYTHONUTF8", "0")
    monkeypatch.setenv("PYTHONCOERCECLOCALE", "0")
    line = opt_process("--args=\u00e9", stdin=PROGRAM).error_line()
    assert line.startswith("<stdin>:1:1: error: no argument is called")


def test_what_is_said_is_a_line_that_a_terminal_does_not_obey():
    diagnostic = Diagnostic("no 'a\nb\x1b[31mc'", "f\n.mlir:1:1", notes=(Diagnostic("x\r\ny", "", "note"),))
    assert with_excerpts(diagnostic, None) == "f .mlir:1:1: error: no 'a b?[31mc'\nnote: x y"


@pytest.mark.parametrize("value", ["3x", "", "3,"])
def test_a_value_that_an_option_of_mlir_does_not_take(value: str):
    """The first line of MLIR's message is empty: it counted as none, and the pass was run."""
    line = opt_process(f"--pass-pipeline=canonicalize{{max-iterations={value}}}", stdin=PROGRAM).error_line()
    assert line == f"--pass-pipeline:1:1: error: failed to add `canonicalize` with options `max-iterations={value}`"
