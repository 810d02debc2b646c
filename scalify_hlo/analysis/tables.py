"""Tables: tensors of which each row is updated as often as it is read.

# w' = w - h f(scatter(0, i, g), ...): the gradient of a lookup is a sum of rows at their places

Words, items and users are as frequent as 1/rank: a few rows of a table are most of what is read, and those that are
read seldom are what they were at the start, zeros perhaps. A row says nothing of another one.
"""

from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.module.traits import Trait, names

_CONVERT = "stablehlo.convert"
_ELEMENTWISE = names(Trait.ELEMENTWISE, without=Trait.BODY) | {_CONVERT, "stablehlo.composite"}
# Operations that are looked back at from an update.
_STEPS = 64


def rows_that_differ(value: ir.Value) -> frozenset[int]:
    """The dimensions along which a new state is scattered to: those of rows of a table; none for any other tensor."""
    pending, seen = [value], {value}
    while pending and len(seen) <= _STEPS:
        value = pending.pop()
        owner = value.owner  # not `defining_op`: this is asked of each tensor of the state
        if isinstance(owner, ir.Block):
            continue
        op = owner.operation
        if op.name == "stablehlo.scatter":
            numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
            return frozenset(numbers.scattered_dims_to_operand_dims)
        if op.name in _ELEMENTWISE:
            for operand in op.operands:
                if operand not in seen and (operand.type == value.type or op.name == _CONVERT):
                    seen.add(operand)
                    pending.append(operand)
    return frozenset()
