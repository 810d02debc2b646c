"""Which values of a block are computed from which others of it."""

from collections.abc import Collection

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir


def levels(block: ir.Block, own: Collection[ir.Value]) -> dict[ir.Value, int]:
    """How many of some values are computed one from another, at most, behind each of them; in program order.

    Of two values of one level neither is computed from the other, so that what joins values of equal levels makes no
    circle.
    """
    ops, made = _operations(block), dict[ir.Value, int]()
    for i, op in enumerate(ops):
        for result in op.results:
            made[result] = i
    places = {made[value]: value for value in own}
    behind = [0] * len(ops)
    for i in range(len(ops) - 1, min(places) - 1, -1):
        level = behind[i] + (i in places)
        if level:
            for value in _read(ops[i]) if len(ops[i].regions) else ops[i].operands:
                j = made.get(value, -1)
                if j >= 0 and behind[j] < level:
                    behind[j] = level
    return {places[i]: behind[i] for i in sorted(places)}


def computed_before(block: ir.Block, values: Collection[ir.Value], last: ir.Operation) -> list[ir.Operation]:
    """What is computed of some values before an operation, in program order; not the operations that make them."""
    known, found = set[ir.Value](), list[ir.Operation]()
    for op in _operations(block):
        if op == last:
            break
        for value in _read(op) if len(op.regions) else op.operands:
            if value in known:
                found.append(op)
                known.update(op.results)
                break
        for result in op.results:
            if result in values:
                known.add(result)
    return found


def values_until(block: ir.Block, last: ir.Operation) -> set[ir.Value]:
    """The arguments of a block, and what it computes until an operation, with its results."""
    found = set[ir.Value](block.arguments)
    for op in _operations(block):
        found.update(op.results)
        if op == last:
            break
    return found


def latest(block: ir.Block, values: Collection[ir.Value]) -> ir.Operation:
    """The last operation of a block that makes one of some values, of which it makes one at least."""
    found = [op for op in _operations(block) for result in op.results if result in values]
    return found[-1]


def _operations(block: ir.Block) -> list[ir.Operation]:
    return [op.operation for op in block.operations]


def _read(op: ir.Operation) -> list[ir.Value]:
    """The values that an operation reads, in its regions too."""
    values = list(op.operands)
    if len(op.regions):
        for inner in walk(op):
            values += inner.operands
    return values
