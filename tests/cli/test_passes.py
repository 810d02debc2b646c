"""Pass flags, pipelines and the options of the `scalify` pass."""

import dataclasses
import pathlib
import re
from typing import ClassVar

import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes import PASSES, Pass, Scalify
from scalify_hlo.passes.pipeline import parse_pipeline
from scalify_hlo.passes.textual import TEXTUAL_PASSES
from tests.cli.conftest import PROGRAM, Run

SCALES = 'scalify.role = "scale"'

TWICE = """\
func.func @main(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.negate %x : tensor<4xf32>
  %1 = stablehlo.negate %x : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
"""


def test_the_default_pipeline_scalifies(opt: Run):
    assert opt(stdin=PROGRAM).text.count(SCALES) == 2


def test_without_scaled_arguments_the_output_is_the_input(opt: Run):
    untouched = opt("--pass-pipeline=builtin.module()", stdin=PROGRAM)
    assert opt("--args=none", stdin=PROGRAM).output == untouched.output


def test_flags_run_in_their_order(opt: Run):
    result = opt("--cse", "--scalify", "--canonicalize", "--dump-pass-pipeline", stdin=TWICE)
    pipeline = result.stderr
    assert pipeline.index("cse") < pipeline.index("scalify") < pipeline.index("canonicalize")
    assert result.text.count("stablehlo.negate") == 1


def test_a_flag_can_be_given_twice(opt: Run):
    assert opt("--cse", "--canonicalize", "--cse", "--dump-pass-pipeline", stdin=TWICE).stderr.count("cse,") == 1
    assert opt("--cse", "--cse", "--dump-pass-pipeline", stdin=TWICE).stderr == "builtin.module(cse,cse)\n"


def test_flags_of_other_passes_leave_scalify_out(opt: Run):
    assert SCALES not in opt("--cse", stdin=TWICE).text


@pytest.mark.parametrize("name", TEXTUAL_PASSES)
def test_every_textual_pass_runs(opt: Run, name: str):
    assert opt(f"--{name}", stdin=TWICE).status == 0


def test_passes_on_functions_are_nested_by_themselves():
    assert str(parse_pipeline("chlo-legalize-to-stablehlo")) == "builtin.module(func.func(chlo-legalize-to-stablehlo))"


def test_a_module_has_no_options_in_a_pipeline():
    assert parse_pipeline("builtin.module(scalify)").elements
    with pytest.raises(ScalifyError):
        parse_pipeline("builtin.module{x=1}(scalify)")


def test_inline_inlines(opt: Run):
    source = """
      func.func @main(%x: tensor<i32>) -> tensor<i32> {
        %0 = call @f(%x) : (tensor<i32>) -> tensor<i32>
        return %0 : tensor<i32>
      }
      func.func private @f(%x: tensor<i32>) -> tensor<i32> {
        %0 = stablehlo.negate %x : tensor<i32>
        return %0 : tensor<i32>
      }
    """
    text = opt("--inline", "--symbol-dce", stdin=source).text
    assert "call" not in text
    assert "stablehlo.negate" in text


def test_pass_pipeline_mixes_python_and_textual_passes(opt: Run):
    result = opt("--pass-pipeline=builtin.module(cse,scalify{args=0},func.func(canonicalize),symbol-dce)", stdin=TWICE)
    assert result.text.count("stablehlo.negate") == 1
    assert SCALES in result.text


def test_dumped_pipeline_reads_back(opt: Run):
    dumped = opt("--pass-pipeline=scalify{rounding=up plain-results},cse", "--dump-pass-pipeline", stdin=PROGRAM).stderr
    assert "rounding=up" in dumped
    assert "plain-results=true" in dumped
    assert opt(f"--pass-pipeline={dumped.strip()}", "--dump-pass-pipeline", stdin=PROGRAM).stderr == dumped


