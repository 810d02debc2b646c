"""Numbers that stand in for zeros, where(n == 0, 1, n): what is divided by then is not 0.

Such a number says nothing of the size of the others: at its scale 1 an n of 2^-20 would be all but lost in f16, and
what is divided by it infinite. It is chosen by a comparison of the tensor, or of its magnitude, with a number that is
smaller. What f16 does not hold, 1e30 and infinity, is no divisor but a mask: what is not to be the least.
"""

from collections.abc import Sequence

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.analysis.origins import unconverted
from scalify_hlo.bindings import ir
from scalify_hlo.module.comparisons import COMPARE, TURNED, direction_of
from scalify_hlo.module.constants import Number, number_behind
from scalify_hlo.types import LARGEST_F16, tensor_info

# Where the tensor is on the left of a comparison with a number k: whether it is small where that is true.
_SMALL_WHERE_TRUE = {"EQ": True, "LE": True, "LT": True, "NE": False, "GT": False, "GE": False}


def find_stand_ins(operations: Sequence[ir.Operation], number: Number = number_behind) -> set[ir.Value]:
    """The results of the selects among original operations one member of which is such a number.

    number: what all elements of a value equal, if it is known.
    """
    return {op.results[0] for op in operations if op.name == "stablehlo.select" and _stands_in(op, number)}


def _stands_in(select: ir.Operation, number: Number) -> bool:
    predicate, *members = select.operands
    if not tensor_info(select.results[0].type).is_float:
        return False
    compare = defining_op(predicate)
    if compare is None or compare.name != COMPARE:
        return False
    direction = direction_of(compare)
    for i, direct in ((0, direction), (1, TURNED.get(direction, direction))):
        tensor, bound = _without_sign(unconverted(compare.operands[i])), number(compare.operands[1 - i])
        if bound is None or direct not in _SMALL_WHERE_TRUE:
            continue
        side = 0 if _SMALL_WHERE_TRUE[direct] else 1  # where the number is taken
        chosen = number(members[side])
        if chosen and 0 <= bound < chosen <= LARGEST_F16 and _without_sign(unconverted(members[1 - side])) == tensor:
            return True
    return False


def _without_sign(value: ir.Value) -> ir.Value:
    """What a value is the magnitude of; else the value."""
    op = defining_op(value)
    return unconverted(op.operands[0]) if op is not None and op.name == "stablehlo.abs" else value
