"""What products and maxima of scales are by their forms alone."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scalify_hlo.scale import ONE, Scale, Symbol

# Factors, and the largest power of two beside them: of each scale that a maximum is taken of.
Leaves = dict[tuple[tuple[Symbol, int], ...], float]


def normal_form(scales: Iterable[Scale]) -> Leaves:
    """The scales that may be the largest; not empty unless there are none.

    # max(a, max(b, c)) = max(max(a, b), max(a, c))
    """
    found: Leaves = {}
    for scale in scales:
        known = found.get(scale.factors)
        if known is None or known < scale.exponent:
            found[scale.factors] = scale.exponent
    return found


def covers(scale: Scale, other: Scale) -> bool:
    """Whether a scale is known to be no smaller than another by their forms alone."""
    return scale.factors == other.factors and scale.exponent >= other.exponent


def no_larger(
    scale: Scale, other: Scale, bounds: Mapping[Any, Sequence[Scale]], members: Mapping[Any, Sequence[Scale]]
) -> bool:
    """Whether a <= b is known, of a minimum that b is among or a maximum that a is among, or by their bounds.

    bounds, members: factors of minima and maxima -> the scales that they were taken of.

    # min(1, s) <= 1 <= 2 <= max(2, t), be s and t what they may
    """
    if scale.most <= other.least:
        return True
    above, below = bounds.get(scale.factors), members.get(other.factors)
    if above and any(covers(other, bound.shifted(scale.exponent)) for bound in above):
        return True
    return bool(below) and any(covers(member.shifted(other.exponent), scale) for member in below or ())


def power_product(symbols: Sequence[Symbol]) -> Scale:
    scale = ONE
    for symbol in symbols:
        scale = scale * Scale(0, ((symbol, 1),))
    return scale


def order(scale: Scale) -> tuple[Any, ...]:
    """Simple ones first, then older ones."""
    return len(scale.factors), [(symbol.index, power) for symbol, power in scale.factors], scale.exponent
