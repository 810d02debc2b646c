"""A minimum of a maximum is a clip: `jnp.clip` writes the two, `lax.clamp` one, which says what bounds the value.

# min(b, max(a, x)) = clamp(a, x, b), NaN included (StableHLO's specification of clamp)
# max(a, min(b, x)) = clamp(a, x, b) where a <= b
"""

import math

from scalify_hlo.analysis.calls import defining_op, only_reader, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import constant_behind, number_behind
from scalify_hlo.types import tensor_info

_MINIMUM, _MAXIMUM, _BROADCAST = "stablehlo.minimum", "stablehlo.maximum", "stablehlo.broadcast_in_dim"
_OTHER = {_MINIMUM: _MAXIMUM, _MAXIMUM: _MINIMUM}


def write_as_clamps(module: ir.Module) -> None:
    """Replace minima of maxima, and maxima of minima, of real floats by clamps, in place.

    Both bounds have to be one number for all elements; of a maximum of a minimum, constants in order.
    """
    for last in [op for op in walk(module.operation) if op.name in _OTHER]:
        outer = _bounded(last)
        first = None if outer is None else defining_op(outer[0])
        if outer is None or first is None or first.name != _OTHER[last.name]:
            continue
        inner = _bounded(first)
        if inner is None or only_reader(first.results[0]) is None:
            continue
        low, high = (inner[1], outer[1]) if last.name == _MINIMUM else (outer[1], inner[1])
        if last.name == _MAXIMUM and not _number(low, math.inf) <= _number(high, -math.inf):
            continue
        clamp = ir.Operation.create(
            "stablehlo.clamp", [last.results[0].type], [low, inner[0], high], dict(last.attributes.items()),
            loc=last.location, ip=ir.InsertionPoint(last),
        )  # fmt: skip
        last.results[0].replace_all_uses_with(clamp.results[0])
        last.erase()
        first.erase()


def _bounded(op: ir.Operation) -> tuple[ir.Value, ir.Value] | None:
    """What an extremum bounds, and the bound; None where not exactly one of its operands is a finite number."""
    if not tensor_info(op.results[0].type).is_float:
        return None
    left, right = op.operands
    if _is_number(left) == _is_number(right):
        return None
    return (right, left) if _is_number(left) else (left, right)


def _is_number(value: ir.Value) -> bool:
    """Whether a value is one number for all elements: a finite constant, or a broadcast of a scalar."""
    if constant_behind(value) is not None:
        return math.isfinite(_number(value, math.inf))
    op = defining_op(value)
    return op is not None and op.name == _BROADCAST and tensor_info(op.operands[0].type).rank == 0


def _number(value: ir.Value, unknown: float) -> float:
    """The number that all elements of a constant are."""
    number = number_behind(value, converted=True)
    return unknown if number is None else number