def test_flags_are_the_defaults_of_the_pass_options(opt: Run):
    flags = ["--rounding=up", "--args=none", "--dump-pass-pipeline"]
    assert "rounding=up" in opt(*flags, stdin=PROGRAM).stderr
    assert "args=none" in opt(*flags, "--scalify", stdin=PROGRAM).stderr
    both = opt(*flags, "--scalify=args=0 rounding=nearest", stdin=PROGRAM).stderr
    assert "args=0" in both
    assert "rounding=nearest" in both


VALUES = {
    "args": "0,2-3",
    "scaled-types": "f16,bf16",
    "scale-dims": "all=-1",
    "plain-results": "true",
    "result-scales": "shaped",
    "scale-dtype": "e8m0",
    "rounding": "none",
    "rules": "paper",
    "recognise": "none",
    "statistics": "own",
    "on-unsupported": "unscale",
    "slack": "0.5",
    "print-rules": "true",
    "mark-state": "true",
    "mark-tensors": "true",
    "vector-scales": "false",
}


def test_every_option_has_a_flag_and_a_place_in_the_pipeline(opt: Run):
    """A new field of ScalifyOptions has to be added to VALUES."""
    names = [field.name.replace("_", "-") for field in dataclasses.fields(ScalifyOptions)]
    assert set(names) == set(VALUES)
    source = "func.func @main(%n: tensor<i32>) -> tensor<i32> {\n  return %n : tensor<i32>\n}"
    values = {name: VALUES[name] for name in names if name != "args"}
    by_pipeline = " ".join(f"{name}={value}" for name, value in values.items())
    switches = {"true": "--", "false": "--no-"}
    by_flag = [f"{switches[v]}{name}" if v in switches else f"--{name}={v}" for name, v in values.items()]
    assert f"scalify{{args=all {by_pipeline}}}" in opt(*by_flag, "--dump-pass-pipeline", stdin=source).stderr
    assert opt(f"--pass-pipeline=scalify{{{by_pipeline}}}", stdin=source).status == 0


def test_args_by_name_and_index(opt: Run):
    source = """
      func.func @main(%0: tensor<f32> loc("p['w']"), %1: tensor<f32> loc("p['b']"), %2: tensor<f32> loc("x"))
          -> (tensor<f32>, tensor<f32>, tensor<f32>) {
        return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
      }
    """

    def scaled(args: str) -> int:
        text = opt(f"--args={args}", "--plain-results", stdin=source).text
        return text.partition("->")[0].count(SCALES)

    assert [scaled(args) for args in ("all", "none", "0", "0,2", "1-2", "p*", "x")] == [3, 0, 1, 2, 2, 2, 1]


def test_argument_attributes_override_args(opt: Run):
    source = """
      func.func @main(%0: tensor<f32> {scalify.scaled}, %1: tensor<f32> {scalify.plain}) -> (tensor<f32>, tensor<f32>) {
        return %0, %1 : tensor<f32>, tensor<f32>
      }
    """
    none, every = opt("--args=none", stdin=source).text, opt("--args=all", stdin=source).text
    assert none.partition("->")[0].count(SCALES) == every.partition("->")[0].count(SCALES) == 1


LAYER = """
  func.func @main(%0: tensor<8x4xf32> loc("p['w']"), %1: tensor<4xf32> loc("p['b']"), %2: tensor<2x8xf32> loc("x"))
      -> (tensor<2x4xf32>, tensor<8x4xf32>) {
    %3 = stablehlo.dot_general %2, %0, contracting_dims = [1] x [0]
      : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %4 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<4xf32>) -> tensor<2x4xf32>
    %5 = stablehlo.add %3, %4 : tensor<2x4xf32>
    return %5, %0 : tensor<2x4xf32>, tensor<8x4xf32>
  }
"""


def scale_types(text: str) -> list[str]:
    """The types of the scales of arguments and results."""
    return re.findall(r'tensor<([^<>]*)> \{scalify.role = "scale"', text)


