"""`scalify-saturate`: in a training step, what is beyond f16 becomes its largest number, as what is beyond FP8 does.

# min(max(x, -65504), 65504)

Scales are estimates. In a step in which the loss jumps gradients are a thousand times as large as in those before, and
one infinity among them makes the whole state NaN; the largest number in its place clips that step. Where a kernel
rounds a tensor, this is one more operation of it. Products round to f16 themselves: there it is what reads them and
computes on elements, and other products get what they gave. NaN stays NaN.

Arguments are left alone: state has the scale that it was measured to need (`scalify-state-rescale`). So are the parts
that devices have of a sum (`scalify-partial-sums`), for which there is room.
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.analysis.update import trains
from scalify_hlo.bindings import ir
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.carriers import carries, is_in_parts, layouts_folded
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.types import LARGEST, LARGEST_F16, tensor_info

_CONVERT = "stablehlo.convert"
_SATURATED = frozenset({"f16", *LARGEST})
_PRODUCTS = names(Trait.CONTRACTS)
_MOVES = names(Trait.MOVES, without=Trait.COLLECTIVE) | names(Trait.ASSEMBLES)


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
            bounds, held = emit.LeadingNumbers(), set[ir.Value]()
            for op in operations:
                result = tensor_info(op.results[0].type)
                if not result.rank or result.element not in _SATURATED:
                    continue
                product = op.name in _PRODUCTS
                if result.element == "f16" and (product or _is_of_product(op.operands[0])):
                    for reading in [*_readings(op.results[0])]:
                        if reading.results[0] not in held:  # what joins products is read as each of them
                            _saturate_result(reading, bounds)
                            held.add(reading.results[0])
                elif not product and _is_computed(op.operands[0]) and not is_in_parts(op.results[0]):
                    _saturate_operand(op, result.element, bounds)


def _saturate_operand(op: ir.Operation, element: str, bounds: emit.LeadingNumbers) -> None:
    """Let a conversion read a value within the range of the element type that it converts to."""
    if tensor_info(op.operands[0].type).element in ("f32", "f16"):
        with ir.InsertionPoint(op), op.location:
            op.operands[0] = _within(op.operands[0], element, op.block, bounds)


def _saturate_result(op: ir.Operation, bounds: emit.LeadingNumbers) -> None:
    """Let all readers of what an operation widens from f16 read it within the range of f16."""
    readers = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
    with ir.InsertionPoint.after(op), op.location:
        held = _within(op.results[0], "f16", op.block, bounds)
    for reader, operand in readers:
        reader.operands[operand] = held


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


def _is_computed(value: ir.Value) -> bool:
    """Not a constant, nor what the program is given, whose scale fits it."""
    op = defining_op(value)
    while op is not None and (op.name in _MOVES or carries(op)):
        op = defining_op(op.operands[0])
    return op is not None and op.name not in ("stablehlo.constant", "stablehlo.clamp")


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
