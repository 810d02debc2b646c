"""Two powers of two that multiply the same data one after another are one.

# c * move(round(f * x)) = move(round(c f * x)), c and f powers of two, move a broadcast, reshape or transpose

A mean is brought to its own scale, spread over the rows that it was taken of, and brought to the scale of the values
that it is subtracted from: one factor on one number of each row says the same. The bits are the same but where data
leave the range of their type between the two factors, which is what promise P3 excludes.
"""

import dataclasses
import math

from scalify_hlo.analysis.calls import defining_op, only_reader, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import constant_behind, splat, splat_number
from scalify_hlo.types import tensor_info

_MULTIPLY, _CONVERT = "stablehlo.multiply", "stablehlo.convert"
_MOVES = ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.transpose")


def merge_factors(module: ir.Module) -> None:
    """Rewrite pairs of factors of `module` in place; its context has to be entered."""
    for op in list(walk(module.operation)):
        second = _factor(op)
        product = None if second is None else _product_behind(op.operands[second.data])
        first = None if product is None else _factor(product)
        if second is None or product is None or first is None:
            continue
        number = first.number * second.number
        info = tensor_info(product.results[0].type)
        if not info.min_exponent <= math.log2(number) <= info.max_exponent:
            continue
        if number == 1.0:
            product.results[0].replace_all_uses_with(product.operands[first.data])
        else:
            with ir.InsertionPoint(product), product.location:
                product.operands[1 - first.data] = splat(product.results[0].type, number)
        op.results[0].replace_all_uses_with(op.operands[second.data])
        op.erase()


@dataclasses.dataclass(frozen=True)
class _Factor:
    """A power of two that a product multiplies its operand `data` by."""

    number: float
    data: int


def _factor(op: ir.Operation) -> _Factor | None:
    if op.name != _MULTIPLY or not tensor_info(op.results[0].type).is_float:
        return None
    for index, operand in enumerate(op.operands):
        constant = constant_behind(operand)
        number = None if constant is None else splat_number(constant)
        if number is not None and 0 < number < math.inf and math.frexp(number)[0] == 0.5:
            return _Factor(float(number), 1 - index)
    return None


def _product_behind(value: ir.Value) -> ir.Operation | None:
    """The product that `value` is after moves and conversions to narrower types, if nothing else reads any of them."""
    while only_reader(value) is not None:
        op = defining_op(value)
        if op is None or (op.name not in (_MULTIPLY, *_MOVES) and not _narrows(op)):
            return None
        if op.name == _MULTIPLY:
            return op
        value = op.operands[0]
    return None


def _narrows(op: ir.Operation) -> bool:
    """Whether an operation converts to a type of no more range: what is beyond the first type is beyond the second."""
    if op.name != _CONVERT:
        return False
    before, after = tensor_info(op.operands[0].type), tensor_info(op.results[0].type)
    return before.is_float and after.is_float and after.max_exponent <= before.max_exponent
