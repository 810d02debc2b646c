"""A choice of a bound beyond it is an extremum: `jnp.where(x > 1, 1, x)` writes a comparison and a select.

# x > c ? c : x = min(x, c), NaN included; so it is where x is kept above a lesser bound meanwhile
"""

from collections.abc import Iterable

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.module.comparisons import COMPARE, TURNED, direction_of
from scalify_hlo.module.constants import number_behind
from scalify_hlo.types import tensor_info

_SELECT = "stablehlo.select"
_MINIMUM, _MAXIMUM = "stablehlo.minimum", "stablehlo.maximum"
# By the direction in which an element is compared with the bound that takes its place.
_EXTREMES = {"GT": _MINIMUM, "GE": _MINIMUM, "LT": _MAXIMUM, "LE": _MAXIMUM}


def write_as_extremes(operations: Iterable[ir.Operation]) -> None:
    """Replace choices of a bound among some operations, in program order, by minima and maxima, in place.

    Not of 0, whose sign may differ; the comparisons stay, for a derivative reads them.
    """
    for op in operations:
        if op.name != _SELECT:
            continue
        bound, value = op.operands[1], op.operands[2]
        number = number_behind(bound, converted=True)
        if not number or not tensor_info(bound.type).is_float or number_behind(value, converted=True) is not None:
            continue
        extreme = _extreme(op.operands[0], value, number)
        if extreme is not None:
            made = ir.Operation.create(
                extreme, [op.results[0].type], [value, bound], loc=op.location, ip=ir.InsertionPoint(op)
            )
            op.results[0].replace_all_uses_with(made.results[0])
            op.erase()


def _extreme(predicate: ir.Value, value: ir.Value, number: float) -> str | None:
    """What chooses `number` in the place of a value where the predicate holds; None for another choice."""
    compare = defining_op(predicate)
    if compare is None or compare.name != COMPARE or "TOTALORDER" in str(compare.attributes.get("compare_type")):
        return None
    left, right = compare.operands
    direction = direction_of(compare)
    if number_behind(left, converted=True) == number:
        left, right, direction = right, left, TURNED.get(direction, "")
    found = _EXTREMES.get(direction)
    if found is None or number_behind(right, converted=True) != number:
        return None
    if left == value:
        return found
    inner = _kept_within(value, number, found)
    return found if inner is not None and left == inner else None


def _kept_within(value: ir.Value, number: float, extreme: str) -> ir.Value | None:
    """What a value is where nothing keeps it on this side of a bound that `number` is beyond."""
    op = defining_op(value)
    other = _MAXIMUM if extreme == _MINIMUM else _MINIMUM
    if op is None or op.name != other:
        return None
    numbers = [number_behind(operand, converted=True) for operand in op.operands]
    inner = next((each for each in numbers if each is not None), None)
    if inner is None or (inner > number if extreme == _MINIMUM else inner < number):
        return None
    return op.operands[numbers.index(None)] if None in numbers else None
