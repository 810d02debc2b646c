"""`--split-input-file` and `--verify-diagnostics`."""

import pathlib

import pytest

from scalify_hlo.errors import Diagnostic
from scalify_hlo.io.expected_diagnostics import expectations, unmet
from tests.cli.conftest import PROGRAM, Run
from tests.training_programs import train_step_text

BAD = "func.func @main() {\n  stablehlo.nonsense\n  return\n}\n"
BAD_AS_ANNOUNCED = BAD.replace("  stablehlo", "  // expected-error@+1 {{'stablehlo.nonsense' is unknown}}\n  stablehlo")
SEPARATOR = "// -----\n"


def test_a_preset_says_what_it_did_in_one_line(opt):
    """Places are for --all-remarks."""
    told = opt("--precision=fp8", stdin=train_step_text()).stderr.splitlines()
    assert len(told) == 1
    assert "scalify-auto-rescale: " in told[0] and "36 matrix products converted to FP8, 15 left (12: has" in told[0]
    assert told[0].endswith("(--all-remarks shows each place)")
    every = opt("--precision=fp8", "--all-remarks", stdin=train_step_text()).stderr.splitlines()
    assert sum("remark: FP8 " in line for line in every) == 36


def test_parts_are_processed_one_by_one(opt: Run):
    result = opt("--split-input-file", stdin=PROGRAM + SEPARATOR + PROGRAM)
    assert result.status == 0
    assert result.text.split(SEPARATOR)[0] == result.text.split(SEPARATOR)[1] == opt(stdin=PROGRAM).text


def test_every_bad_part_is_reported_at_its_line(opt: Run, tmp_path: pathlib.Path):
    target = tmp_path / "out.mlir"
    result = opt("--split-input-file", "-o", target, stdin=BAD + SEPARATOR + PROGRAM + SEPARATOR + BAD)
    assert result.status == 1
    positions = [line.split(": error")[0] for line in result.lines]
    assert positions == ["<stdin>:2:3", "<stdin>:12:3"]
    assert not target.exists()


def test_announced_error(opt: Run):
    result = opt("--verify-diagnostics", stdin=BAD_AS_ANNOUNCED)
    assert (result.status, result.stderr) == (0, "")


def test_announced_errors_in_parts_and_output_of_the_rest(opt: Run):
    result = opt("--verify-diagnostics", "--split-input-file", stdin=BAD_AS_ANNOUNCED + SEPARATOR + PROGRAM)
    assert (result.status, result.stderr) == (0, "")
    assert result.text == opt(stdin=PROGRAM).text


def test_unannounced_error(opt: Run):
    line = opt("--verify-diagnostics", stdin=BAD).error_line()
    assert line.startswith("<stdin>:2:3: error: unexpected error: custom op")


def test_announced_error_that_does_not_come(opt: Run):
    line = opt("--verify-diagnostics", stdin="// expected-error@below {{nonsense}}\n" + PROGRAM).error_line()
    assert line == '<stdin>:1:4: error: expected error "nonsense" was not produced'


def test_announced_remark(opt: Run):
    source = """\
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-remark@+1 {{mystery}}
  %0 = stablehlo.custom_call @mystery(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
    assert opt("--verify-diagnostics", "--on-unsupported=unscale", stdin=source).status == 0
    silent = source.replace("expected-remark", "nothing")
    assert "unexpected remark" in opt("--verify-diagnostics", "--on-unsupported=unscale", stdin=silent).stderr


def at(line: int, message: str = "no rule for 'x'", severity: str = "error") -> Diagnostic:
    return Diagnostic(message, f"f.mlir:{line}:1", severity)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("%0 = x // expected-error {{no rule}}", 1),
        ("// expected-error@+2 {{no rule}}\n\n%0 = x", 3),
        ("%0 = x\n\n// expected-error@-2 {{no rule}}", 1),
        ("// expected-error@below {{no rule}}\n%0 = x", 2),
        ("%0 = x\n// expected-error@above {{no rule}}", 1),
        ("// expected-error @+1 {{no rule}}\n%0 = x", 2),
        ("// expected-error@unknown {{no rule}}", 7),
        ("// expected-error-re@+1 {{no rule for '{{[a-z]+}}'}}\n", 2),
    ],
)
def test_notation(text: str, line: int):
    assert unmet(expectations(text), [at(line)], "f.mlir") == []
    assert len(unmet(expectations(text), [at(line, severity="warning")], "f.mlir")) == 2
    assert len(unmet(expectations(text), [at(line, message="other")], "f.mlir")) == 2
    if "unknown" not in text:
        assert len(unmet(expectations(text), [at(line + 1)], "f.mlir")) == 2


def test_two_announcements_of_one_line():
    text = "// expected-error@below {{one}}\n// expected-remark@below {{two}}\n%0 = x"
    diagnostics = [at(3, "one"), at(3, "two", "remark")]
    assert unmet(expectations(text), diagnostics, "f.mlir") == []
    assert len(unmet(expectations(text), [*diagnostics, at(3, "one")], "f.mlir")) == 1


def test_braces_are_text_unless_re():
    assert unmet(expectations("x // expected-error {{a {b} [c]}}"), [at(1, "a {b} [c]")], "f.mlir") == []


def test_notes_are_announced_too():
    diagnostic = Diagnostic("no", "f.mlir:1:1", notes=(Diagnostic("because", "f.mlir:1:1", "note"),))
    assert len(unmet(expectations("x // expected-error {{no}}"), [diagnostic], "f.mlir")) == 1
    text = "x // expected-error {{no}}\n// expected-note@-1 {{because}}"
    assert unmet(expectations(text), [diagnostic], "f.mlir") == []


def test_first_line_shifts_the_lines():
    assert unmet(expectations("x // expected-error {{no}}", first_line=10), [at(10, "no")], "f.mlir") == []


MYSTERIES = """\
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @mystery(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @mystery(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @mystery(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


def test_a_remark_is_told_once(opt: Run):
    short = opt("--on-unsupported=unscale", stdin=MYSTERIES)
    (told,) = short.stderr.splitlines()
    assert told.startswith("<stdin>:2:8: remark: ") and "(and 2 times more; --all-remarks shows" in told
    every = opt("--on-unsupported=unscale", "--all-remarks", stdin=MYSTERIES)
    assert [each[:12] for each in every.stderr.splitlines()] == [f"<stdin>:{line}:8:" for line in (2, 3, 4)]
    assert every.output == short.output


def test_errors_are_all_told(opt: Run):
    result = opt(stdin=MYSTERIES)
    assert len(result.lines) > 1
    assert "times more" not in result.stderr