def test_scales_with_a_shape(opt: Run):
    """One scale for each output channel of the weights; what is computed from them has one too."""

    def types(*flags: str) -> list[str]:
        return scale_types(opt("--result-scales=shaped", *flags, stdin=LAYER).text)

    assert types() == ["f32"] * 5
    assert types("--scale-dims=p['w']=-1") == ["1x4xf32", "f32", "f32", "1x4xf32", "1x4xf32"]
    assert types("--scale-dims=p*=-1,2=0+1") == ["1x4xf32", "4xf32", "2x8xf32", "2x4xf32", "1x4xf32"]
    assert types("--scale-dims=all=1") == ["1x4xf32", "f32", "1x8xf32", "1x4xf32", "1x4xf32"]
    assert types("--scale-dims=0=1", "--result-scales=scalar") == ["1x4xf32", "f32", "f32", "f32", "f32"]
    assert types("--pass-pipeline=scalify{scale-dims=0=1,2=0 result-scales=shaped}") == [
        "1x4xf32",
        "f32",
        "2x1xf32",
        "2x4xf32",
        "1x4xf32",
    ]


def test_scale_shape_attributes_override_the_options(opt: Run):
    source = """
      func.func @main(%0: tensor<8x4xf32> {scalify.scale_shape = array<i64: 1, 4>},
                      %1: tensor<8x4xf32> {scalify.scale_shape = array<i64>})
          -> (tensor<8x4xf32> {scalify.scale_shape = array<i64: 8, 4>}, tensor<8x4xf32>,
              tensor<8x4xf32> {scalify.scale_shape = array<i64>}) {
        return %0, %1, %0 : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
      }
    """
    text = opt("--scale-dims=all=0", stdin=source).text
    assert scale_types(text) == ["1x4xf32", "f32", "8x4xf32", "f32", "f32"]
    assert "scale_shape" not in text


def test_plain_results(opt: Run):
    text = opt("--plain-results", stdin=PROGRAM).text
    assert SCALES in text.partition("->")[0]
    assert SCALES not in text.partition("->")[2]


def test_scaled_types(opt: Run):
    assert SCALES not in opt("--scaled-types=f16,bf16", stdin=PROGRAM).text


def test_result_scales(opt: Run):
    source = """
      func.func @main(%0: tensor<4x2xf32> {scalify.scale_shape = array<i64: 4, 1>}) -> tensor<4x2xf32> {
        return %0 : tensor<4x2xf32>
      }
    """
    assert (
        "tensor<4x1xf32>" not in opt("--result-scales=scalar", stdin=source).text.partition("->")[2].partition("{\n")[0]
    )
    assert "tensor<4x1xf32> {" in opt("--result-scales=shaped", stdin=source).text.partition("->")[2]


def test_scale_dtype(opt: Run):
    assert "tensor<f8E8M0FNU> {scalify.role" in opt("--scale-dtype=e8m0", stdin=PROGRAM).text


def test_print_rules(opt: Run):
    text = opt("--print-rules", stdin=PROGRAM).text
    assert "scalify.rule" in text
    assert "scalify.scale" in text


