"""Which values of a block are computed from which others of it."""

import itertools
from collections.abc import Collection, Iterator

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir


def levels(block: ir.Block, own: Collection[ir.Value]) -> dict[ir.Value, int]:
    """How many of some values are computed one from another, at most, behind each of them.

    Of two values of one level neither is computed from the other, so that what joins values of equal levels makes no
    circle. In program order.
    """
    ops = [op.operation for op in block.operations]
    made = {result: i for i, op in enumerate(ops) for result in op.results}
    places = {made[value]: value for value in own}
    behind = [0] * len(ops)
    for i in reversed(range(len(ops))):
        for value in _read(ops[i]):
            if (j := made.get(value)) is not None:
                behind[j] = max(behind[j], behind[i] + (i in places))
    return {places[i]: behind[i] for i in sorted(places)}


def computed_before(block: ir.Block, values: Collection[ir.Value], last: ir.Operation) -> list[ir.Operation]:
    """What is computed of some values before an operation, in program order; not the operations that make them."""
    known, found = set[ir.Value](), list[ir.Operation]()
    for op in (each.operation for each in block.operations):
        if op == last:
            break
        if any(value in known for value in _read(op)):
            found.append(op)
            known.update(op.results)
        known.update(result for result in op.results if result in values)
    return found


def _read(op: ir.Operation) -> Iterator[ir.Value]:
    """The values that an operation reads, in its regions too."""
    return itertools.chain(op.operands, *(each.operands for each in walk(op)) if len(op.regions) else ())
