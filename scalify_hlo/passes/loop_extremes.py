"""What a loop carries that comes to have stand-ins for infinity among its elements, though it enters without any.

# d' = c + min(d, 1e10): what is stacked of such d, written into zeros, has both 1e10 and numbers that count
"""

from collections.abc import Mapping

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import constant_behind, number_behind
from scalify_hlo.module.traits import BRANCHES
from scalify_hlo.passes import precision_kinds as kinds
from scalify_hlo.passes.held_values import Held, is_far
from scalify_hlo.types import tensor_info


def becomes_extreme(calls: CallGraph, loop: ir.Operation, held: Mapping[ir.Value, Held]) -> list[bool]:
    """Whether each value that a loop (`stablehlo.while`) carries is extreme (see `Held`) in some iteration.

    held: what is known of the values outside.
    """
    return _Extremes(calls, held).loop(loop)


class _Extremes:
    def __init__(self, calls: CallGraph, held: Mapping[ir.Value, Held]):
        self._calls = calls
        self._held = held
        self._known: dict[ir.Value, bool] = {}

    def loop(self, op: ir.Operation) -> list[bool]:
        """Of what a loop carries, after as many iterations as change anything."""
        body = op.regions[1].blocks[0]
        carried = [self._of(operand) or self._is_far(operand) for operand in op.operands]
        while True:
            returned = self._block(body, carried)
            after = [before or now for before, now in zip(carried, returned, strict=True)]
            if after == carried:
                return carried
            carried = after

    def _of(self, value: ir.Value) -> bool:
        found = self._known.get(value)
        if found is None:
            held = self._held.get(value)
            found = held is not None and held.extreme
        return found

    def _is_far(self, value: ir.Value) -> bool:
        """Whether a value is made of constants alone, one of which stands for infinity."""
        held = self._held.get(value)
        if held is not None:
            return is_far(held)
        number = number_behind(value) if tensor_info(value.type).is_float else None
        return number is not None and budget.EXTREME < abs(number) < float("inf")

    def _block(self, block: ir.Block, arguments: list[bool]) -> list[bool]:
        self._known.update(zip(block.arguments, arguments, strict=True))
        for each in block.operations:
            self._operation(each.operation)
        return [self._of(value) for value in terminator(block).operands]

    def _operation(self, op: ir.Operation) -> None:
        callee = self._calls.callee_body(op)
        if op.name == "stablehlo.while":
            found = self.loop(op)
        elif op.name in BRANCHES:
            ends = [self._block(region.blocks[0], []) for region in op.regions]
            found = [any(each) for each in zip(*ends, strict=True)]
        elif callee is not None:
            found = self._block(callee, [self._of(operand) for operand in op.operands])
        else:
            found = [self._one(op)] * len(op.results)
        self._known.update(zip(op.results, found, strict=True))

    def _one(self, op: ir.Operation) -> bool:
        if op.name in kinds.BOUNDED or op.name in kinds.PRODUCTS:
            return False
        if any(self._of(operand) for operand in op.operands):
            return True
        if op.name not in kinds.MERGING or not any(self._is_far(operand) for operand in op.operands):
            return False
        return any(tensor_info(each.type).is_float and constant_behind(each) is None for each in op.operands)
