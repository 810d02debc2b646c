"""What a scale grows with: its own factors, and those hidden in the maxima and products among them."""

from scalify_hlo.emitter import Emitter
from scalify_hlo.scale import Scale, Symbol


def sources(emit: Emitter, scale: Scale) -> set[Symbol]:
    """The symbols that a scale grows with; those that it is divided by do not count."""
    found: set[Symbol] = set()
    pending = [scale]
    while pending:
        for symbol, power in pending.pop().factors:
            if power > 0 and symbol not in found:
                found.add(symbol)
                pending += emit.parts(symbol)
    return found


def without(emit: Emitter, scale: Scale, symbols: set[Symbol]) -> Scale | None:
    """The part of a scale that does not grow with any of the symbols; None if there is none.

    # t max(a s, b u) without s: t b u
    """
    result = Scale(scale.exponent)
    for symbol, power in scale.factors:
        factor = Scale(0, ((symbol, 1),))
        if power > 0 and sources(emit, factor) & symbols:
            parts = [] if symbol in symbols else [without(emit, part, symbols) for part in emit.parts(symbol)]
            kept = [part for part in parts if part is not None]
            if not kept:
                return None
            factor = emit.maximum(kept)
        result = result * factor**power
    return result
