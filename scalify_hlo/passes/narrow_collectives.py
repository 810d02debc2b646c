"""What per-device code gathers itself, rounded before it is moved: weights that `shard_map` gathers for FP8 products.

# c(all_gather(x)) = all_gather(c(x)) for a rounding c of each element

The bits are the same: the scale of what is moved is equal on all devices, and so is what is rounded.
"""

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import constant_behind, splat_number
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.device_sums import BYTES
from scalify_hlo.types import tensor_info

_MOVEMENTS = names(Trait.MOVES) & names(Trait.COLLECTIVE)
_CONVERT, _CLAMP = "stablehlo.convert", "stablehlo.clamp"
_Bounds = tuple[float, float] | None


def round_before_collectives(module: ir.Module, gathers: str) -> int:
    """Round what all readers of a moved value round, to no less than `gathers`, before it is moved.

    Returns how many. Needs a context.
    """
    least, count = BYTES.get(gathers, 0), 0
    for op in [op for op in walk(module.operation) if op.name in _MOVEMENTS]:
        if len(op.operands) == len(op.results) == 1:
            found = _rounding(op.results[0])
            own = BYTES.get(tensor_info(op.results[0].type).element, 0)
            if found is not None and least <= BYTES.get(found[1], 1) < own:
                count += 1
                _move(op, *found)
    return count


def _rounding(value: ir.Value) -> tuple[_Bounds, str] | None:
    """How all that read a value round it: held within bounds first, or not, and the type; None where they do not."""
    found: set[tuple[_Bounds, str]] = set()
    for use in value.uses:
        op = use.owner.operation
        if op.name == _CONVERT:
            found.add((None, tensor_info(op.results[0].type).element))
            continue
        if op.name != _CLAMP or op.operands[1] != value:
            return None
        low, high = _number(op.operands[0]), _number(op.operands[2])
        readers = [each.owner.operation for each in op.results[0].uses]
        if low is None or high is None or any(each.name != _CONVERT for each in readers):
            return None
        found.update(((low, high), tensor_info(each.results[0].type).element) for each in readers)
    return found.pop() if len(found) == 1 else None


def _move(op: ir.Operation, bounds: _Bounds, element: str) -> None:
    """Let a movement move what is rounded, in place of what read it."""
    result = op.results[0]
    readers = [use.owner.operation for use in result.uses]
    with ir.InsertionPoint(op), op.location:
        value = op.operands[0]
        if bounds is not None:
            number = emit.tensor_type((), tensor_info(value.type).element)
            low, high = (emit.splat(number, bound) for bound in bounds)
            value = emit.op("clamp", value.type, low, value, high)
        op.operands[0] = emit.convert(value, element)
    result.set_type(emit.with_element(result.type, element))
    for reader in readers:
        rounded = [reader] if reader.name == _CONVERT else [use.owner.operation for use in reader.results[0].uses]
        for each in rounded:
            each.results[0].replace_all_uses_with(result)
            each.erase()
        if reader.name == _CLAMP:
            reader.erase()


def _number(value: ir.Value) -> float | None:
    constant = constant_behind(value)
    number = None if constant is None else splat_number(constant)
    return None if number is None else float(number)
