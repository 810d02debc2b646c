"""Intervals of integers and booleans, which have laws of their own: sums wrap around, conversions drop fractions.

# int(1.9) = 1; 2^31 = -2^31 in i32; abs(-128) = -128 in i8
"""

import math

from scalify_hlo.types import TensorInfo, element_bits

Interval = tuple[float, float]

# What gives one of its operands' elements.
EXACT = frozenset({"maximum", "minimum", "clamp", "select"})


def representable(element: str) -> Interval | None:
    """Between which numbers those of an integer or boolean type are; None for other types."""
    if not element.startswith(("i", "ui")) or element == "index":
        return None
    if element == "i1":
        return 0.0, 1.0
    bits = element_bits(element)
    return (0.0, 2.0**bits - 1) if element.startswith("u") else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)


def converted(source: TensorInfo, given: Interval, element: str, most: Interval) -> Interval:
    """The interval of what is converted to an integer type; most: what it can represent.

    given: that of what is converted. What does not fit becomes any number of the type, a NaN becomes 0.
    """
    low, high = given
    if element == "i1" or low < most[0] or high > most[1]:
        return most
    return (min(float(math.trunc(low)), 0.0), max(float(math.trunc(high)), 0.0)) if source.is_float else given
