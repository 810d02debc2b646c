"""What per-device code gathers itself, rounded before it is moved: weights that `shard_map` gathers for FP8 products.

# c(all_gather(x)) = all_gather(c(x)) for a rounding c of each element

The bits are the same: the scale of what is moved is equal on all devices, and so is what is rounded. What is rounded
behind other movements, in loops that carry it unchanged, or of what a loop has saved for another one, is so too.
"""

import dataclasses

from scalify_hlo.analysis.calls import hands_on, terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.manual import MANUAL
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.device_sums import BYTES, is_number
from scalify_hlo.types import tensor_info

_MOVEMENTS = names(Trait.MOVES) & names(Trait.COLLECTIVE)
_CONVERT, _CLAMP, _WHILE = "stablehlo.convert", "stablehlo.clamp", "stablehlo.while"
_UPDATE, _LEAVES = "stablehlo.dynamic_update_slice", "sdy.return"
# Operand 0 in other places, in part or whole.
_HANDED_ON = names(Trait.MOVES, without=Trait.COLLECTIVE)
_Bounds = tuple[float, float] | None


@dataclasses.dataclass(eq=False)
class _Way:
    """Where a value goes until all that reads it rounds it. roundings: operations that do, with the bounds that it is
    held within first, and the type. values: the same elements in other places. starts: operands of loops, numbers, in
    the place of which they are saved."""

    roundings: list[tuple[ir.Operation, _Bounds, str]]
    values: list[ir.Value]
    starts: list[tuple[ir.Operation, int]]


def round_before_collectives(module: ir.Module, gathers: str) -> int:
    """Round what all readers of a moved value round, to no less than `gathers`, before it is moved.

    Returns how many. Needs a context.
    """
    least, count = BYTES.get(gathers, 0), 0
    for op in [op for op in walk(module.operation) if op.name in _MOVEMENTS]:
        way = _way(op.results[0]) if len(op.operands) == len(op.results) == 1 else None
        found = {each[1:] for each in way.roundings} if way is not None else set[tuple[_Bounds, str]]()
        own = BYTES.get(tensor_info(op.results[0].type).element, 0)
        if way is not None and len(found) == 1:
            ((bounds, element),) = found
            if least <= BYTES.get(element, 1) < own:
                count += 1
                _move(op, way, bounds, element)
    return count


def _way(value: ir.Value) -> _Way | None:
    """Where a value goes; None where something reads it that does not round it."""
    way = _Way([], [value], [])
    passed: set[tuple[ir.Operation, int]] = set()  # what returns a value from the body of a loop
    for current in way.values:  # which grows meanwhile
        for use in current.uses:
            op, i = use.owner.operation, use.operand_number
            if (op, i) in passed:
                continue
            rounding = _rounding(op, i)
            if rounding:
                way.roundings += rounding
            elif op.name in _HANDED_ON and i == 0:
                way.values.append(op.results[0])
            elif op.name == _WHILE:
                body = op.regions[1].blocks[0]
                if not hands_on(op, i):
                    return None
                passed.add((terminator(body), i))
                way.values += [op.regions[0].blocks[0].arguments[i], body.arguments[i], op.results[i]]
            elif op.name == MANUAL:
                way.values.append(op.regions[0].blocks[0].arguments[i])
            elif op.name == _LEAVES and (region := op.parent) is not None and region.operation.name == MANUAL:
                way.values.append(region.operation.results[i])
            elif op.name == _UPDATE and i == 1 and (place := _saved_in(op)) is not None:
                loop, j = place
                passed |= {(op, 0), (terminator(loop.regions[1].blocks[0]), j)}
                way.starts.append(place)
                arguments = [region.blocks[0].arguments[j] for region in loop.regions]
                way.values += [op.results[0], *arguments, loop.results[j]]
            else:
                return None
    return way


def _saved_in(update: ir.Operation) -> tuple[ir.Operation, int] | None:
    """The loop, and the place among what it carries, in which an update saves a part in each iteration, over zeros."""
    buffer = update.operands[0]
    if not isinstance(buffer, ir.BlockArgument) or len(list(buffer.uses)) != 1:
        return None
    argument = ir.BlockArgument(buffer)
    loop = argument.owner.owner.operation
    if loop.name != _WHILE or argument.owner != loop.regions[1].blocks[0]:
        return None
    j = argument.arg_number
    returned = [(use.owner.operation, use.operand_number) for use in update.results[0].uses]
    unread = not len(list(loop.regions[0].blocks[0].arguments[j].uses))
    if not unread or returned != [(terminator(argument.owner), j)] or not is_number(loop.operands[j]):
        return None
    return loop, j


def _rounding(op: ir.Operation, operand: int) -> list[tuple[ir.Operation, _Bounds, str]]:
    """The conversions by which an operation rounds an operand, held within bounds first or not; none if it does not."""
    if op.name == _CONVERT:
        return [(op, None, tensor_info(op.results[0].type).element)]
    if op.name != _CLAMP or operand != 1:
        return []
    low, high = number_behind(op.operands[0]), number_behind(op.operands[2])
    readers = [each.owner.operation for each in op.results[0].uses]
    if low is None or high is None or any(each.name != _CONVERT for each in readers):
        return []
    return [(each, (low, high), tensor_info(each.results[0].type).element) for each in readers]


def _move(op: ir.Operation, way: _Way, bounds: _Bounds, element: str) -> None:
    """Let a movement move what is rounded, in place of what read it."""
    with ir.InsertionPoint(op), op.location:
        value = op.operands[0]
        if bounds is not None:
            number = emit.tensor_type((), tensor_info(value.type).element)
            low, high = (emit.splat(number, bound) for bound in bounds)
            value = emit.op("clamp", value.type, low, value, high)
        op.operands[0] = emit.convert(value, element)
    for loop, i in way.starts:
        with ir.InsertionPoint(loop), loop.location:
            loop.operands[i] = emit.convert(loop.operands[i], element)
    for value in way.values:
        value.set_type(emit.with_element(value.type, element))
    for convert, _, _ in way.roundings:
        clamp = convert.operands[0].owner
        convert.results[0].replace_all_uses_with(convert.operands[0] if bounds is None else clamp.operands[1])
        convert.erase()
        if bounds is not None and not len(list(clamp.results[0].uses)):
            clamp.erase()
