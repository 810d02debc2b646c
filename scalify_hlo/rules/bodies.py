"""Small regions (reducers, comparators): what they compute, and rewriting them with the scale left open.

The law of a region is derived from the rules of the operations in it: its arguments get scales that have no value
at run time (`open_scale`). If the rules never ask for that value, the region works on data whatever the scale is.
"""

from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.emit.emitter import NeedsScaleError
from scalify_hlo.rules.rewriting import Rewriting
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import FIRST_OPEN, Scale, Symbol
from scalify_hlo.size.moments import Moments
from scalify_hlo.types import tensor_info

_KINDS = {f"stablehlo.{name}": name for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")}
_ORDERS = {"GT": "maximum", "GE": "maximum", "LT": "minimum", "LE": "minimum"}


def body_kind(op: ir.Operation, region: int = 0) -> str:
    """What a two-argument reducer computes: "add", "multiply", "maximum", ..., "first", "second" or "other"."""
    block = op.regions[region].blocks[0]
    arguments = list(block.arguments)
    if len(arguments) != 2:
        return "other"
    operations = [inner.operation for inner in block.operations]
    returned = list(operations[-1].operands)
    if len(operations) == 1 and returned[0] in arguments:
        return "second" if returned[0] == arguments[1] else "first"
    if len(operations) != 2 or len(operations[0].operands) != 2:
        return "other"
    kind = _KINDS.get(operations[0].name, "other")
    operands = set(operations[0].operands)
    uses_both = arguments[0] in operands and arguments[1] in operands
    return kind if uses_both and returned[0] == operations[0].results[0] else "other"


# argmax: (x > y or x != x) ? x : y
def compared_kind(op: ir.Operation, index: int) -> str:
    """What a reducer of several tensors keeps of one that it compares: "maximum", "minimum" or "other"."""
    block = op.regions[0].blocks[0]
    x, y = block.arguments[index], block.arguments[len(op.results) + index]
    operations = [inner.operation for inner in block.operations]
    kept = operations[-1].operands[index].owner
    if isinstance(kept, ir.Block) or kept.name != "stablehlo.select" or list(kept.operands)[1:] != [x, y]:
        return "other"
    compared = (inner for inner in operations if inner.name == "stablehlo.compare" and list(inner.operands) == [x, y])
    orders = {str(inner.attributes["comparison_direction"]) for inner in compared}
    found = {kind for order in orders for sign, kind in _ORDERS.items() if sign in order}
    return found.pop() if len(found) == 1 else "other"


def open_scale(rewriter: Rewriting) -> Scale:
    """A scale of which only its identity is known: asking for its value raises NeedsScaleError."""
    rewriter.emit.opened += 1
    symbol = Symbol(FIRST_OPEN + rewriter.emit.opened, None, (), 0, False)  # type: ignore[arg-type]
    return Scale(0, ((symbol, 1),))


def with_body(
    rewriter: Rewriting,
    op: ir.Operation,
    scales: Sequence[Scale | None],
    expected: Sequence[Scale | None] = (),
    *,
    moments: Sequence[Moments] | None = None,
    region: int = 0,
) -> ir.Operation | None:
    """A copy of `op`, before it, whose region is rewritten for arguments of these scales (None: plain).

    Returns None, with nothing changed, when the region does not return values of the `expected` scales, when a rule
    asked for the value of an open scale, or when an operation had no rule.
    """
    copy = op.clone(ip=ir.InsertionPoint(op))
    attempt = rewriter.attempt()
    block = copy.regions[region].blocks[0]
    for i, (argument, scale) in enumerate(zip(block.arguments, scales, strict=True)):
        if scale is not None and tensor_info(argument.type).carries_scale:
            rewriter.define(argument, ScaledValue(argument, scale, moments[i] if moments else Moments()))
    found: list[Scale | None] = []

    def read(terminator: ir.Operation) -> None:
        for i, value in enumerate(terminator.operands):
            scaled = rewriter.scaled.get(value)
            found.append(scaled.scale if scaled else None)
            if scaled:
                terminator.operands[i] = scaled.data

    errors = len(rewriter.functions.errors)
    try:
        rewriter.in_block(block, copy, read, isolated=True)
        if len(rewriter.functions.errors) == errors and found == list(expected):
            attempt.keep()
            return copy
    except NeedsScaleError:
        pass
    attempt.discard()
    copy.erase()
    return None
