"""Random f32 programs cast to f16 and rewritten: within the error bound of f16 arithmetic at the laws' scales."""

import numpy as np
from hypothesis import given

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.inputs import Split, recombine
from scalify_hlo.passes.cast import Cast
from tests.graphs.bodies import normalise
from tests.graphs.bounds import agreement
from tests.graphs.drawing import SETTINGS
from tests.graphs.graph import Program
from tests.graphs.programs import F32_EXPONENTS, programs
from tests.support import Rewritten

_CONTEXT = make_context()


def _cast(text: str) -> str:
    with _CONTEXT, ir.Location.unknown():
        module = ir.Module.parse(text)
        Cast(precision="fp16").apply(module, [])
        assert module.operation.verify()
        return module.operation.get_asm()


# What is normalised comes out at scale 1, and is below f16's range where it is small beside epsilon.
@SETTINGS
@given(program=programs(F32_EXPONENTS, without=(normalise,)))
def test_programs_cast_to_f16_stay_in_range(program: Program) -> None:
    text = _cast(program.text("f32"))
    rewritten = Rewritten.of(text)
    splits = [
        Split(data.astype(spec.dtype), np.asarray(np.ldexp(1.0, exponent), np.float32))
        for data, exponent, spec in zip(program.data, program.exponents, rewritten.original.arguments, strict=True)
    ]
    for node, got in zip(program.results, rewritten.run(splits), strict=True):
        result = recombine(got.data, got.scale).astype(np.float64) if node.is_float else got.data
        where = f"{node.name}: {result}, expected {node.value}\n{text}\n{rewritten.text}"
        assert agreement(node.value, result).all(), where
