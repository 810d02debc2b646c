"""A power of two that multiplies the same data as another number, one after another, is merged with it.

# c * move(round(f * x)) = move(round(c f * x)), one of c and f a power of two, move a broadcast, reshape or transpose
# c * sum(f * x) = c f * sum(x), f a power of two, in types with the range of f32

A mean is brought to its own scale, divided by the number of its terms, spread over the rows that it was taken of, and
brought to the scale of the values that it is subtracted from: one number on one element of each row says the same. The
bits are the same but where data leave the range of their type between the two factors, which is what promise P3
excludes. A quotient stays a quotient where its divisor is no power of two: x / 3 is not x * round(1 / 3).
"""

import dataclasses
import math

from scalify_hlo.analysis.calls import defining_op, only_reader, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.constants import CONSTANT, constant_behind, splat, splat_number
from scalify_hlo.types import tensor_info

_MULTIPLY, _DIVIDE, _CONVERT = "stablehlo.multiply", "stablehlo.divide", "stablehlo.convert"
_FACTORS = (_MULTIPLY, _DIVIDE)
_MOVES = ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose")


def merge_factors(module: ir.Module) -> None:
    """Rewrite pairs of factors of `module` in place; its context has to be entered."""
    constants: set[ir.Value] = set()  # with what they are broadcast to: few products have one, and all have to be told
    for op in walk(module.operation):
        name = op.name
        if name == CONSTANT or (name == "stablehlo.broadcast_in_dim" and op.operands[0] in constants):
            constants.add(op.results[0])
        if name not in _FACTORS or constants.isdisjoint(op.operands):
            continue
        second = _factor(op)
        behind = None if second is None else _product_behind(op.operands[second.data])
        first = None if behind is None else _factor(behind.operation)
        if second is None or behind is None or first is None:
            continue
        # Where data are rounded to another type in between, only a power of two commutes with it.
        if not second.is_power_of_two and not (first.is_power_of_two and not behind.narrows):
            continue
        product = behind.operation
        number = _merged(first, second, product.results[0].type)
        if number is None or (behind.sums and not first.is_power_of_two):
            continue
        if behind.sums:
            product.results[0].replace_all_uses_with(product.operands[first.data])
            if number != 1.0:
                _put(op, second.data, number, divides=second.divides)
                continue
        elif number == 1.0:
            product.results[0].replace_all_uses_with(product.operands[first.data])
        else:
            _put(product, first.data, number, divides=first.divides or second.divides)
        op.results[0].replace_all_uses_with(op.operands[second.data])
        op.erase()


@dataclasses.dataclass(frozen=True)
class _Factor:
    """A number that the operand `data` is multiplied or divided by. A divisor that is a power of two is a factor."""

    number: float
    data: int
    divides: bool

    @property
    def is_power_of_two(self) -> bool:
        return math.frexp(self.number)[0] == 0.5


@dataclasses.dataclass(frozen=True)
class _Behind:
    """An operation that a value is the moved result of. narrows: through a conversion. sums: through a sum."""

    operation: ir.Operation
    narrows: bool
    sums: bool


def _factor(op: ir.Operation) -> _Factor | None:
    if op.name not in _FACTORS:
        return None
    for index in (1,) if op.name == _DIVIDE else (0, 1):
        constant = constant_behind(op.operands[index])
        number = None if constant is None else splat_number(constant)
        if number is None or not 0 < number < math.inf or not tensor_info(op.results[0].type).is_float:
            continue
        factor = _Factor(float(number), 1 - index, op.name == _DIVIDE)
        if factor.divides and factor.is_power_of_two:
            return _Factor(1 / factor.number, factor.data, False)
        return factor
    return None


def _merged(first: _Factor, second: _Factor, type_: ir.Type) -> float | None:
    """The one number in the place of two, exactly; None where it is beyond the normal numbers of the type."""
    if first.divides == second.divides:
        number = first.number * second.number
    elif first.divides:
        number = first.number / second.number
    else:
        number = second.number / first.number
    info = tensor_info(type_)
    return number if 0 < number < math.inf and info.min_exponent <= math.log2(number) <= info.max_exponent else None


def _put(op: ir.Operation, data: int, number: float, *, divides: bool) -> None:
    """Make an operation the product of its data and a number, or their quotient."""
    kind = _DIVIDE if divides else _MULTIPLY
    with ir.InsertionPoint(op), op.location:
        constant = splat(op.results[0].type, number)
        if op.name == kind:
            op.operands[1 - data] = constant
            return
        attributes = dict(op.attributes.items())
        other = ir.Operation.create(kind, [op.results[0].type], [op.operands[data], constant], attributes)
    op.results[0].replace_all_uses_with(other.results[0])
    op.erase()


def _product_behind(value: ir.Value) -> _Behind | None:
    """The product that `value` is after moves, sums and conversions to narrower types that nothing else reads."""
    narrows = sums = False
    while only_reader(value) is not None:
        op = defining_op(value)
        if op is None:
            return None
        if op.name in _FACTORS:
            return _Behind(op, narrows, sums) if not (narrows and sums) else None
        if _is_wide_sum(op):
            sums = True
        elif op.name not in _MOVES:
            if not _narrows(op):
                return None
            narrows = True
        value = op.operands[0]
    return None


def _is_wide_sum(op: ir.Operation) -> bool:
    """Whether an operation sums one tensor, of a type in which what is finite and its sum have room."""
    if op.name != "stablehlo.reduce" or len(op.operands) != 2 or tensor_info(op.operands[0].type).is_narrow:
        return False
    initial = constant_behind(op.operands[1])
    return body_kind(op) == "add" and initial is not None and splat_number(initial) == 0


def _narrows(op: ir.Operation) -> bool:
    """Whether an operation converts to a type of no more range: what is beyond the first type is beyond the second."""
    if op.name != _CONVERT:
        return False
    before, after = tensor_info(op.operands[0].type), tensor_info(op.results[0].type)
    return before.is_float and after.is_float and after.max_exponent <= before.max_exponent
