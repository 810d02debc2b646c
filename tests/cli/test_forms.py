"""The four file forms: recognised by content, written on request, chosen by default as the help text says."""

import pathlib
import re
import subprocess
import sys

import pytest
from scalify_hlo.tools.scalify_opt import default_form

from scalify_hlo.bindings import make_context, stablehlo
from scalify_hlo.io.serialization import Program, parse, recognise, split_text
from tests.cli.conftest import PROGRAM, Run

REWRITTEN = 'tensor<f32> {scalify.role = "scale"}'


def text_of(data: bytes) -> str:
    return str(parse(recognise(data, "out"), make_context()))


@pytest.mark.parametrize("form", ["text", "bytecode", "artifact"])
def test_form_is_recognised_by_content_and_kept(opt: Run, forms: dict[str, bytes], tmp_path: pathlib.Path, form: str):
    source = tmp_path / "program.anything"
    source.write_bytes(forms[form])
    assert recognise(forms[form], "x").format == form
    result = opt(source)
    assert result.status == 0
    assert recognise(result.output, "x").format == form
    assert REWRITTEN in text_of(result.output)


@pytest.mark.parametrize("source", ["text", "bytecode", "artifact"])
@pytest.mark.parametrize("emit", ["text", "bytecode", "artifact"])
def test_every_form_into_every_other(opt: Run, forms: dict[str, bytes], source: str, emit: str):
    result = opt("-", f"--emit={emit}", "--pass-pipeline=builtin.module()", stdin=forms[source])
    assert result.status == 0
    assert recognise(result.output, "x").format == emit
    assert text_of(result.output) == text_of(PROGRAM.encode())


def test_exported_is_recognised_and_gives_its_module(opt: Run, exported: bytes):
    assert recognise(exported, "x").format == "exported"
    result = opt("--emit=text", stdin=exported)
    assert result.status == 0
    assert result.text.count('scalify.role = "scale"') == 4  # three arguments and one result


def test_exported_stays_exported(opt: Run, exported: bytes, tmp_path: pathlib.Path):
    import jax.export
    import numpy as np

    source, target = tmp_path / "f.bin", tmp_path / "g.bin"
    source.write_bytes(exported)
    assert opt(source, "--canonicalize", "--scalify", "--cse", "-o", target).status == 0
    rewritten = jax.export.deserialize(bytearray(target.read_bytes()))
    assert len(rewritten.in_avals) == 2 * 3
    assert len(rewritten.out_avals) == 2
    scaled = {"w": (np.full((4, 8), 0.5, np.float32), np.float32(2)), "b": (np.ones(8, np.float32), np.float32(4))}
    data, scale = rewritten.call(scaled, (np.ones((2, 4), np.float32), np.float32(1)))
    assert float(data * scale) == 2 * 8 * (4 * 1 + 4)


def test_exported_output_needs_an_exported_input(opt: Run):
    assert "needs a serialised jax.export.Exported" in opt("--emit=exported", stdin=PROGRAM).error_line()


def test_a_file_named_mlir_holds_text(opt: Run, forms: dict[str, bytes], tmp_path: pathlib.Path):
    target = tmp_path / "out.mlir"
    assert opt("-o", target, stdin=forms["artifact"]).status == 0
    assert target.read_text().startswith("module {")
    assert opt("-o", target, "--emit=bytecode", stdin=forms["artifact"]).status == 0
    assert recognise(target.read_bytes(), "x").format == "bytecode"


def test_a_terminal_gets_text(monkeypatch: pytest.MonkeyPatch):
    assert default_form("bytecode", "-") == "bytecode"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert default_form("bytecode", "-") == "text"
    assert default_form("bytecode", "out") == "bytecode"


def test_pipe_is_read_once(forms: dict[str, bytes], tmp_path: pathlib.Path):
    """Binary input is read again by a child process, which a pipe would not allow."""
    source = tmp_path / "in"
    source.write_bytes(forms["bytecode"])
    opt_command = f"{sys.executable} -m scalify_hlo.tools.scalify_opt --emit=text"
    command = f"mkfifo {tmp_path}/pipe; cat {source} > {tmp_path}/pipe & {opt_command} {tmp_path}/pipe"
    finished = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    assert REWRITTEN in finished.stdout.decode()


@pytest.mark.parametrize("target", ["minimum", "4weeks", "current", "1.0.0"])
def test_target_is_the_version_of_the_artifact(opt: Run, target: str):
    result = opt("--emit=artifact", f"--target={target}", stdin=PROGRAM)
    written = re.match(rb"ML\xefR.StableHLO_v([\d.]+)", result.output)
    assert written
    oldest, newest = stablehlo.get_minimum_version(), stablehlo.get_current_version()
    expected = {"minimum": oldest, "current": newest, "4weeks": written[1].decode()}.get(target, target)
    assert written[1].decode() == expected
    assert REWRITTEN in text_of(result.output)


@pytest.mark.parametrize(
    ("target", "message"),
    [("99.0.0", "cannot be written by this jaxlib"), ("new", "'new' is no StableHLO version"), ("1.2", "give X.Y.Z")],
)
def test_target_that_cannot_be(opt: Run, target: str, message: str):
    assert message in opt("--emit=artifact", f"--target={target}", stdin=PROGRAM).error_line()


def test_operation_newer_than_the_target(opt: Run):
    source = PROGRAM.replace("negate", "tan")
    result = opt("--emit=artifact", "--target=0.9.0", "--pass-pipeline=builtin.module()", stdin=source)
    assert result.status == 1
    assert result.output == b""
    assert "vhlo.tan" in result.stderr
    assert result.stderr.startswith("<stdin>:")


def test_artifact_with_another_dialect_warns(opt: Run):
    source = """
      sdy.mesh @mesh = <["x"=2]>
      func.func @main(%x: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xi32> {
        return %x : tensor<4xi32>
      }
    """
    result = opt("--emit=artifact", stdin=source)
    assert result.status == 0
    assert "warning: this portable artifact holds operations or attributes of other dialects" in result.stderr
    assert "sdy.sharding" in text_of(result.output)


def test_locations_name_the_file(opt: Run, program_file: pathlib.Path):
    assert f'loc("{program_file}":2:8)' in opt(program_file, "--mlir-print-debuginfo", "--cse").text


def test_a_function_without_module_keeps_its_file_name():
    module = parse(Program(PROGRAM.encode(), "text", "dir/a.mlir"), make_context())
    assert str(module.body.operations[0].location).startswith('loc("dir/a.mlir":1:1')


def test_attributes_of_the_module_survive():
    text = b"module @name attributes {mhlo.num_replicas = 2 : i32} {\n}\n"
    assert text_of(text).startswith("module @name attributes {mhlo.num_replicas = 2 : i32}")


def test_split_keeps_line_numbers():
    parts = split_text(Program(b"a\nb\n// -----\nc\n// ----- trailing\nd", "text", "f"))
    assert [(part.first_line, part.data) for part in parts] == [(1, b"a\nb\n"), (3, b"\nc\n"), (5, b"\nd")]
