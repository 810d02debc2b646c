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
    assert dumps(result.stderr) == [(moment, "cse"), (moment, "Scalify")]
    assert result.stderr.count("func.func @main") == 2
    assert ("scalify.role" in result.stderr) == (moment == "After")


def test_chosen_pass_inside_a_nested_pipeline(opt: Run):
    result = opt("--mlir-print-ir-after=cse", "--pass-pipeline=func.func(canonicalize,cse),symbol-dce", stdin=PROGRAM)
    assert dumps(result.stderr) == [("After", "func.func")]
    assert "func.func(canonicalize,cse)" in result.stderr.splitlines()[0]


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


def test_headers_are_those_of_mlir(opt: Run):
    """Around chosen passes as around all of them."""
    chosen = opt("--mlir-print-ir-after=scalify", "--scalify", "--cse", stdin=PROGRAM)
    every = opt("--mlir-print-ir-after-all", "--scalify", "--cse", stdin=PROGRAM)
    (header,) = re.findall("// -----// .*", chosen.stderr)
    assert header == re.findall("// -----// .*", every.stderr)[0]


@pytest.mark.parametrize("flag", ["--mlir-print-ir-before", "--mlir-print-ir-after"])
def test_an_unknown_pass_is_refused(opt: Run, flag: str):
    line = opt(f"{flag}=cse,scalifi", stdin=PROGRAM).error_line()
    assert line == f"{flag}:1:5: error: there is no pass 'scalifi'; did you mean 'scalify'?"


CONSTANT = """\
func.func @main(%x: tensor<4xi32> loc("x")) -> tensor<4xi32> {
  %0 = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %1 = stablehlo.add %x, %0 : tensor<4xi32> loc("sum"("f.py":3:4))
  return %1 : tensor<4xi32>
}
"""


def test_large_constants_are_elided(opt: Run):
    flags = ("--cse", "--mlir-print-ir-after=cse")
    for limit, elided in ((3, True), (4, False)):
        result = opt(f"--mlir-elide-elementsattrs-if-larger={limit}", *flags, stdin=CONSTANT)
        assert ("__elided__" in result.text) == ("__elided__" in result.stderr) == elided
    every = opt("--mlir-elide-elementsattrs-if-larger=3", "--mlir-print-ir-after-all", stdin=CONSTANT)
    assert "__elided__" in every.stderr


def test_local_scope(opt: Run):
    flags = ("--cse", "--mlir-print-debuginfo")
    assert "#loc" in opt(*flags, stdin=CONSTANT).text
    local = opt(*flags, "--mlir-print-local-scope", stdin=CONSTANT).text
    assert "#loc" not in local and 'loc("sum"("f.py":3:4))' in local


def test_values_named_by_their_locations(opt: Run):
    assert "%sum = stablehlo.add %x, " in opt("--cse", "--mlir-use-nameloc-as-prefix", stdin=CONSTANT).text
