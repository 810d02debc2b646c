"""A minimum of a maximum is a clip: `jnp.clip` writes the two, `lax.clamp` one, which says what bounds the value.

# min(b, max(a, x)) = clamp(a, x, b), NaN included (StableHLO's specification of clamp)
"""

import math

from scalify_hlo.analysis.calls import defining_op, only_reader, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import constant_behind, splat_number
from scalify_hlo.types import tensor_info

_MINIMUM, _MAXIMUM, _BROADCAST = "stablehlo.minimum", "stablehlo.maximum", "stablehlo.broadcast_in_dim"


def write_as_clamps(module: ir.Module) -> None:
    """Replace minima of maxima of real floats where both bounds are one number for all elements, in place."""
    for least in [op for op in walk(module.operation) if op.name == _MINIMUM]:
        outer = _bounded(least)
        greatest = None if outer is None else defining_op(outer[0])
        if outer is None or greatest is None or greatest.name != _MAXIMUM:
            continue
        inner = _bounded(greatest)
        if inner is None or only_reader(greatest.results[0]) is None:
            continue
        clamp = ir.Operation.create(
            "stablehlo.clamp", [least.results[0].type], [inner[1], inner[0], outer[1]], dict(least.attributes.items()),
            loc=least.location, ip=ir.InsertionPoint(least),
        )  # fmt: skip
        least.results[0].replace_all_uses_with(clamp.results[0])
        least.erase()
        greatest.erase()


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
    constant = constant_behind(value)
    if constant is not None:
        number = splat_number(constant)
        return number is not None and math.isfinite(number)
    op = defining_op(value)
    return op is not None and op.name == _BROADCAST and tensor_info(op.operands[0].type).rank == 0
