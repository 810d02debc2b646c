"""Casts to a narrow type of what the program itself has brought into its range, by a number that nobody knows.

# (w / s) to f8E4M3FN, s = 2^(floor(log2(max |w|)) - 7): w / s is 128 to 256, whatever the scale of w
# (S dL) to f16, S = 2^n of a loss scale that a state counts: S dL is what f16 holds, and no estimate of dL is

Of a value in units of a scale the data are near 1 where its size follows from sizes of arguments. That of a power, of
bits, of an integer or of a number without a scale does not follow; what the program casts fits the type as a value.
"""

from collections.abc import Container

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import Trait, has, names, of
from scalify_hlo.types import LARGEST, tensor_info

# On a cast: of the value, at scale 1.
OF_VALUE = "scalify.of_value"
# On a module: a pass has put casts to f16 into it.
RETYPED = "scalify.retyped"
_CONVERT = "stablehlo.convert"
_MOVES = names(Trait.MOVES | Trait.CARRIES, without=Trait.COLLECTIVE)
_CHOICES = names(Trait.SELECTS, without=Trait.ASSEMBLES)
_OF_ANY_SIZE = names(Trait.SPECIAL | Trait.BOUND_TO_TYPE, without=Trait.BOUNDED) | {"stablehlo.power"}
# Operations that are looked at behind a cast.
_STEPS = 48


def was_retyped(module: ir.Module) -> bool:
    """Whether a pass has put casts to f16 into a module, which no longer says so."""
    attributes = module.operation.attributes
    found = RETYPED in attributes
    if found:
        del attributes[RETYPED]
    return found


def mark_casts_of_values(module: ir.Module, unscaled: Container[ir.Value] = (), *, retyped: bool = False) -> bool:
    """Mark the casts of products with a number of unknown size; whether any is marked, here or before.

    unscaled: arguments that no scale is given for. retyped: a pass has put casts to f16 in, which are none of these.
    """
    found = False
    for op in walk(module.operation):
        if op.name != _CONVERT:
            continue
        made = tensor_info(op.results[0].type)
        if not made.is_narrow or tensor_info(op.operands[0].type).is_narrow:
            continue
        own = made.element in LARGEST or not retyped
        if own and _has_unknown_factor(op.operands[0], unscaled):
            op.attributes[OF_VALUE] = ir.UnitAttr.get()
        found = found or OF_VALUE in op.attributes
    return found


def unmark_casts_of_values(module: ir.Module) -> None:
    """Remove the marks of those that no scaled value has come to."""
    for op in walk(module.operation):
        if op.name == _CONVERT and OF_VALUE in op.attributes:
            del op.attributes[OF_VALUE]


def _has_unknown_factor(value: ir.Value, unscaled: Container[ir.Value]) -> bool:
    """Whether a value is a product of a number (or one for each row or block) whose size follows from nothing."""
    size, left = tensor_info(value.type).size, _STEPS
    pending, seen = [value], {value}
    while pending and left:
        left -= 1
        current = pending.pop()
        info = tensor_info(current.type)
        if not info.is_float:
            continue
        few = info.size < size
        if not isinstance(current, ir.OpResult):
            if few and current in unscaled:
                return True
            continue
        op = current.owner.operation
        if few and (op.name in _OF_ANY_SIZE or (op.name == _CONVERT and not tensor_info(op.operands[0].type).is_float)):
            return True
        products = has(op.name, Trait.ELEMENTWISE) and of(op.name).degrees is not None
        if products or op.name in _MOVES or op.name in _CHOICES:
            pending += [x for x in op.operands if x not in seen]
            seen.update(op.operands)
    return False
