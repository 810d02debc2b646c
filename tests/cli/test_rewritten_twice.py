"""A program that carries data * scale already is left as it is: its scales are not scaled."""

import pathlib
import re
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import pytest
from click.testing import CliRunner
from scalify_hlo.tools import explain, health, scalify_check

import scalify_hlo
from scalify_hlo.io.diagnostics import Diagnostic
from tests.cli.conftest import PROGRAM, Run

TWO = """\
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.mark.parametrize("flags", [(), ("--args=1",), ("--plain-results",), ("--scale-dtype=e8m0",)], ids=str)
def test_the_second_rewriting_changes_nothing(opt: Run, flags: tuple[str, ...]):
    once = opt(*flags, stdin=TWO).output
    twice = opt(stdin=once)
    assert twice.output == once
    assert "remark: this program carries data * scale already" in twice.stderr


def test_more_arguments_cannot_be_scaled_later(opt: Run):
    once = opt("--args=0", stdin=TWO).output
    line = opt("--args=2", stdin=once).error_line()
    assert "this program is rewritten already" in line
    assert "rewrite the original instead" in line


def test_nor_can_its_precision_be_chosen_later(opt: Run):
    once = opt(stdin=PROGRAM).output
    assert "carries data * scale already: cast the original" in opt("--precision=fp16", stdin=once).error_line()


@pytest.mark.parametrize("flags", [(), ("--args=none",)], ids=str)
def test_exported_by_the_command(opt: Run, tmp_path: pathlib.Path, flags: tuple[str, ...]):
    original, once, twice = (tmp_path / f"{name}.bin" for name in ("original", "once", "twice"))
    exported = jax.export.export(jax.jit(lambda x: 2 * x), platforms=["cpu"])(jnp.ones(4))
    original.write_bytes(exported.serialize())
    opt(original, "-o", once)
    assert opt(once, "-o", twice, *flags).status == 0
    assert twice.read_bytes() == once.read_bytes()
    for precision in ("fp8", "fp16"):
        again = opt(once, f"--precision={precision}", "-o", tmp_path / "again.bin")
        assert "already" in again.error_line()
        assert not (tmp_path / "again.bin").exists()


@pytest.mark.parametrize("tool", [scalify_check, health, explain], ids=["check", "health", "explain"])
def test_every_command_says_of_which_file(opt: Run, tmp_path: pathlib.Path, tool: Any):
    """What a pass says of the program as a whole has no place in it: it is put at its beginning."""
    opt("-o", tmp_path / "once.mlir", stdin=TWO)
    done = CliRunner().invoke(tool.main, [str(tmp_path / "once.mlir"), "--precision=fp16"])
    (line,) = [line for line in done.output.splitlines() if "error: " in line]
    assert re.match(r"\S*once\.mlir:1:1: error: .*carries data \* scale already", line)


def test_exported():
    def double(x: jax.Array) -> jax.Array:
        return 2 * x

    exported = jax.export.export(jax.jit(double), platforms=["cpu"])(jnp.ones(4))
    once = scalify_hlo.scalify_exported(exported)
    remarks: list[Diagnostic] = []
    assert scalify_hlo.scalify_exported(once, remarks=remarks) is once
    with pytest.raises(scalify_hlo.ScalifyError, match="rewritten already"):
        scalify_hlo.scalify_exported(once, [1])
    with pytest.raises(scalify_hlo.ScalifyError, match="rewritten already"):
        scalify_hlo.scalify_exported(once, precision="fp16")
