"""A reader of a rewritten program finds no arithmetic of scales that changes nothing."""

import collections
import functools
import gzip
import pathlib
import re

import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import ScalifyError
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from tests.redundancy import redundancies
from tests.shared_data import shared

LIT = pathlib.Path(__file__).parents[1] / "test" / "lit"
PRECISIONS = (None, "fp16", "fp8")
# What is left, and why. Each is told by program and precision, so that a new one is not hidden behind it.
KNOWN = {
    # A factor of the program itself, 0.5 or 1/4, beside one that a pass puts around what it rounds, after `scalify`.
    ("hf_llama_bf16_fwd", "fp8"): {"pair": 2},
    # Not looked into: one operation.
    ("hf_gptneo_f16_lossscale_train", None): {"inverse": 1},
}


def added(text: str, precision: str | None, context: ir.Context) -> dict[str, int] | None:
    """Kinds of redundancies that rewriting adds, with how many; None for what cannot be rewritten."""
    with context:
        try:
            module = ir.Module.parse(text)
            erase_dead(module)
            own = collections.Counter(each.kind for each in redundancies(module))
            precision_pipeline(precision).run(module, [])
        except (ScalifyError, ir.MLIRError):
            return None
        return dict(collections.Counter(each.kind for each in redundancies(module)) - own)


@functools.cache
def lit_programs() -> list[tuple[str, str]]:
    """The programs of the FileCheck tests, with their files' names."""
    return [
        (file.name, part)
        for file in sorted(LIT.rglob("*.mlir"))
        for part in re.split(r"^// -----$", file.read_text(), flags=re.MULTILINE)
    ]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_small_programs(precision: str | None) -> None:
    """Those of the FileCheck tests."""
    found, count = dict[str, collections.Counter[str]](), 0
    context = make_context()  # to make one takes longer than to rewrite such a program
    for name, text in lit_programs():
        kinds = added(text, precision, context)
        count += kinds is not None
        if kinds:
            found.setdefault(name, collections.Counter()).update(kinds)
    assert {name: dict(kinds) for name, kinds in found.items()} == {
        name: kinds for (name, known), kinds in KNOWN.items() if known == precision and name.endswith(".mlir")
    }
    assert count > 150


@pytest.mark.parametrize("precision", [None, "fp8"])
def test_programs_of_libraries(precision: str | None) -> None:
    """Every second program of the zoo in either precision, and those in which something is left."""
    files = sorted(shared("zoo").glob("public/*/exported.mlir.gz"))
    left = {name for name, known in KNOWN if known == precision}
    chosen = [f for i, f in enumerate(files) if i % 2 == (precision is None) or f.parent.name in left]
    found = {f.parent.name: added(gzip.decompress(f.read_bytes()).decode(), precision, make_context()) for f in chosen}
    assert {name: kinds for name, kinds in found.items() if kinds} == {
        name: kinds for (name, known), kinds in KNOWN.items() if known == precision and not name.endswith(".mlir")
    }
    assert sum(kinds is not None for kinds in found.values()) > len(found) / 2


EXAMPLES = {
    "extremum": "%a = stablehlo.minimum %one, %s : tensor<f32> %r = stablehlo.maximum %a, %two : tensor<f32>",
    "one": "%r = stablehlo.multiply %s, %one : tensor<f32>",
    "inverse": "%a = stablehlo.divide %x, %s : tensor<f32> %r = stablehlo.multiply %a, %s : tensor<f32>",
    "pair": "%a = stablehlo.multiply %x, %two : tensor<f32> %r = stablehlo.multiply %a, %two : tensor<f32>",
    "around": "%b = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<8xf32> "
    "%a = stablehlo.divide %v, %b : tensor<8xf32> "
    "%c = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] "
    ": (tensor<8xf32>, tensor<f32>) -> tensor<f32> %r = stablehlo.multiply %c, %two : tensor<f32>",
}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_each_kind_is_found(kind: str) -> None:
    """One program for each kind, and none in one without."""
    text = """func.func @main(%x: tensor<f32>, %s: tensor<f32>, %v: tensor<8xf32>) -> tensor<f32> {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %two = stablehlo.constant dense<2.0> : tensor<f32>
      {} return %r : tensor<f32> }}"""
    with make_context():
        module = ir.Module.parse(text.format(EXAMPLES[kind].replace(" %", "\n%") + "\n"))
        assert [each.kind for each in redundancies(module)] == [kind]
        clean = ir.Module.parse(text.format("%r = stablehlo.multiply %x, %two : tensor<f32>\n"))
        assert redundancies(clean) == []
