"""Range reduction: a choice between far multiples of one tensor, made by the tensor's own size.

# p(x) ? 2^12 x : x, where p(x) = |x| <= 2^-5

Programs write it to keep squares and exponentials of a narrow type in range (`jnp.hypot` from jax 0.12 on, scaled
norms). What comes out has the size that the constants of the comparison give it, whatever the scale of x: one scale for
both multiples would push the one or the other out of the range that the program has just brought it into.

# 0 <= x - floor(x) < 1

So it is with how far a place is from a point of a grid, which interpolation multiplies by, however large the grid is.
"""

from collections.abc import Sequence

from scalify_hlo.analysis.origins import unconverted
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import FLOAT_RANGE, TensorInfo, tensor_info

# f(s x) = s f(x) for s > 0: the size of the result is that of an operand.
_KEEPS_SIZE = ("abs", "negate", "maximum", "minimum", "convert", "broadcast_in_dim", "reshape")
# An index is converted from a float and to one.
_ROUNDS = names(Trait.INTEGERS) | {"stablehlo.convert"}
# How many operations lie between the tensor and the comparison at most: |x|, |y| and their maximum, converted.
_STEPS = 16

_Multiples = tuple[ir.Value, float, float]


def find_range_reductions(operations: Sequence[ir.Operation]) -> set[ir.Value]:
    """The results of the selects among original operations that take multiples of one tensor by its size, and of the
    differences of a tensor from itself rounded to integers.

    The multiples are so far apart that the squares of both use half of the type's range.
    """
    return {
        op.results[0] for op in operations if (reduces := _REDUCES.get(op.name)) is not None and reduces(op)
    }  # fmt: skip


def _is_fraction(difference: ir.Operation) -> bool:
    x, y = (unconverted(operand) for operand in difference.operands)
    while isinstance(y, ir.OpResult) and y.owner.name in _ROUNDS:
        y = unconverted(y.owner.operands[0])
        if y == x:
            return True
    return False


def _reduces_range(select: ir.Operation) -> bool:
    info = _narrowest(select.results[0])
    if not info.is_narrow:
        return False
    source, least, most = _multiples(select.results[0])
    return least > 0 and (most / least) ** 4 >= _span(info) and _compares_size(select.operands[0], source)


_REDUCES = {"stablehlo.select": _reduces_range, "stablehlo.subtract": _is_fraction}


def _narrowest(value: ir.Value) -> TensorInfo:
    """The type of a value, or the narrow one that it is rounded to next: a factor of 2^23 is f32 beside f16."""
    users = [use.owner.operation for use in value.uses]
    types = [value.type, *(op.results[0].type for op in users if op.name == "stablehlo.convert")]
    return next((info for info in map(tensor_info, types) if info.is_narrow), tensor_info(value.type))


def _span(info: TensorInfo) -> float:
    """The largest number of a type over its smallest normal one."""
    high, low, _ = FLOAT_RANGE[info.element]
    return 2.0 ** (high - low)


def _multiples(value: ir.Value) -> _Multiples:
    """(a tensor, the least and the largest multiple of it that an element of `value` is), for products and selects."""
    value = unconverted(value)
    op = value.owner
    if isinstance(op, ir.Block):
        return value, 1.0, 1.0
    if op.name == "stablehlo.multiply":
        one, other = op.operands
        for x, factor in ((one, other), (other, one)):
            number = number_behind(factor)
            if number:
                source, least, most = _multiples(x)
                return source, least * abs(number), most * abs(number)
    if op.name == "stablehlo.select":
        first, second = (_multiples(operand) for operand in list(op.operands)[1:])
        if first[0] == second[0]:
            return first[0], min(first[1], second[1]), max(first[2], second[2])
    return value, 1.0, 1.0


def _compares_size(predicate: ir.Value, source: ir.Value) -> bool:
    """Whether a predicate compares the size of `source`, perhaps among others, with a number that is not 0."""
    op = predicate.owner
    if isinstance(op, ir.Block) or op.name != "stablehlo.compare":
        return False
    x, y = op.operands
    return any(number_behind(bound) and has_size_of(size, source) for size, bound in ((x, y), (y, x)))


def has_size_of(value: ir.Value, source: ir.Value) -> bool:
    """Whether the size of a value is that of `source`, or of the largest of several tensors that it is one of."""
    pending = [value]
    for _ in range(_STEPS):
        if not pending:
            return False
        each = pending.pop()
        if each == source:
            return True
        op = each.owner
        if not isinstance(op, ir.Block) and op.name.removeprefix("stablehlo.") in _KEEPS_SIZE:
            pending.extend(op.operands)
    return False
