"""Programs of sizes that no recursion, no quadratic step and no reader of constants may stand in the way of."""

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks import rewriting_limits
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.rewrite import rewrite_module, scalify_in_place
from tests.support import check_program

SIZES: dict[Callable[[int], str], int] = {
    rewriting_limits.chain: 10_000,
    rewriting_limits.sums: 300,
    rewriting_limits.functions: 2_000,
    rewriting_limits.nested_calls: 2_000,
    rewriting_limits.nested_regions: 150,
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
        assert "f16" in str(module)
