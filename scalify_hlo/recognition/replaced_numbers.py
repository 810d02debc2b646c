"""Numbers that take the place of elements which are replaced again before anything else is computed of them.

# p ? 0 : f(p ? 1 : x), and in its gradient p ? 0 : f'(p ? 1 : x) (p ? 0 : g)

Programs write it so that no f meets a zero: `jnp.where(r == 0, 0, 1 / jnp.where(r == 0, 1, r))`. Such a number says
nothing of the size of what it stands in: at its scale 1 an x of 2^-14 would be all but lost, and 1/x beyond f16. Only
elementwise operations lie between both choices, so that elements do not meet.
"""

import math
from collections.abc import Sequence

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.analysis.origins import unconverted
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import Number, number_behind
from scalify_hlo.module.traits import CARRYING, Trait, names
from scalify_hlo.types import tensor_info

_ELEMENTWISE = names(Trait.ELEMENTWISE) | CARRYING
# How many values are looked forward to.
_FAR = 50


def find_replaced_numbers(operations: Sequence[ir.Operation], number: Number = number_behind) -> set[ir.Value]:
    """The results of the selects among original operations one member of which is such a number.

    number: what all elements of a value equal, if it is known.
    """
    return {op.results[0] for op in operations if op.name == "stablehlo.select" and _is_replaced(op, number)}


def _is_replaced(select: ir.Operation, number: Number) -> bool:
    predicate, *members = select.operands
    if not tensor_info(select.results[0].type).is_float:
        return False
    numbers = [number(member) for member in members]
    sides = [i for i, each in enumerate(numbers) if each and math.isfinite(each)]
    return len(sides) == 1 and None in numbers and _is_discarded(select, predicate, sides[0])


def _is_discarded(select: ir.Operation, predicate: ir.Value, side: int) -> bool:
    """Whether all that is computed of a choice ends in choices that leave out where member `side` was taken."""
    pending = [select.results[0]]
    seen = set(pending)
    while pending:
        value = pending.pop()
        uses = list(value.uses)
        if not uses or len(seen) > _FAR:
            return False
        for use in uses:
            op, index = use.owner.operation, use.operand_number
            if op.name == "stablehlo.select" and index and op != select and _same(op.operands[0], predicate):
                if index - 1 != side:
                    continue
            elif op.name not in _ELEMENTWISE or len(op.results) != 1 or not tensor_info(op.results[0].type).is_float:
                return False
            if op.results[0] not in seen:
                seen.add(op.results[0])
                pending.append(op.results[0])
    return True


def _same(x: ir.Value, y: ir.Value) -> bool:
    """Whether two predicates are one, or the same comparison."""
    if x == y:
        return True
    a, b = defining_op(x), defining_op(y)
    if a is None or b is None or a.name != "stablehlo.compare" or b.name != "stablehlo.compare":
        return False
    direction = "comparison_direction"
    if a.attributes[direction] != b.attributes[direction]:
        return False
    pairs = zip(a.operands, b.operands, strict=True)
    return all(unconverted(v) == unconverted(w) or _same_number(v, w) for v, w in pairs)


def _same_number(x: ir.Value, y: ir.Value) -> bool:
    number = number_behind(x)
    return number is not None and number == number_behind(y)
