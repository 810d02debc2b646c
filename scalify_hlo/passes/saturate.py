"""`scalify-saturate`: in a training step, what is beyond f16 becomes its largest number, as what is beyond FP8 does.

# min(max(x, -65504), 65504)

Scales are estimates. In a step in which the loss jumps gradients are a thousand times as large as in those before, and
one infinity among them makes the whole state NaN; the largest number in its place clips that step. Where a kernel
rounds a tensor, this is one more operation of it, and none where the tensor was within the range before and has only
been chosen from since: select(mask, g, 0), max(x, 0), what was moved. Products round to f16 themselves: there it is
what reads them and computes on elements, and other products get what they gave. NaN stays NaN.

Arguments are left alone: state has the scale that it was measured to need (`scalify-state-rescale`). So are the parts
that devices have of a sum (`scalify-partial-sums`), for which there is room.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.analysis.update import trains
from scalify_hlo.bindings import ir
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.carriers import carried_by, carries, is_in_parts, layouts_folded
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.types import LARGEST, LARGEST_F16, tensor_info

_CONVERT = "stablehlo.convert"
_SATURATED = frozenset({"f16", *LARGEST})
_PRODUCTS = names(Trait.CONTRACTS)
_ASSEMBLES = names(Trait.ASSEMBLES)
_CHOOSES = frozenset({"stablehlo.select", "stablehlo.maximum", "stablehlo.minimum"})
_MOVES = names(Trait.MOVES, without=Trait.COLLECTIVE) | _ASSEMBLES
# How many values are looked back at from one that is rounded.
_STEPS = 16


@dataclasses.dataclass(frozen=True)
class Saturate(Pass):
    """Let what a training step rounds to f16 or FP8 become the largest number of that type where it is beyond it."""

    name: ClassVar[str] = "scalify-saturate"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Rewrites the module in place."""
        del remarks
        if not trains(module, symbol_name(public_function(module))):
            return
        with module.context, ir.Location.unknown(module.context), layouts_folded(module):
            operations = [op for op in walk(module.operation) if op.name == _CONVERT or op.name in _PRODUCTS]
            bounds, held = emit.LeadingNumbers(), dict[ir.Value, float]()
            for op in operations:
                result = tensor_info(op.results[0].type)
                if not result.rank or result.element not in _SATURATED:
                    continue
                product = op.name in _PRODUCTS
                if result.element == "f16" and (product or _is_of_product(op.operands[0])):
                    for reading in [*_readings(op.results[0])]:
                        if reading.results[0] not in held:  # what joins products is read as each of them
                            held[reading.results[0]] = held[_saturate_result(reading, bounds)] = LARGEST_F16
                elif not product:
                    _saturate_operand(op, result.element, bounds, held)


def _saturate_operand(op: ir.Operation, element: str, bounds: emit.LeadingNumbers, held: dict[ir.Value, float]) -> None:
    """Let a conversion read a value within the range of the element type that it converts to.

    held: what is within a range already, and its largest number.
    """
    value, largest = op.operands[0], LARGEST.get(element, LARGEST_F16)
    if tensor_info(value.type).element not in ("f32", "f16") or is_in_parts(op.results[0]):
        return
    if not _is_within(value, largest, held):
        with ir.InsertionPoint(op), op.location:
            op.operands[0] = value = _within(value, element, op.block, bounds)
        held[op.results[0]] = held[value] = largest


def _saturate_result(op: ir.Operation, bounds: emit.LeadingNumbers) -> ir.Value:
    """Let all readers of what an operation widens from f16 read it within the range of f16; what they read then."""
    readers = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
    with ir.InsertionPoint.after(op), op.location:
        held = _within(op.results[0], "f16", op.block, bounds)
    for reader, operand in readers:
        reader.operands[operand] = held
    return held


def _within(value: ir.Value, element: str, block: ir.Block, bounds: emit.LeadingNumbers) -> ir.Value:
    """A value, in a block, within the range of an element type."""
    largest, own = LARGEST.get(element, LARGEST_F16), tensor_info(value.type).element
    least, most = (bounds.of(block, own, number) for number in (-largest, largest))
    return emit.op("clamp", value.type, least, value, most)


def _is_of_product(value: ir.Value) -> bool:
    op = defining_op(value)
    while op is not None and (op.name in _MOVES or op.name == _CONVERT or carries(op)):
        op = defining_op(op.operands[0])
    return op is not None and op.name in _PRODUCTS


# |select(p, x, y)|, |max(x, y)| <= max(|x|, |y|)
def _is_within(value: ir.Value, largest: float, held: Mapping[ir.Value, float]) -> bool:
    """Whether a value is a constant, or what the program is given, whose scale fits it, or is chosen, rounded at most,
    from what is within a range: from such numbers, and from what has been held there."""
    pending, chosen = [value], False
    for _ in range(_STEPS):
        if not pending:
            return True
        value = pending.pop()
        owner, known = value.owner, held.get(value)
        if known is not None:
            if known > largest:
                return False
        elif isinstance(owner, ir.Block):
            if chosen:
                return False
        elif owner.name == "stablehlo.constant":
            number = number_behind(value) if chosen else 0
            if number is None or not abs(number) <= largest:
                return False
        elif owner.name == "stablehlo.clamp":
            numbers = number_behind(owner.operands[0]), number_behind(owner.operands[2])
            if any(number is None or not abs(number) <= largest for number in numbers):
                return False
        elif owner.name in _CHOOSES:
            pending += list(owner.operands)[-2:]
            chosen = True
        elif owner.name in _ASSEMBLES:
            pending += [each for each in owner.operands if tensor_info(each.type).is_float]
            chosen = True
        elif owner.name in _MOVES or (owner.name == _CONVERT and tensor_info(owner.operands[0].type).is_float):
            pending.append(owner.operands[0])
            chosen = chosen or owner.name == _CONVERT
        elif (carried := carried_by(value)) is not None:
            pending.append(carried)
        else:
            return False
    return False


def _readings(value: ir.Value) -> Iterator[ir.Operation]:
    """Where operations on elements widen a product's result, moved or not."""
    for use in value.uses:
        op = use.owner.operation
        if op.name in _MOVES:
            yield from _readings(op.results[0])
        elif op.name == _CONVERT:
            if tensor_info(op.results[0].type).element == "f32" and not is_in_parts(op.results[0]):
                yield op
        elif carries(op):
            yield from _readings(op.results[use.operand_number])
