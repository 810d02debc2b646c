"""Looking at the operations of a block from the values: what a value is apart from its type and shape."""

import math
from collections.abc import Callable

from scalify_hlo.bindings import ir

# The function that an operation calls, if it is a call of a private function.
Callee = Callable[[ir.Operation], ir.Operation | None]

_SHAPES = frozenset({"stablehlo.broadcast_in_dim", "stablehlo.convert", "stablehlo.reshape"})


def operation_of(value: ir.Value) -> ir.Operation | None:
    """The operation that a value is a result of; None for block arguments."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def shape_of(value: ir.Value) -> tuple[int, ...] | None:
    """The shape of a tensor, negative where it is dynamic; None for tokens and the like."""
    type_ = value.type
    return tuple(int(n) for n in type_.shape) if isinstance(type_, ir.RankedTensorType) else None


def bare(value: ir.Value) -> ir.Value:
    """The value before conversions, reshapes and broadcasts."""
    return _bare(value)[0]


def _bare(value: ir.Value) -> tuple[ir.Value, ir.Operation | None, str]:
    """The value before conversions, reshapes and broadcasts, the operation that makes it, and that one's name."""
    while True:
        op = operation_of(value)
        if op is None:
            return value, None, ""
        name = op.name
        if name not in _SHAPES:
            return value, op, name
        value = op.operands[0]


def constant(value: ir.Value) -> float | None:
    """The number that all elements of a constant equal, converted and broadcast or not."""
    _, op, name = _bare(value)
    attribute = op.attributes["value"] if op is not None and name == "stablehlo.constant" else None
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    number = getattr(attribute.get_splat_value(), "value", None)
    return float(number) if isinstance(number, int | float) else None


def users(value: ir.Value) -> list[ir.Operation]:
    """The operations with results that use a value, apart from its type and shape, each once."""
    found: dict[ir.Operation, None] = {}
    for use in value.uses:
        op = use.owner.operation
        if op.name in _SHAPES:
            found |= dict.fromkeys(users(op.results[0]))
        elif len(op.results):
            found[op] = None
    return list(found)


def returned(function: ir.Operation) -> list[ir.Value]:
    """What a function returns."""
    return list(list(function.regions[0].blocks[0].operations)[-1].operation.operands)


def made_by(value: ir.Value, *names: str) -> ir.Operation | None:
    """The operation that makes a value, apart from its type and shape, if it is a `stablehlo` one of these names."""
    _, op, name = _bare(value)
    return op if op is not None and name.removeprefix("stablehlo.") in names else None


def without_constants(value: ir.Value) -> ir.Value:
    """The value before multiplications and divisions by constants, conversions, reshapes and broadcasts."""
    while True:
        value = bare(value)
        op = made_by(value, "multiply", "divide")
        if op is None:
            return value
        left, right = op.operands
        if constant(right) is not None:
            value = left
        elif constant(left) is not None and op.name == "stablehlo.multiply":
            value = right
        else:
            return value


def sum_of(value: ir.Value) -> tuple[ir.Value, int] | None:
    """(what is summed, number of terms) of a value that is a sum over dimensions of known sizes."""
    op = made_by(value, "reduce")
    if op is None or len(op.results) > 1:
        return None
    body = list(op.regions[0].blocks[0].operations)
    if len(body) != 2 or body[0].operation.name != "stablehlo.add":
        return None
    shape = shape_of(op.operands[0]) or ()
    lengths = [shape[int(d)] for d in op.attributes["dimensions"]]
    return None if any(n < 0 for n in lengths) else (op.operands[0], math.prod(lengths))
