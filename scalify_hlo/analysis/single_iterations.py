"""Loops that are known to run once: their bodies, as XLA makes of them.

JAX writes such loops for a scan over one element (a model of one layer), and for one that is unrolled whole.
"""

from collections.abc import Iterable

from scalify_hlo.analysis.accumulation import iterations
from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import number_behind


# while i < 1, from i = 0 in steps of 1: the body
def runs_once(loop: ir.Operation) -> bool:
    """Whether a `stablehlo.while` is known to run once."""
    return iterations(loop, number_behind) == 1


def unroll_single_iterations(loops: Iterable[ir.Operation]) -> None:
    """Replace loops that run once by their bodies; those outside of others first."""
    for loop in loops:
        body = loop.regions[1].blocks[0]
        for argument, operand in zip(body.arguments, loop.operands, strict=True):
            argument.replace_all_uses_with(operand)
        end = terminator(body)
        for op in [op.operation for op in body.operations][:-1]:
            op.move_before(loop)
        for result, value in zip(loop.results, list(end.operands), strict=True):
            result.replace_all_uses_with(value)
        loop.erase()
