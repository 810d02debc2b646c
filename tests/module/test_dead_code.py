"""Nothing in an output is computed for nobody."""

import functools
import pathlib
import re

import jax
import jax.export
import pytest

from examples import gpt2
from scalify_hlo.analysis.calls import CallGraph, walk
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.passes.precision_pipeline import precision_pipeline

LIT = pathlib.Path(__file__).parents[2] / "test" / "lit"
PRECISIONS = (None, "fp16", "fp8", "bf16")
TINY = gpt2.GPT2Config(layers=1, width=16, heads=2, context=8, vocabulary=32)


@functools.cache
def inputs() -> list[str]:
    """The programs of the FileCheck tests."""
    files = sorted(LIT.rglob("*.mlir"))
    return [part for file in files for part in re.split(r"^// -----$", file.read_text(), flags=re.MULTILINE)]


def dead(module: ir.Module) -> list[str]:
    """What can be erased, erased: the operations that are left of which the text of the module tells."""
    before = [op.name for op in walk(module.operation)]
    erase_dead(module)
    after = [op.name for op in walk(module.operation)]
    for name in after:
        before.remove(name)
    return before


@pytest.mark.parametrize("precision", PRECISIONS)
def test_no_rewritten_program_computes_what_nobody_reads(precision: str | None) -> None:
    """Of the programs of the FileCheck tests, a part for each precision."""
    pipeline, found, count = precision_pipeline(precision), dict[str, list[str]](), 0
    context = make_context()  # to make one takes longer than to rewrite such a program
    for text in inputs()[PRECISIONS.index(precision) :: len(PRECISIONS)]:
        with context:
            try:
                module = ir.Module.parse(text)
                erase_dead(module)  # its own
                pipeline.run(module, [])
            except (ScalifyError, ir.MLIRError):
                continue
            left = dead(module)
            assert module.operation.verify()
        count += 1
        if left:
            found[text[:200]] = left
    assert found == {}
    assert count > 100


def test_no_dead_operation_in_an_fp8_training_step() -> None:
    """Transposes of weights were left behind by the conversion of their products."""
    step = jax.export.export(gpt2.make_train_step(TINY))(*gpt2.argument_shapes(TINY, 2)).mlir_module()
    with make_context():
        module = ir.Module.parse(step)
        precision_pipeline("fp8").run(module, [])
        assert "f8E4M3FN" in str(module)
        assert dead(module) == []


PROGRAM = """
module {
  func.func public @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
    %unread = stablehlo.tanh %x : tensor<4xf32>
    %feeds = stablehlo.sine %x : tensor<4xf32>
    %called = func.call @outer(%feeds) : (tensor<4xf32>) -> tensor<4xf32>
    %loop = stablehlo.while(%i = %x) : tensor<4xf32>
    cond { stablehlo.return %p : tensor<i1> }
    do { %n = stablehlo.add %i, %i : tensor<4xf32>
         stablehlo.return %n : tensor<4xf32> }
    %effect = func.call @prints(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %branch = "stablehlo.if"(%p) ({
      %inside = stablehlo.cosine %x : tensor<4xf32>
      stablehlo.return %x : tensor<4xf32>
    }, {
      %read = stablehlo.negate %x : tensor<4xf32>
      stablehlo.return %read : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %branch : tensor<4xf32>
  }
  func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
  func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }
  func.func private @prints(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = stablehlo.custom_call @show(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
"""


def test_what_goes_and_what_stays() -> None:
    """A call of a function with an effect stays; loops, calls, what feeds them, functions without a caller go."""
    with make_context():
        module = ir.Module.parse(PROGRAM)
        assert erase_dead(module) == 5
        assert sorted(CallGraph(module).functions) == ["main", "prints"]
        left = [op.name for op in walk(module.operation) if op.name.startswith("stablehlo.")]
        assert left == [
            "stablehlo.if", "stablehlo.return", "stablehlo.negate", "stablehlo.return", "stablehlo.custom_call",
        ]  # fmt: skip
        assert erase_dead(module) == 0


def test_numbers_from_a_generator_and_collectives_stay() -> None:
    text = """
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %sum = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<4xf32>) -> tensor<4xf32>
      return %x : tensor<4xf32>
    }"""
    with make_context():
        module = ir.Module.parse(text)
        assert erase_dead(module) == 0
