"""How large the data of a result are: by the laws of size, from the data that its operation works on.

Data are sizes without factors: what the scales multiply is not in them. An operation of degree d in an operand has data
whose size follows from its operands' data alone, whatever the scales.
"""

import math
from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.rules.rewriting import Rewriting
from scalify_hlo.rules.values import PlainFacts, ScaledValue
from scalify_hlo.size.algebra import Algebra, Size, of_number
from scalify_hlo.size.estimate import UNKNOWN, size_of
from scalify_hlo.size.laws.functions import mask
from scalify_hlo.size.masks import share_of
from scalify_hlo.size.moments import UNIT, Moments
from scalify_hlo.size.view import View
from scalify_hlo.types import tensor_info

# An operand's data: as they are known, or moments of what has taken their place.
Operand = ScaledValue | Moments | ir.Value


class _Before:
    """The sizes of the data of values before an operation."""

    def __init__(self, rewriter: Rewriting):
        self._rewriter = rewriter

    def get(self, value: ir.Value, /) -> Size | None:
        """The size of a value that is the data of itself."""
        found = self._rewriter.scaled.get(value)
        return of_data(self._rewriter, found) if found is not None and found.data == value else None


def expected(
    rewriter: Rewriting, op: ir.Operation, operands: Sequence[Operand], index: int, *, filled: bool
) -> Moments:
    """Moments of result `index` of an operation whose operands have been replaced by data.

    operands: what is known of each, in order; those that are left out are plain. filled: the first is a buffer that a
    loop writes from one end to the other.
    """
    given = operands if len(operands) == len(op.operands) else [*operands, *list(op.operands)[len(operands) :]]
    sizes = [of_data(rewriter, each) if isinstance(each, ScaledValue) else _size(rewriter, each) for each in given]
    # Terms of sums are independent; how much room narrow types leave for those that agree is the rules' own.
    view = View(op, op.name, sizes, Algebra(), {op.operands[0]: None} if filled else {}, _Before(rewriter), 0.0)
    view.index = index
    return size_of(view).moments


def _size(rewriter: Rewriting, operand: Moments | ir.Value) -> Size:
    if isinstance(operand, Moments):
        return Size((), operand)
    info = tensor_info(operand.type)
    if info.element == "i1":
        return mask(share_of(operand))
    return of_facts(rewriter.facts_of(operand)) if info.carries_scale else UNKNOWN


def of_data(rewriter: Rewriting, value: ScaledValue) -> Size:
    """The size of data; of zeros and infinities as of the number."""
    moments = UNIT if rewriter.paper else value.moments
    if not value.indifferent:
        return Size((), moments)
    return of_number(0.0 if value.moments.rms == 0 else math.copysign(math.inf, 1 if moments.nonnegative else -1))


def of_facts(facts: PlainFacts) -> Size:
    """The size of a plain value; of unit size where nothing is known of it."""
    if facts.splat is not None:
        return of_number(facts.splat)
    if facts.indifferent:
        return of_number(0.0 if facts.moments is None or facts.moments.rms == 0 else math.inf)
    return Size((), facts.moments or UNIT)
