"""What products and maxima of scales are by their forms alone."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scalify_hlo.scale import ONE, Scale, Symbol

# Factors, and the largest power of two beside them: of each scale that a maximum is taken of.
Leaves = tuple[tuple[tuple[tuple[Symbol, int], ...], float], ...]


def normal_form(scales: Iterable[Scale]) -> Leaves:
    """The scales that may be the largest, in an order of their own; not empty unless there are none.

    # max(a, max(b, c)) = max(max(a, b), max(a, c))
    """
    found: dict[tuple[tuple[Symbol, int], ...], float] = {}
    for scale in scales:
        found[scale.factors] = max(found.get(scale.factors, scale.exponent), scale.exponent)
    names = sorted(found, key=lambda factors: tuple((symbol.index, power) for symbol, power in factors), reverse=True)
    return tuple((factors, found[factors]) for factors in names)


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
    above = [bound.shifted(scale.exponent) for bound in bounds.get(scale.factors, ())]
    below = [member.shifted(other.exponent) for member in members.get(other.factors, ())]
    return any(covers(other, bound) for bound in above) or any(covers(member, scale) for member in below)


def power_product(symbols: Sequence[Symbol]) -> Scale:
    scale = ONE
    for symbol in symbols:
        scale = scale * Scale(0, ((symbol, 1),))
    return scale


def order(scale: Scale) -> tuple[Any, ...]:
    return (len(scale.factors), tuple((s.index, p) for s, p in scale.factors), scale.exponent)
