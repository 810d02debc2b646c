"""Programs of sizes that no recursion, no quadratic step and no reader of constants may stand in the way of."""

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks import rewriting_limits
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine import inlining
from scalify_hlo.errors import ScalifyError
from scalify_hlo.in_place import scalify_in_place
from scalify_hlo.passes import private_functions
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.rewrite import rewrite_module
from tests.support import check_program

SIZES: dict[Callable[[int], str], int] = {
    rewriting_limits.chain: 10_000,
    rewriting_limits.sums: 300,
    rewriting_limits.functions: 2_000,
    rewriting_limits.nested_calls: 2_000,
    rewriting_limits.nested_regions: 150,
    rewriting_limits.branches: 1_500,
    rewriting_limits.arguments: 2_000,
    rewriting_limits.layers: 48,
    rewriting_limits.constant: 16,
}


@pytest.mark.parametrize(("make", "size"), SIZES.items(), ids=lambda each: getattr(each, "__name__", str(each)))
def test_size(make: Callable[[int], str], size: int):
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(make(size))
        before = sum(1 for op in module.body.operations for _ in op.operation.regions[0].blocks[0].operations)
        scalify_in_place(module)
        assert module.operation.verify()
        after = sum(1 for op in module.body.operations for _ in op.operation.regions[0].blocks[0].operations)
    assert after < 12 * before, "what is emitted grows with the program, not with its depth"


def test_high_powers_of_a_scale_in_f16():
    """x^(2^30): its scale was emitted as a product of a billion factors, and its power of two by millions of steps."""
    text = rewriting_limits.chain(120).replace("f32", "f16")
    assert rewrite_module(text).count("\n") < 2_000


@pytest.mark.parametrize("power", [9, 12, 17, 31])
def test_powers_of_a_scale_by_squaring(power: int):
    lines = "".join(f"  %{i + 1} = stablehlo.multiply %{i}, %0 : tensor<2xf32>\n" for i in range(power - 1))
    check_program(
        f"func.func @main(%0: tensor<2xf32>) -> tensor<2xf32> {{\n{lines}  return %{power - 1} : tensor<2xf32>\n}}",
        [np.array([1.25, -0.75], np.float32)],
        [2.0**3],
    )


@pytest.mark.parametrize("make", [rewriting_limits.nested_calls, rewriting_limits.layers])
def test_the_passes_of_a_precision_go_as_deep(make: Callable[[int], str]):
    with make_context(), ir.Location.unknown():
        text = make(40 if make is rewriting_limits.layers else 600)
        module = ir.Module.parse(text.replace("tensor<4xf32>", "tensor<4x8xf32>"))  # one number a row stays in f32
        precision_pipeline("fp16").run(module, [])
        assert ("f16" in str(module)) == (make is rewriting_limits.layers)  # the others have nothing in memory


def test_calls_that_stand_for_too_much_are_refused(monkeypatch: pytest.MonkeyPatch):
    """Sixty functions, each of which calls the next one twice, had a copy for each of the 2^60 calls made of them."""
    monkeypatch.setattr(private_functions, "_MOST_COPIED", 1_000)
    matrix = "tensor<4x8xf32>"
    calls = "".join(
        f"""func.func private @f{i}(%0: {matrix}) -> {matrix} {{
          %1 = call @f{i + 1}(%0) : ({matrix}) -> {matrix}
          %2 = call @f{i + 1}(%1) : ({matrix}) -> {matrix}
          return %2 : {matrix}
        }}
        """ for i in range(60)
    )  # fmt: skip
    text = f"""func.func @main(%0: {matrix}) -> {matrix} {{
      %1 = call @f0(%0) : ({matrix}) -> {matrix}
      return %1 : {matrix}
    }}
    {calls}func.func private @f60(%0: {matrix}) -> {matrix} {{
      %1 = stablehlo.tanh %0 : {matrix}
      return %1 : {matrix}
    }}"""
    with make_context(), ir.Location.unknown(), pytest.raises(ScalifyError, match="more than 1,000,000 operations"):
        precision_pipeline("fp16").run(ir.Module.parse(text), [])
    assert rewrite_module(text).count("func.func") < 70


def test_functions_called_once_are_moved_once(monkeypatch: pytest.MonkeyPatch):
    """Of calls in calls the innermost was moved first, and again with each function around it."""
    moved: list[str] = []
    name_behind = inlining._name_behind
    monkeypatch.setattr(inlining, "_name_behind", lambda *given: (moved.append(given[1].name), name_behind(*given)))
    vector = "tensor<4xf32>"
    functions = "".join(
        f"""func.func private @f{i}(%0: {vector}) -> {vector} {{
          %1 = stablehlo.tanh %0 : {vector}
          %2 = call @f{i + 1}(%1) : ({vector}) -> {vector}
          %3 = stablehlo.add %2, %0 : {vector}
          return %3 : {vector}
        }}
        """ for i in range(300)
    )  # fmt: skip
    last = f"func.func private @f300(%0: {vector}) -> {vector} {{ return %0 : {vector} }}"
    main = f"""func.func @main(%0: {vector}) -> {vector} {{
      %1 = call @f0(%0) : ({vector}) -> {vector}
      return %1 : {vector}
    }}"""
    text = rewrite_module(functions + last + main)
    assert text.count("stablehlo.tanh") == 300 and "call @" not in text
    assert len(moved) == 900
