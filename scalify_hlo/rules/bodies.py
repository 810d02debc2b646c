"""Small regions (reducers, comparators), rewritten with the scale left open.

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
