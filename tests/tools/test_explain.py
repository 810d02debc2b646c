"""scalify-explain: the decisions of a rewriting, as text, JSON and HTML."""

import json
import pathlib
import re

import pytest
from click.testing import CliRunner
from scalify_hlo.tools.explain import main

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.emit.stamps import BY_LAW, REASONS
from scalify_hlo.errors import ScalifyError
from scalify_hlo.reports.explain import Explanation, as_text, explain, explained
from tests.training_programs import forward_text, train_step_text


@pytest.fixture(scope="module")
def step() -> Explanation:
    return explain(ir.Module.parse(train_step_text(), context=make_context()), "fp8")


def test_every_product_has_its_types_or_a_reason(step: Explanation) -> None:
    converted = [each for each in step.products if not each.reason]
    left = {each.reason for each in step.products if each.reason}
    assert len(converted) == 36 and len(step.products) == 51
    assert {each.types for each in converted} == {"f8E4M3FN x f8E4M3FN", "f8E5M2 x f8E4M3FN"}
    assert left == {"head (convert with head=true)", "has batch dimensions (convert with batched=true)"}
    assert all("training_programs.py:" in each.source for each in step.products)


def test_state_has_the_types_of_the_precision(step: Explanation) -> None:
    assert {(each.kind, each.type) for each in step.state} == {("parameter", "f16"), ("moment", "f32")}
    assert sum(each.kind == "parameter" for each in step.state) == 18


def test_tensors_have_rules_scales_and_estimates(step: Explanation) -> None:
    blocks = {each.block for each in step.tensors}
    assert {"softmax", "gradient of softmax", "gradient of normalisation"} <= blocks
    assert all(abs(each.log2_estimate) < 16 for each in step.tensors if each.log2_estimate == each.log2_estimate)
    assert len(step.rescales) == 1


def test_every_tensor_has_a_reason_that_the_documentation_explains(step: Explanation) -> None:
    given = {reason for each in step.tensors for reason in each.reason.split(", ")}
    assert {"law", "average", "update", "max at run time", "stream", "budget", "block"} <= given
    assert given <= {BY_LAW, *REASONS}
    assert " law, " in as_text(step, 0).splitlines()[2]
    page = (pathlib.Path(__file__).parents[2] / "docs" / "numerics.md").read_text()
    table = page.partition("## Reasons")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)) == sorted(REASONS)


def test_text_shows_the_furthest_or_all(step: Explanation) -> None:
    few, everything = as_text(step, 3).splitlines(), as_text(step, -1).splitlines()
    assert few[0] == "precision fp8: 36 of 51 products in FP8, 1 tensor rescaled at run time"
    assert len(everything) - len(few) == len(step.tensors) - 3


def test_files(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "forward.mlir"
    source.write_text(forward_text())
    done = CliRunner().invoke(
        main, [str(source), "--precision=fp16", f"--json={tmp_path / 'x.json'}", f"--html={tmp_path / 'x.html'}"]
    )
    assert done.exit_code == 0 and done.output.startswith("precision fp16: 0 of 17 products in FP8")
    content = json.loads((tmp_path / "x.json").read_text())
    assert {each["reason"] for each in content["products"]} == {"the precision has no FP8 products"}
    page = (tmp_path / "x.html").read_text()
    assert page.count("<tr class=") == sum(len(content[kind]) for kind in ("state", "products", "rescales", "tensors"))


def test_options_that_would_do_nothing_are_refused() -> None:
    for arguments, message in (
        (["--tensors=-5"], "-5 is not in the range"),
        (["--json=o", "--html=o"], "--json and --html would write one file: o"),
    ):
        done = CliRunner().invoke(main, ["-", *arguments], input="module {}")
        assert done.exit_code == 2 and message in done.output


def test_a_program_that_does_not_parse_gets_one_line(tmp_path: pathlib.Path) -> None:
    (tmp_path / "x.mlir").write_text("func.func @main(")
    done = CliRunner().invoke(main, [str(tmp_path / "x.mlir")])
    assert done.exit_code == 1 and done.output.count(": error: ") == 1 and "error" in done.output


def test_what_is_rewritten_already_cannot_be_explained() -> None:
    """It would say that no product is in FP8, which is wrong."""
    _, rewritten = explained(ir.Module.parse(train_step_text(), context=make_context()), "fp8")
    with pytest.raises(ScalifyError, match="its decisions are gone: explain the original"):
        explain(rewritten)


def test_operations_of_unregistered_dialects_on_request(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "mine.mlir"
    program.write_text(
        """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
          %y = "mine.operation"(%x) : (tensor<4xf32>) -> tensor<4xf32>
          return %y : tensor<4xf32>
        }"""
    )
    asked = [str(program), "--on-unsupported=unscale"]
    assert CliRunner().invoke(main, asked).exit_code
    shown = CliRunner().invoke(main, [*asked, "--allow-unregistered-dialect"])
    assert shown.exit_code == 0 and "mine.operation" in shown.output
