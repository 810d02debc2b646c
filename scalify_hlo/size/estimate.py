"""The size of one result: by the law of its operation, else by the operation's traits.

Two things ask: the analysis of a whole program (`size.analysis`), and rules, of the data that their operations work on
(`rules.sizing`).
"""

import math

from scalify_hlo.module.constants import FOLDED, rounded
from scalify_hlo.module.traits import Trait, carried, of
from scalify_hlo.size import laws
from scalify_hlo.size.algebra import Size, of_number, product
from scalify_hlo.size.moments import Moments
from scalify_hlo.size.view import LAWS, View

assert laws.__all__  # their registration is what they are imported for

UNKNOWN = Size()
# What a boolean is, of which nothing is known.
MASK = Size((), Moments(math.sqrt(0.5), 0.5, True))


def size_of(view: View) -> Size:
    """The size of the result `view.index`; what has no elements is as large as zeros, and counts nowhere."""
    if view.result.is_empty:
        return of_number(0.0)
    if view.name in FOLDED:
        numbers = [size.splat for size in view.sizes]
        if None not in numbers:
            held = rounded(FOLDED[view.name](*numbers), view.result.element)
            return UNKNOWN if held is None else of_number(held)
    law = LAWS.get(view.name)
    if law is not None:
        return law(view)
    row = of(view.name)
    if carried(view.op, view.index) is not None:
        return view.sizes[min(view.index, len(view.sizes) - 1)]
    if row.degrees is not None and len(view.sizes) >= len(row.degrees):
        return _homogeneous(view, tuple(float(d) for d in row.degrees))
    if row.traits & Trait.MOVES:
        return view.x
    return MASK if view.result.element == "i1" else UNKNOWN


def _homogeneous(view: View, degrees: tuple[float, ...]) -> Size:
    """# f(s x, t y) = s^a t^b f(x, y)"""
    if degrees == (1.0,):
        return view.x
    size = of_number(1.0)
    for operand, degree in zip(view.sizes, degrees, strict=False):
        power = operand**degree
        size = Size(product(size.factors, power.factors), Moments(size.moments.rms * power.moments.rms))
    return size
