"""scalify-health: a report of each tensor, also of a program that is rewritten on the way."""

import pathlib
import re

import numpy as np
import pytest
from click.testing import CliRunner
from scalify_hlo.tools.health import main

from scalify_hlo.reports.health import TensorHealth, table

PROGRAM = """
func.func @main(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}"""


def rows(*arguments: str) -> dict[str, str]:
    """The lines of the report by tensor."""
    done = CliRunner().invoke(main, ["-", *arguments, "--no-histogram"], input=PROGRAM)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    return {line.split("  ")[0]: line for line in lines[1:] if "2^" in line}


def test_as_it_is() -> None:
    assert list(rows()) == ["stablehlo.dot_general"]


def test_rewritten_with_scales(tmp_path: pathlib.Path) -> None:
    found = rows("--precision=fp16", f"--html={tmp_path / 'health.html'}")
    # Both arguments have one name.
    scales = {name: re.findall(r"2\^\S+", line)[2] for name, line in found.items()}  # after rms and amax
    assert set(scales) == {"argument", "stablehlo.dot_general", "stablehlo.convert"}
    assert all(scale != "2^0.0" for scale in scales.values())
    assert (tmp_path / "health.html").read_text().count("<tr") == 7 + 1


@pytest.mark.parametrize(("fraction", "text"), [(0, "0"), (1, "100%"), (0.996, "99.6%"), (0.5, "50%"), (2e-4, "0.02%")])
def test_shares_are_read_without_an_exponent(fraction: float, text: str) -> None:
    """All zeros were 1e+02%."""
    zeros = TensorHealth("x", 4, 0.0, 0.0, fraction, 0.0, 0.0, 1.0, ())
    assert f" {text} " in table([zeros]).splitlines()[1]


def test_an_empty_pattern_is_none() -> None:
    done = CliRunner().invoke(main, ["-", "--include="], input=PROGRAM)
    assert done.exit_code == 2 and "'--include': it is empty, and LIST is wanted" in done.output


def test_an_unknown_precision_is_one_line() -> None:
    done = CliRunner().invoke(main, ["-", "--precision=fp9"], input=PROGRAM)
    assert done.exit_code == 2 and "unknown precision 'fp9'" in done.output


def test_a_program_before_is_compared_on_a_page() -> None:
    done = CliRunner().invoke(main, ["-", "--before=no.mlir"], input=PROGRAM)
    assert done.exit_code == 2 and "give --html=FILE as well" in done.output


def test_programs_with_nothing_to_report_on_say_where_and_why() -> None:
    for program, why in (
        ("module {}", "the module has no public function to run; make one of them @main"),
        (PROGRAM.replace("@main", "@first") + PROGRAM.replace("@main", "@second"), "several public functions"),
        (
            "func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> { return %x : tensor<4xi32> }",
            "no floating-point tensor",
        ),
    ):
        done = CliRunner().invoke(main, ["-"], input=program)
        assert done.exit_code == 1 and re.match(r"<stdin>:\d+:\d+: error: ", done.output) and why in done.output


def test_given_inputs_and_scales(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "inputs.npz"
    np.savez(file, np.full((4, 16), 3, np.float32), np.full((16, 8), 2.0**-4, np.float32))
    plain, rms, one = (
        re.findall(r"2\^\S+", rows(f"--inputs={file}", *more)["stablehlo.dot_general"])
        for more in ((), ("--rewrite",), ("--rewrite", "--scales=one"))
    )
    assert plain[1] == one[1] == "2^1.6"  # amax: 16 * 3 / 16
    assert rms[1] != plain[1]


def test_given_inputs_of_the_program_before_it_is_stored_in_less(tmp_path: pathlib.Path) -> None:
    """Weights are f16 in the rewritten program; given as the original takes them, and too small for f16 themselves."""
    file = tmp_path / "inputs.npz"
    np.savez(file, np.full((4, 16), 3, np.float32), np.full((16, 8), 2.0**-30, np.float32))
    found = rows("--precision=fp16 parameters=f16", f"--inputs={file}")["stablehlo.convert"]
    rms, _, scale = (float(power) for power in re.findall(r"2\^(\S+)", found))
    assert abs(rms + scale - np.log2(16 * 3 * 2.0**-30)) < 0.2


def test_inputs_that_do_not_fit_are_named(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "inputs.npz"
    np.savez(file, np.zeros((2, 2), np.float32), np.zeros((16, 8), np.float32))
    done = CliRunner().invoke(main, ["-", f"--inputs={file}"], input=PROGRAM)
    assert done.exit_code == 1 and "argument 0 (arg0) is a" in done.output


def test_complex_numbers_have_the_range_of_their_parts() -> None:
    program = """
func.func @main(%x: tensor<8xf32>, %w: tensor<8x8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0] : (tensor<8xf32>, tensor<8x8xf32>) -> tensor<8xf32>
  %1 = stablehlo.fft %0, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  %2 = stablehlo.fft %1, type = IRFFT, length = [8] : (tensor<5xcomplex<f32>>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}"""
    done = CliRunner().invoke(main, ["-", "--precision=fp8", "--no-histogram"], input=program)
    assert done.exit_code == 0, done.output
    assert "stablehlo.fft" in done.output and "complex<f32>" in done.output
