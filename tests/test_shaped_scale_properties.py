"""Random programs whose arguments have one scale for each index of some dimensions: promises P1 to P3 and P5."""

import dataclasses
import itertools
from typing import Literal

import numpy as np
from hypothesis import given, reject
from hypothesis import strategies as st

from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.inputs import Split, recombine
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.signature import pair_arguments
from scalify_hlo.options import ScalifyOptions
from tests.graphs.bounds import Bounded, InadmissibleError, Value, agreement
from tests.graphs.drawing import SETTINGS, options, same_bits_at_scale
from tests.graphs.graph import Program
from tests.graphs.programs import F16_EXPONENTS, F32_EXPONENTS, programs
from tests.support import Rewritten, same_bits

_NEAR = (-3, 0, 2, 5)  # exponents of an argument's scales beside that of the program's


def _scale_dims(draw: st.DrawFn, rank: int) -> str:
    subsets = [c for n in range(rank + 1) for c in itertools.combinations(range(rank), n)]
    return "+".join(map(str, draw(st.sampled_from(subsets))))


@st.composite
def shaped_programs(draw: st.DrawFn, exponents: tuple[int, ...]) -> tuple[Program, str]:
    """A program, and along which dimensions its arguments have scales, as `ScalifyOptions.scale_dims`."""
    program = draw(programs(exponents))
    dims = [_scale_dims(draw, data.ndim) for data in program.data]
    return program, ",".join(f"{i}={chosen}" for i, chosen in enumerate(dims) if chosen)


def _scales(rewritten: Rewritten, program: Program, seed: int) -> list[Array]:
    generator = np.random.default_rng(seed)
    scales: list[Array] = []
    pairings = pair_arguments(rewritten.original, rewritten.signature)
    for pairing, exponent in zip(pairings, program.exponents, strict=True):
        assert pairing.scale is not None
        shape = rewritten.signature.arguments[pairing.scale].shape
        scales.append(np.ldexp(np.float32(1), exponent + generator.choice(_NEAR, shape)).astype(np.float32))
    return scales


@SETTINGS
@given(
    drawn=shaped_programs(F32_EXPONENTS),
    chosen=options,
    results=st.sampled_from(("scalar", "shaped")),
    seed=st.integers(0, 99),
)
def test_f32_programs_with_shaped_scales_have_the_same_bits(
    drawn: tuple[Program, str], chosen: ScalifyOptions, results: Literal["scalar", "shaped"], seed: int
) -> None:
    program, dims = drawn
    text = program.text("f32")
    values = [np.ldexp(d, e).astype(np.float32) for d, e in zip(program.data, program.exponents, strict=True)]
    rewritten = Rewritten.of(text, dataclasses.replace(chosen, scale_dims=dims, result_scales=results))
    scales = _scales(rewritten, program, seed)
    got = rewritten.run([Split(value / scale, scale) for value, scale in zip(values, scales, strict=True)])
    for node, pair, want in zip(program.results, got, interpret(text, values), strict=True):
        with np.errstate(over="ignore"):
            value = recombine(pair.data, pair.scale).astype(want.dtype)
        if pair.scale is None:
            agree = same_bits(value, want)
        else:
            assert (np.frexp(pair.scale)[0] == 0.5).all(), f"{node.name}: {pair.scale}\n{rewritten.text}"
            agree = same_bits_at_scale(value, pair.scale, want)
        assert agree.all(), f"{node.name}: {value}, expected {want}\n{text}\n{dims} {chosen}\n{rewritten.text}"


@SETTINGS
@given(drawn=shaped_programs(F16_EXPONENTS), results=st.sampled_from(("scalar", "shaped")), seed=st.integers(0, 99))
def test_f16_programs_with_shaped_scales_stay_in_range(
    drawn: tuple[Program, str], results: Literal["scalar", "shaped"], seed: int
) -> None:
    program, dims = drawn
    text = program.text("f16")
    rewritten = Rewritten.of(text, ScalifyOptions(scale_dims=dims, result_scales=results))
    scales = _scales(rewritten, program, seed)
    known: dict[str, Value] = {}
    for node, data, scale in zip(program.arguments, program.data, scales, strict=True):
        value = data * scale.astype(np.float64)
        known[node.name] = Bounded(value, np.zeros_like(value), float(np.log2(scale.max())), 1)
    try:
        with np.errstate(all="ignore"):
            expected = program.graph.evaluate(known, program.results)
    except InadmissibleError:  # at the scales of the program it is not
        reject()
    splits = [Split(data.astype(np.float16), scale) for data, scale in zip(program.data, scales, strict=True)]
    for node, want, pair in zip(program.results, expected, rewritten.run(splits), strict=True):
        result = recombine(pair.data, pair.scale).astype(np.float64) if node.is_float else pair.data
        where = f"{node.name}: {result}, expected {want}\n{text}\n{dims}\n{rewritten.text}"
        assert agreement(want, result).all(), where
