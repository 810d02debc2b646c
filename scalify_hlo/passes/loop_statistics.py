"""Buffers in which a loop collects statistics, a slice in each iteration, as scans do with what their gradients read.

What is a statistic outside of a loop (a sum over many elements, and what is computed of such sums alone) is one inside.
So is a quotient by what only a guard keeps from 0 and is no statistic itself: it is not stored narrow either.
"""

from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import carries
from scalify_hlo.module.constants import constant_behind
from scalify_hlo.passes import precision_kinds as kinds
from scalify_hlo.types import tensor_info

# What a float value is computed of; the larger of two wins. Anything else is OTHER.
CONSTANT, STATISTIC, OTHER = range(3)


def shrinks(op: ir.Operation) -> bool:
    """Whether a reduction is over at least `budget.STATISTIC` elements."""
    return tensor_info(op.operands[0].type).size >= budget.STATISTIC * tensor_info(op.results[0].type).size


def collects_statistics(calls: CallGraph, loop: ir.Operation, quotients: set[ir.Value]) -> list[bool]:
    """Which of the values that a loop (`stablehlo.while`) carries start as constants and take up statistics alone.

    quotients: by guarded divisors.
    """
    found = _Kinds(calls, quotients)
    for operand in loop.operands:
        found.kinds[operand] = found.kind(operand)
    return [kind == STATISTIC for kind in found.loop(loop)]


class _Kinds:
    """Classifies the values of blocks in program order."""

    def __init__(self, calls: CallGraph, quotients: set[ir.Value]):
        self.calls = calls
        self.quotients = quotients
        self.kinds: dict[ir.Value, int] = {}

    def kind(self, value: ir.Value) -> int:
        """Of values that were not walked: constants, and broadcasts of them."""
        found = self.kinds.get(value)
        if found is not None:
            return found
        return OTHER if constant_behind(value) is None else CONSTANT

    def loop(self, op: ir.Operation) -> list[int]:
        """What a loop carries, after an iteration."""
        body = op.regions[1].blocks[0]
        last = terminator(body).operands
        for operand, argument, returned in zip(op.operands, body.arguments, last, strict=True):
            kind = self.kind(operand)
            self.kinds[argument] = kind if kind == CONSTANT or returned == argument else OTHER
        self._block(body)
        return [self.kind(value) for value in last]

    def _block(self, block: ir.Block) -> None:
        for op in block.operations:
            op = op.operation
            for result, kind in zip(op.results, self._results(op), strict=True):
                self.kinds[result] = kind

    def _results(self, op: ir.Operation) -> list[int]:
        name = op.name
        if name == "stablehlo.constant":
            return [CONSTANT]
        if carries(op):
            return [self.kind(operand) for operand in op.operands]
        if name == "stablehlo.while":
            return self.loop(op)
        body = self.calls.callee_body(op) if name == "func.call" else None
        if body is not None:
            for operand, argument in zip(op.operands, body.arguments, strict=True):
                self.kinds[argument] = self.kind(operand)
            self._block(body)
            return [self.kind(value) for value in terminator(body).operands]
        if not self.quotients.isdisjoint(op.results):
            divisor = op.operands[1 if name == "stablehlo.divide" else 0]
            if self.kind(divisor) == OTHER:
                return [STATISTIC] * len(op.results)
        floats = [self.kind(operand) for operand in op.operands if tensor_info(operand.type).is_float]
        if name in kinds.REDUCTIONS and kinds.accumulates(op) and shrinks(op) and OTHER in floats:
            return [STATISTIC] * len(op.results)
        joins = name in kinds.ELEMENTWISE or name in kinds.MOVEMENT or name == "stablehlo.convert"
        return [max(floats) if joins and floats else OTHER] * len(op.results)
