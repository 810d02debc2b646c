"""scalify-health --overlay: the files for Model Explorer, with the node ids of its own adapter."""

import importlib.util
import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from click.testing import CliRunner
from scalify_hlo.tools.explain import main as explain
from scalify_hlo.tools.health import main

PROGRAM = """
func.func @main(%x: tensor<4x16xf32>, %w: tensor<16x8xf32>) -> tensor<4x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32> loc("layer/product")
  %loop:2 = stablehlo.while(%i = %zero, %carry = %y) : tensor<i32>, tensor<4x8xf32> cond {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %more = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %step = func.call @inner(%carry) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    stablehlo.return %next, %step : tensor<i32>, tensor<4x8xf32>
  }
  return %loop#1 : tensor<4x8xf32>
}
func.func private @inner(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = stablehlo.negate %x : tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}"""
SHOW = """
import sys, ai_edge_model_explorer_adapter as adapter
print(adapter.ConvertMlirToJson(adapter.VisualizeConfig(), sys.argv[1]))
"""
KINDS = ("log2_rms", "log2_amax", "log2_scale", "underflow", "overflow", "product")


def results(path: pathlib.Path, kind: str) -> dict[str, Any]:
    return json.loads(path.with_suffix(f".{kind}.json").read_text())["main"]["results"]


def test_values_are_at_the_nodes_of_their_operations(tmp_path: pathlib.Path) -> None:
    if importlib.util.find_spec("ai_edge_model_explorer_adapter") is None:
        pytest.skip("Model Explorer's adapter is not here")
    file = tmp_path / "x.mlirbc"
    done = CliRunner().invoke(main, ["-", "--precision=fp16", f"--overlay={file}"], input=PROGRAM)
    assert done.exit_code == 0, done.output
    read = subprocess.run([sys.executable, "-c", SHOW, file], check=True, capture_output=True, text=True)
    graph = json.loads(read.stdout)[0]["subgraphs"][0]
    nodes = {node["id"]: node for node in graph["nodes"]}
    assert not any("scalify.tensor" in str(node["attrs"]) for node in nodes.values())  # no marks
    for kind in KINDS:
        assert results(file, kind).keys() <= nodes.keys()
    labels = [nodes[each]["label"] for each in results(file, "log2_rms")]
    assert labels.count("stablehlo.dot_general") == labels.count("stablehlo.negate") == 1
    assert {"arg0", "arg2"} <= results(file, "log2_scale").keys()  # data of the two arguments, not their scales
    (product,) = results(file, "product").items()
    assert product[1]["value"] == "f16 x f16 -> f32" and nodes[product[0]]["label"] == "stablehlo.dot_general"
    # What the table says of the product is at its node.
    row = next(line for line in done.output.splitlines() if line.startswith("layer/product"))
    assert f"2^{results(file, 'log2_rms')[product[0]]['value']:.1f}" in row


def test_decisions_are_at_the_nodes_of_their_operations(tmp_path: pathlib.Path) -> None:
    if importlib.util.find_spec("ai_edge_model_explorer_adapter") is None:
        pytest.skip("Model Explorer's adapter is not here")
    file = tmp_path / "x.mlirbc"
    done = CliRunner().invoke(explain, ["-", "--precision=fp16", f"--overlay={file}", "--json=-"], input=PROGRAM)
    assert done.exit_code == 0, done.output
    read = subprocess.run([sys.executable, "-c", SHOW, file], check=True, capture_output=True, text=True)
    nodes = {node["id"]: node for node in json.loads(read.stdout)[0]["subgraphs"][0]["nodes"]}
    (product,) = results(file, "product")
    assert nodes[product]["label"] == "stablehlo.dot_general"
    decided = next(t for t in json.loads(done.output)["tensors"] if t["operation"] == "stablehlo.dot_general")
    for kind in ("rule", "scale", "reason"):
        assert results(file, kind)[product]["value"] == decided[kind]
    assert results(file, "log2_estimate")[product]["value"] == pytest.approx(decided["log2_estimate"], rel=1e-3)


def test_without_the_adapter_one_line_before_the_program_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalify_hlo.reports.overlay._ADAPTER", "no_such_library")
    done = CliRunner().invoke(main, ["-", "--overlay=x.mlirbc"], input=PROGRAM)
    assert done.exit_code == 1 and done.output.count("\n") == 1
    assert "pip install ai-edge-model-explorer-adapter" in done.output


def test_another_ending_is_refused() -> None:
    done = CliRunner().invoke(main, ["-", "--overlay=x.json"], input=PROGRAM)
    assert done.exit_code == 2 and "end in .mlirbc" in done.output
