"""Recognition of special functions that a front end has written out: erfc, erf_inv, digamma, ...

JAX exports them as piecewise polynomials: some dozens of elementwise operations on one tensor, and selects between
the pieces. Where a piece does not apply its values are anything (2^120 in erfc's), so scales chosen operation by
operation mean nothing there. Such an expansion is left as it is and computed on the value, as the operation that it
stands for would be (`rewrites.nonlinear`).

An expansion is found from its last operation backwards: elementwise operations of one shape, used nowhere else, that
depend on constants and on one tensor only. The last one is a select, or the sum of an exponential and its correction,

    exp(a + b) = e + e d, with e = exp(a) and d a polynomial in b

where x^2 = a + b is split by the bits of x (exp(-x^2) from jax 0.12 on, in the derivatives of erf and gelu): b is 2^-11
of x^2, which no law of sizes sees in a difference. No value changes; which operations they are is all that matters.
"""

import dataclasses
import heapq
from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import constant_behind
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info

# Fewer operations than this are rewritten one by one: relu, leaky relu, clipping.
_LEAST = 12
# No function is written out in more; chains of choices, each of the one before, have no end.
_MOST = 512
_ELEMENTWISE = names(Trait.ELEMENTWISE, without=Trait.CARRIES | Trait.BODY | Trait.BOUND_TO_TYPE | Trait.COMPLEX)
_MEMBERS = _ELEMENTWISE | {"stablehlo.bitcast_convert"}  # of one shape, as all members: of types equally wide
_SUM = "stablehlo.add"


@dataclasses.dataclass(frozen=True)
class Expansion:
    """A function of one tensor, written out.

    root: the tensor. members: the operations in program order; the result of the last one is the function's.
    """

    root: ir.Value
    members: tuple[ir.Operation, ...]


def find_expansions(operations: Sequence[ir.Operation]) -> list[Expansion]:
    """The expansions among the operations of one block, in types with the range of f32; none overlaps another."""
    ends = [op for op in operations if op.name == "stablehlo.select" or (op.name == _SUM and _corrects_exponential(op))]
    if not ends:
        return []
    position = {op: i for i, op in enumerate(operations)}
    taken: set[ir.Operation] = set()
    found: list[Expansion] = []
    for op in reversed(ends):  # the last end of an expansion comes first
        if op not in taken:
            expansion = _ending_at(op, operations, position)
            if expansion is not None:
                found.append(expansion)
                taken.update(expansion.members)
    return found


def _corrects_exponential(op: ir.Operation) -> bool:
    """Whether a sum is e + e d, e an exponential."""
    x, y = op.operands
    for e, ed in ((x.owner, y.owner), (y.owner, x.owner)):
        if isinstance(e, ir.Block) or isinstance(ed, ir.Block):
            return False
        if e.name == "stablehlo.exponential" and ed.name == "stablehlo.multiply" and e.results[0] in list(ed.operands):
            return True
    return False


def _ending_at(last: ir.Operation, operations: Sequence[ir.Operation],
               position: dict[ir.Operation, int]) -> Expansion | None:  # fmt: skip
    info = tensor_info(last.results[0].type)
    if not info.is_float or info.is_narrow:
        return None
    members = {position[last]}
    pending: list[int] = []  # positions, negated: the latest operation is looked at first
    seen: dict[ir.Value, int] = {}  # and the position of the operation that it is a result of
    leaves: list[ir.Value] = []

    def depend(op: ir.Operation) -> None:
        for value in op.operands:
            if value in seen or constant_behind(value) is not None:
                continue
            owner = value.owner
            seen[value] = -1 if isinstance(owner, ir.Block) else position.get(owner.operation, -1)
            if seen[value] < 0:
                leaves.append(value)
            else:
                heapq.heappush(pending, -seen[value])

    depend(last)
    while pending and len(leaves) <= 1 and len(members) <= _MOST:
        index = -heapq.heappop(pending)
        op = operations[index]
        # Everything looked at so far depends on this one operation.
        alone = not leaves and set(pending) <= {-index}
        if alone or op.name not in _MEMBERS or tensor_info(op.results[0].type).shape != info.shape:
            for value, place in seen.items():  # the results that are read: a sort, a loop and a branch have several
                if place == index:
                    leaves.append(value)
            if alone:
                break
            continue
        members.add(index)
        depend(op)
    if len(leaves) != 1 or pending or len(members) < _LEAST:
        return None
    root = leaves[0]
    if tensor_info(root.type) != info:
        return None
    ordered = tuple(operations[i] for i in sorted(members))
    inside = set(ordered)
    for op in ordered[:-1]:
        if any(use.owner.operation not in inside for result in op.results for use in result.uses):
            return None
    return Expansion(root, ordered)
