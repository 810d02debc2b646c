"""Flags that show what passes do, all on stderr."""

import re

import pytest

from tests.cli.conftest import PROGRAM, Run

HEADER = re.compile(r"^// -----// IR Dump (Before|After) (\S+)", re.MULTILINE)


def dumps(stderr: str) -> list[tuple[str, str]]:
    return [(moment, name.rstrip(":")) for moment, name in HEADER.findall(stderr)]


def test_before_and_after_all(opt: Run):
    before = opt("--mlir-print-ir-before-all", "--scalify", "--cse", stdin=PROGRAM)
    after = opt("--mlir-print-ir-after-all", "--scalify", "--cse", stdin=PROGRAM)
    assert dumps(before.stderr) == [("Before", "Scalify"), ("Before", "CSEPass")]
    assert dumps(after.stderr) == [("After", "Scalify"), ("After", "CSEPass")]
    assert "scalify.role" not in before.stderr.partition("CSEPass")[0]
    assert "scalify.role" in after.stderr.partition("CSEPass")[0]
    assert before.output == after.output


def test_after_change_leaves_out_idle_passes(opt: Run):
    result = opt("--mlir-print-ir-after-change", "--cse", "--scalify", "--symbol-dce", stdin=PROGRAM)
    printed = [block for block in result.stderr.split("// -----// ") if "func.func" in block]
    assert [re.match(r"IR Dump After (\w+)", block)[1] for block in printed] == ["Scalify"]  # type: ignore[index]


@pytest.mark.parametrize(("moment", "flag"), [("Before", "--mlir-print-ir-before"), ("After", "--mlir-print-ir-after")])
def test_around_chosen_passes(opt: Run, moment: str, flag: str):
    result = opt(f"{flag}=cse,scalify", "--cse", "--canonicalize", "--scalify", stdin=PROGRAM)
    assert dumps(result.stderr) == [(moment, "cse"), (moment, "scalify")]
    assert result.stderr.count("func.func @main") == 2
    assert ("scalify.role" in result.stderr) == (moment == "After")


def test_chosen_pass_inside_a_nested_pipeline(opt: Run):
    result = opt("--mlir-print-ir-after=cse", "--pass-pipeline=func.func(canonicalize,cse),symbol-dce", stdin=PROGRAM)
    assert dumps(result.stderr) == [("After", "cse")]


def test_debuginfo(opt: Run):
    assert "loc(" not in opt("--cse", stdin=PROGRAM).text
    result = opt("--cse", "--mlir-print-debuginfo", "--mlir-print-ir-after=cse", stdin=PROGRAM)
    assert 'loc("<stdin>":2:8)' in result.text
    assert 'loc("<stdin>":2:8)' in result.stderr


def test_generic_form(opt: Run):
    result = opt("--cse", "--mlir-print-op-generic", "--mlir-print-ir-after-all", stdin=PROGRAM)
    assert '"stablehlo.negate"(' in result.text
    assert '"stablehlo.negate"(' in result.stderr


def test_timing(opt: Run):
    result = opt("--mlir-timing", "--scalify", "--cse", stdin=PROGRAM)
    assert "Execution time report" in result.stderr
    assert re.search(r"\d+\.\d+ \(.*%\)  Scalify", result.stderr)
    assert "CSE" in result.stderr
    assert result.status == 0


def test_unregistered_dialect(opt: Run):
    source = """
      func.func @main(%n: tensor<i32>) -> tensor<i32> {
        %0 = "my.op"(%n) : (tensor<i32>) -> tensor<i32>
        return %0 : tensor<i32>
      }
    """
    assert "unregistered dialect" in opt(stdin=source).stderr
    assert '"my.op"' in opt("--allow-unregistered-dialect", stdin=source).text
