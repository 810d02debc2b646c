"""Random programs over all families: the rewritten one gives what the original gives (promises P1 to P3 and P5).

f32 and bf16: the original's bits, on the reference interpreter, but for elements that data at the result's scale cannot
hold, smaller than the smallest normal number times that scale. f16, with scales at which f16 cannot hold the values:
within the error bound of `tests.graphs.bounds` around the exact value.

SCALIFY_PROPERTY_EXAMPLES sets how many programs each test draws: 1,000 by default. The largest run so far, 5,000 for
each test with each of --hypothesis-seed=201 to 210, drew 50,000 programs in f32 and more than 40,000 in f16 (two seeds
ended at a fault). It found three faults of the rewriter, scales of results that were 0, or infinite because a product
was formed before a quotient or before its root was taken, and one of the bounds. With these mended, seeds 201 to 204
and 206 to 209 were run again, 40,000 programs in each type, and found none.
"""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.element_types import NUMPY_DTYPES
from scalify_hlo.execution.inputs import recombine
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.options import Rounding, ScalifyOptions
from scalify_hlo.rewrite import rewrite_module
from tests.graphs.bounds import agreement
from tests.graphs.drawing import SETTINGS, options, same_bits_at_scale
from tests.graphs.graph import Program
from tests.graphs.programs import F16_EXPONENTS, F32_EXPONENTS, programs
from tests.support import same_bits

_CONTEXT = make_context()


def rewritten(text: str, chosen: ScalifyOptions) -> str:
    with _CONTEXT, ir.Location.unknown():
        module = ir.Module.parse(text)
        rewrite_module(module, chosen)
        assert module.operation.verify()
        return module.operation.get_asm(enable_debug_info=False)


def run_pairs(text: str, program: Program, element: str, scaled: list[bool]) -> list[tuple[np.ndarray, float]]:
    """The results of a rewritten program, recombined in f64, and their scales; predicates as they are, at scale 0."""
    dtype = NUMPY_DTYPES[element]
    arrays: list[np.ndarray] = []
    for data, exponent, is_scaled in zip(program.data, program.exponents, scaled, strict=True):
        if is_scaled:
            arrays += [data.astype(dtype), np.asarray(np.ldexp(1.0, exponent), np.float32)]
        else:
            arrays.append(np.ldexp(data, exponent).astype(dtype))
    found = iter(interpret(text, arrays))
    results: list[tuple[np.ndarray, float]] = []
    for node in program.results:
        value, scale = next(found), np.float32(0)
        if node.is_float and any(scaled):
            scale = next(found)
            assert np.isfinite(scale), text
            assert np.frexp(scale)[0] == 0.5, f"{node.name}: the scale {scale} is no power of two\n{text}"
            value = recombine(value, scale)
        results.append((value, float(scale)))
    return results


@pytest.mark.parametrize("element", ["f32", "bf16"])
@SETTINGS
@given(program=programs(F32_EXPONENTS), chosen=options, plain=st.sets(st.integers(0, 3)))
def test_programs_have_the_same_bits(element: str, program: Program, chosen: ScalifyOptions, plain: set[int]) -> None:
    text = program.text(element)
    dtype = NUMPY_DTYPES[element]
    values = [np.ldexp(d, e).astype(dtype) for d, e in zip(program.data, program.exponents, strict=True)]
    expected = interpret(text, values)
    scaled = [i not in plain for i in range(len(values))]
    args = ",".join(str(i) for i, is_scaled in enumerate(scaled) if is_scaled) or "none"
    new = rewritten(text, dataclasses.replace(chosen, args=args))
    for node, (got, scale), want in zip(
        program.results, run_pairs(new, program, element, scaled), expected, strict=True
    ):
        agree = same_bits_at_scale(got.astype(dtype), scale, want) if node.is_float else same_bits(got, want)
        assert agree.all(), f"{node.name}: {got}, expected {want}\n{text}\n{chosen}\n{new}"


@SETTINGS
@given(program=programs(F16_EXPONENTS), rounding=st.sampled_from(("down", "nearest", "up")))
def test_f16_programs_stay_in_range(program: Program, rounding: Rounding) -> None:
    text = program.text("f16")
    new = rewritten(text, ScalifyOptions(rounding=rounding))
    got = run_pairs(new, program, "f16", [True] * len(program.arguments))
    for node, (result, _) in zip(program.results, got, strict=True):
        assert agreement(node.value, result).all(), (
            f"{node.name}: {result}, expected {node.value}\n{text}\n{program}\n{new}"
        )
