"""Random programs whose arguments have one scale for each index of some dimensions: promises P1, P2 and P5."""

import dataclasses
import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scalify_hlo.execution.inputs import Split, recombine
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.signature import pair_arguments
from scalify_hlo.options import ScalifyOptions
from tests.graphs.graph import Program
from tests.graphs.programs import F32_EXPONENTS, programs
from tests.support import Rewritten, same_bits
from tests.test_properties import SETTINGS, SMALLEST, options

_NEAR = (-3, 0, 2, 5)  # exponents of an argument's scales beside that of the program's


def _scale_dims(draw: st.DrawFn, rank: int) -> str:
    subsets = [c for n in range(rank + 1) for c in itertools.combinations(range(rank), n)]
    return "+".join(map(str, draw(st.sampled_from(subsets))))


@st.composite
def shaped_programs(draw: st.DrawFn) -> tuple[Program, str]:
    """A program, and along which dimensions its arguments have scales, as `ScalifyOptions.scale_dims`."""
    program = draw(programs(F32_EXPONENTS))
    dims = [_scale_dims(draw, data.ndim) for data in program.data]
    return program, ",".join(f"{i}={chosen}" for i, chosen in enumerate(dims) if chosen)


@SETTINGS
@given(drawn=shaped_programs(), chosen=options, results=st.sampled_from(("scalar", "shaped")), seed=st.integers(0, 99))
def test_f32_programs_with_shaped_scales_have_the_same_bits(
    drawn: tuple[Program, str], chosen: ScalifyOptions, results: str, seed: int
) -> None:
    program, dims = drawn
    text = program.text("f32")
    values = [np.ldexp(d, e).astype(np.float32) for d, e in zip(program.data, program.exponents, strict=True)]
    rewritten = Rewritten.of(text, dataclasses.replace(chosen, scale_dims=dims, result_scales=results))
    generator = np.random.default_rng(seed)
    splits: list[Split] = []
    for pairing, value, exponent in zip(
        pair_arguments(rewritten.original, rewritten.signature), values, program.exponents, strict=True
    ):
        assert pairing.scale is not None
        shape = rewritten.signature.arguments[pairing.scale].shape
        scale = np.ldexp(np.float32(1), exponent + generator.choice(_NEAR, shape)).astype(np.float32)
        splits.append(Split(value / scale, scale))
    for node, got, want in zip(program.results, rewritten.run(splits), interpret(text, values), strict=True):
        with np.errstate(over="ignore"):
            value = recombine(got.data, got.scale).astype(want.dtype)
        agree = same_bits(value, want)
        if got.scale is not None:
            assert (np.frexp(got.scale)[0] == 0.5).all(), f"{node.name}: {got.scale}\n{rewritten.text}"
            with np.errstate(invalid="ignore"):
                agree |= np.abs(value.astype(np.float64) - want) < SMALLEST * got.scale
        assert agree.all(), f"{node.name}: {value}, expected {want}\n{text}\n{dims} {chosen}\n{rewritten.text}"
