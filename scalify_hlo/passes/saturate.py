"""`scalify-saturate`: in a training step, what is beyond f16 becomes its largest number, as what is beyond FP8 does.

# min(max(x, -65504), 65504)

Scales are estimates. In a step in which the loss jumps gradients are a thousand times as large as in those before, and
one infinity among them makes the whole state NaN; the largest number in its place clips that step. Where a kernel
rounds a tensor, this is one more operation of it. Products round to f16 themselves: there it is what reads them and
computes on elements, and other products get what they gave. NaN stays NaN.

Arguments are left alone: state has the scale that it was measured to need (`scalify-state-rescale`).
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.analysis.update import trains
from scalify_hlo.bindings import ir
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.carriers import carries, layouts_folded
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
            for op in operations:
                result, source = (tensor_info(value.type) for value in (op.results[0], op.operands[0]))
                if not result.rank or result.element not in _SATURATED:
                    continue
                of_product = op.name in _PRODUCTS or _is_of_product(op.operands[0])
                if result.element == "f16" and of_product:
                    _saturate_readings(op.results[0])
                elif source.element in ("f32", "f16") and op.name == _CONVERT and _is_computed(op.operands[0]):
                    _saturate_operand(op)


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


def _saturate_operand(op: ir.Operation) -> None:
    value = op.operands[0]
    with ir.InsertionPoint(op), op.location:
        op.operands[0] = _saturated(value, tensor_info(op.results[0].type).element)


def _saturated(value: ir.Value, element: str) -> ir.Value:
    """A value within the range of an element type."""
    scalar = emit.tensor_type((), tensor_info(value.type).element)
    largest = LARGEST.get(element, LARGEST_F16)
    least, most = (emit.splat(scalar, number) for number in (-largest, largest))
    return emit.op("clamp", value.type, least, value, most)


def _saturate_readings(value: ir.Value) -> None:
    """Saturate what a product gives where operations on elements read it."""
    for op in {*_readings(value)}:
        result = op.results[0]
        readers = [(use.owner.operation, use.operand_number) for use in result.uses]
        with ir.InsertionPoint.after(op), op.location:
            saturated = _saturated(result, "f16")
        for reader, operand in readers:
            reader.operands[operand] = saturated


def _readings(value: ir.Value) -> Iterator[ir.Operation]:
    for use in value.uses:
        op = use.owner.operation
        if op.name in _MOVES:
            yield from _readings(op.results[0])
        elif carries(op):
            yield from _readings(op.results[use.operand_number])
        elif op.name == _CONVERT and tensor_info(op.results[0].type).element == "f32":
            yield op
