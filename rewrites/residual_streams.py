"""The scale of a residual stream: x + b_1 + ... + b_n, and of its cotangent on the way back.

Which of its terms is the largest is known at run time only. How many there are, and which normalisation of the stream a
block starts with, is known at compile time.
"""

import math
from collections.abc import Sequence

from scalify_hlo import budget
from scalify_hlo.bindings import ir
from scalify_hlo.emit.growth import is_multiple
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import Scale, Symbol

# Operations between two sums of a stream that are looked through.
_STEPS = 4


def scale_of_terms(r: OpRewrite, x: ScaledValue, y: ScaledValue) -> tuple[int, Scale]:
    """How many terms a chain of sums has by now, and its scale: the larger of what was there and the new term.

    # x + b_1 + ... + b_n, the b alike in size: max(size of x, sqrt(n) size of b)

    Which of the two is larger is known at run time only: a residual stream that starts large keeps its scale, one that
    is made of its blocks grows with their number. Types with the range of f32 do without: there terms are not counted,
    and their number is 0.
    """
    counted = r.rewriter.narrow and not r.rewriter.paper and not x.indifferent and not y.indifferent
    if not counted or x.scale.factors == y.scale.factors:
        return 0, r.common_scale((x, y))
    of_x, of_y = _terms(r, x), _terms(r, y)
    if of_y > of_x:
        x, y, of_x, of_y = y, x, of_y, of_x
    # A block that is a sum itself, W h + b, has its own terms in its size.
    growth = math.floor(math.log2(of_x / of_y) / 2)
    r.because("stream")
    return of_x + of_y, r.maximum([x.size, y.size.shifted(growth)])


def note_stream(r: OpRewrite, terms: int, scales: Sequence[Scale]) -> None:
    """Note how many terms a result, just declared, is the sum of, and that these are scales of its stream."""
    cache = r.emit.scope.cache
    result = r.rewriter.scaled[r.value()]
    cache["terms", result.data] = terms, result.scale.factors
    for scale in scales:
        cache["stream", scale.factors] = True


def _terms(r: OpRewrite, x: ScaledValue) -> int:
    """How many terms a value is the sum of: counted, or those of what it is computed of if that has its scale still.

    # relu(x + b), convert(x + b), a function of it: what keeps the scale keeps the terms
    """
    data = x.data
    for _ in range(_STEPS):
        terms, factors = r.emit.scope.cache.get(("terms", data), (1, None))
        if factors is not None:
            return terms if factors == x.scale.factors else 1
        if isinstance(data.owner, ir.Block) or not len(data.owner.operands):
            break
        data = data.owner.operands[0]
    return 1


def stream_scale(r: OpRewrite, x: ScaledValue, y: ScaledValue) -> Scale | None:
    """The scale of g + f(g) where f(s g) = s f(g): that of g, unless f(g) is far larger. None for others.

    Every block of a residual stream's backward pass is such an f. How much it adds is estimated from the scales of its
    weights; were the larger of the two taken, an estimate that is too large by 2 would be so by 2^L after L blocks.
    All types bear data that are 2^8 larger than estimated, f16 not more.

    In programs of narrow types g grows as the forward stream x shrinks, on the way from block to block:

    # x_{l+1} = x_l + b(x_l / |x_l|): b adds to the cotangent of x_l in proportion b / x_l, and |g_l| |x_l| = constant
    """
    if r.rewriter.paper or x.scale.shape or y.scale.shape:
        return None
    cache = r.emit.scope.cache
    for stream, block in ((x, y), (y, x)):
        symbol = _single(stream.scale)
        if symbol is None or block.scale.factors == stream.scale.factors:
            continue
        # A block's gradient may come in parts, added one by one: all are multiples of what the first was added to.
        before = cache.get(("stream before", symbol))
        multiple = is_multiple(r.emit, block.scale, symbol)
        if not multiple and (before is None or not is_multiple(r.emit, block.scale, before)):
            continue
        size = stream.size
        normalised = _normalised(r, block.scale) if r.rewriter.narrow else None
        if normalised is not None:
            last = cache.get(("normalised", symbol)) or _normalised(r, stream.scale, depth=2)
            if last is not None and last is not normalised:
                ratio = Scale(0, ((last, 1),)) / Scale(0, ((normalised, 1),))
                size = r.emit.single(Scale(0, stream.scale.factors) * ratio).shifted(size.exponent)
        r.because("stream")
        found = r.maximum([size, block.size.shifted(-budget.BLOCK)], base=size.exponent)
        result = _single(found)
        if result is not None and result is not symbol:
            cache["stream before", result] = symbol
            if normalised is not None:
                cache["normalised", result] = normalised
        return found
    return None


def _single(scale: Scale) -> Symbol | None:
    """The symbol that a scale is, but for a power of two."""
    return scale.factors[0][0] if len(scale.factors) == 1 and scale.factors[0][1] == 1 else None


def _normalised(r: OpRewrite, scale: Scale, depth: int = 0) -> Symbol | None:
    """The scale of the forward stream that a cotangent's scale was divided by: its block starts with a normalisation.

    The oldest of several: a cotangent comes through the last block first. depth: of maxima that are looked into.
    """
    factors = r.emit.expanded(scale).factors
    found = [stream for symbol, power in factors if power < 0 and (stream := _of_stream(r, symbol)) is not None]
    if found:
        return min(found, key=lambda symbol: symbol.index)
    if not depth:
        return None
    parts = [part for symbol, power in factors if power > 0 for part in r.emit.parts(symbol)]
    return next((inner for part in parts if (inner := _normalised(r, part, depth - 1)) is not None), None)


def _of_stream(r: OpRewrite, deviation: Symbol) -> Symbol | None:
    """The scale of the stream that a deviation is of, or of a linear function of it: kept above that of an epsilon.

    The deviation itself if it is the stream's own, as it may then have the epsilon's size.
    """
    cache = r.emit.scope.cache
    if ("stream", ((deviation, 1),)) in cache:
        return deviation
    for part in r.emit.parts(deviation):
        factors = r.emit.expanded(part).factors
        if any(("stream", f) in cache for f in (part.factors, factors)):
            return deviation
        streams = [symbol for symbol, power in factors if power == 1 and ("stream", ((symbol, 1),)) in cache]
        if streams:
            # A stream of zeros has the smallest scale: beside the epsilon it is no larger than that.
            return _single(r.emit.floored(Scale(0, ((streams[0], 1),)), deviation.least, in_place=False))
    return None