def test_print_rules_says_the_reasons_as_remarks(opt: Run):
    """One line for each reason, or with --all-remarks one for each operation."""
    source = """\
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %y : tensor<4xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<4xf32>
  %2 = stablehlo.add %1, %z : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""
    assert "remark" not in opt(stdin=source).stderr
    once = opt("--print-rules", stdin=source).stderr
    assert once.count("remark: scale by: ") == 1
    assert ":2:8: remark: scale by: max at run time (and 1 times more; --all-remarks shows each place)" in once
    each = opt("--print-rules", "--all-remarks", stdin=source).stderr
    assert [f":{line}:8: remark: scale by: max at run time\n" in each for line in (2, 4)] == [True, True]


UNSUPPORTED = """\
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @mystery(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @riddle(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""


def test_on_unsupported_error_lists_every_operation(opt: Run):
    result = opt("--on-unsupported=error", stdin=UNSUPPORTED)
    assert result.status == 1
    lines = result.lines
    assert [line.split(": error: ")[0] for line in lines] == ["<stdin>:2:8", "<stdin>:3:8"]


CHAIN = """\
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %0 = stablehlo.custom_call @one(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @two(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.custom_call @three(%1) : (tensor<4xf32>) -> tensor<4xi32>
  %3 = stablehlo.convert %2 : (tensor<4xi32>) -> tensor<4xf32>
  %4 = stablehlo.custom_call @unscaled(%3) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = func.call @inner(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %6:2 = stablehlo.while(%i = %n, %c = %5) : tensor<i32>, tensor<4xf32>
    cond {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %8 = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    } do {
      %9 = stablehlo.custom_call @five(%c) : (tensor<4xf32>) -> tensor<4xf32>
      %10 = stablehlo.custom_call @six(%9) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %i, %10 : tensor<i32>, tensor<4xf32>
    }
  %7 = stablehlo.add %6#1, %4 : tensor<4xf32>
  return %7, %2 : tensor<4xf32>, tensor<4xi32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @four(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_a_chain_of_unsupported_operations_is_listed_to_its_end(opt: Run):
    """What follows an unsupported operation is examined too; what no scaled value reaches is not listed."""
    result = opt(stdin=CHAIN)
    assert result.status == 1
    targets = [line.split("custom call '")[1].split("'")[0] for line in result.lines]
    assert targets == ["one", "two", "three", "four", "five", "six"]


def test_on_unsupported_unscale_remarks(opt: Run):
    result = opt("--on-unsupported=unscale", stdin=UNSUPPORTED)
    assert result.status == 0
    assert "<stdin>:2:8: remark: " in result.stderr
    assert "@mystery" in result.text


@dataclasses.dataclass(frozen=True)
class Breaking(Pass):
    """Leaves a module that does not verify."""

    name: ClassVar[str] = "test-breaking"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:  # noqa: ARG002
        with module.context, ir.Location.unknown(), ir.InsertionPoint.at_block_begin(module.body):
            ir.Operation.create("stablehlo.negate", results=[ir.RankedTensorType.get([], ir.F32Type.get())])


def test_verify_each(opt: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(PASSES, Breaking.name, Breaking)
    assert "requires a single operand" in opt("--test-breaking", stdin=PROGRAM).error_line()
    # Without the verifier a pass behind it still runs; the printer then shows the broken module.
    late = opt("--test-breaking", "--no-verify-each", stdin=PROGRAM)
    assert late.status == 0
    assert '"stablehlo.negate"() : () -> tensor<f32>' in late.text


@dataclasses.dataclass(frozen=True)
class Remarking(Pass):
    """Says something about the module."""

    name: ClassVar[str] = "test-remarking"

    # How often.
    times: int = 1
    # Which words.
    words: tuple[str, ...] = ("hello",)

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:  # noqa: ARG002
        remarks += [Diagnostic(" ".join(self.words), severity="remark")] * self.times


def test_a_new_pass_needs_its_dataclass_only(opt: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(PASSES, Remarking.name, Remarking)
    result = opt("--test-remarking=times=2 words=a,b", "--all-remarks", stdin=PROGRAM)
    assert result.stderr == "<stdin>:1:1: remark: a b\n" * 2
    assert result.status == 0


def test_an_error_stops_the_pipeline(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(PASSES, Remarking.name, Remarking)
    module = ir.Module.parse(UNSUPPORTED, context=make_context())
    remarks: list[Diagnostic] = []
    with pytest.raises(ScalifyError, match="mystery"):
        parse_pipeline("scalify,test-remarking").run(module, remarks)
    assert remarks == []


def test_defaults_reach_only_the_pass_of_their_name():
    pipeline = parse_pipeline("cse,scalify{args=1}", [Scalify(args="none", rounding="up")])
    assert pipeline.elements[1] == Scalify(args="1", rounding="up")


def test_output_is_deterministic(opt: Run, program_file: pathlib.Path):
    assert opt(program_file).output == opt(program_file).output
