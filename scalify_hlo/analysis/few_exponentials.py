"""Exponentials of a few numbers that tensors are multiplied by: rates and temperatures that are learned as logarithms.

# exp(s x) = exp(x)^s: how large an exponential is does not follow from the scale of what it is taken of

One of few numbers is measured for next to nothing, and as a factor its error goes into all that it enters: into the
gradients of n inner steps at a learned rate as its n-th power.
"""

from collections.abc import Iterator

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, walk
from scalify_hlo.analysis.exponents import Exponentials
from scalify_hlo.analysis.intervals import MOVES
from scalify_hlo.bindings import ir
from scalify_hlo.types import tensor_info


def few_exponentials(calls: CallGraph, element: str) -> Iterator[ir.Value]:
    """Results of exponentials of few numbers that have no bound in a type and are spread to more elements."""
    known = Exponentials(calls)
    for function in calls.functions.values():
        for op in walk(function):
            if op.name == "stablehlo.exponential" and known.may_leave(op, element):
                info = tensor_info(op.results[0].type)
                if info.is_static and info.size <= budget.FEW_NUMBERS and _is_spread(op.results[0], info.size):
                    yield op.results[0]


def _is_spread(value: ir.Value, count: int) -> bool:
    """Whether what a value is moved to has more elements than it."""
    for use in value.uses:
        op = use.owner.operation
        if op.name in MOVES and len(op.results) == 1:
            moved = op.results[0]
            if tensor_info(moved.type).size > count or _is_spread(moved, count):
                return True
    return False
