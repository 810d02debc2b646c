"""`scalify-cpu-scales`: scales that XLA:CPU computes in one kernel, and kernels of layers that are the same kernel.

Rewritten modules compute the scales that follow from their arguments in one vector, and those that leave them in
another if they are many, as it suits GPUs. XLA:CPU makes a kernel of each number that goes into a vector, and compiles
kernels that differ in nothing but their operands once: those of equal layers do, if each reads numbers of its own
instead of one vector at places of its own. The front end and the execution tools run the pass where they compile for
XLA:CPU.

# vector[i] = s_i
"""

import dataclasses
import math
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.bindings import ir
from scalify_hlo.emit.packed_scales import FEWEST, is_packable, reduced
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.constants import constant_behind, splat_number
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.passes.base import Pass


@dataclasses.dataclass(frozen=True)
class CPUScales(Pass):
    """Compute scales that stand in one vector as results of one reduction, for XLA:CPU."""

    name: ClassVar[str] = "scalify-cpu-scales"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Replaces the vectors, and what is read of them, in place."""
        del remarks
        vectors = [op for op in walk(module.operation) if op.name == "stablehlo.optimization_barrier"]
        changed = [_apart(op) for op in vectors]
        if any(changed):
            erase_dead(module)


def _apart(barrier: ir.Operation) -> bool:
    """Replace the elements of a vector of numbers by the numbers; False if the barrier is of anything else."""
    numbers = _numbers(barrier)
    readers = [use.owner.operation for use in barrier.results[0].uses] if numbers else []
    places = [_place(reader) for reader in readers]
    if not numbers or None in places:
        return False
    with ir.InsertionPoint(barrier), barrier.location:
        results = reduced(numbers) if len(numbers) >= FEWEST else numbers
    for reader, place in zip(readers, places, strict=True):
        for use in list(reader.results[0].uses):
            for element in _same(use.owner.operation.results[0]):
                element.replace_all_uses_with(results[place or 0])
    return True


def _same(element: ir.Value) -> list[ir.Value]:
    """An element of a vector, and what is that number itself: clamp(-inf, x, inf) = x, which only XLA:GPU needs."""
    clamps = [use.owner.operation for use in element.uses]
    return [*(op.results[0] for op in clamps if op.name == "stablehlo.clamp" and _is_unbounded(op, element)), element]


def _is_unbounded(clamp: ir.Operation, operand: ir.Value) -> bool:
    least, value, most = clamp.operands
    bounds = [constant_behind(bound) for bound in (least, most)]
    numbers = [None if bound is None else splat_number(bound) for bound in bounds]
    return value == operand and numbers == [-math.inf, math.inf]


def _numbers(barrier: ir.Operation) -> list[ir.Value]:
    """What a barrier's vector is put together from, if it is single f32 numbers."""
    joined = defining_op(barrier.operands[0]) if len(barrier.operands) == 1 else None
    if joined is None or joined.name != "stablehlo.concatenate":
        return []
    members = [defining_op(each) for each in joined.operands]
    if any(each is None or each.name != "stablehlo.reshape" for each in members):
        return []
    numbers = [each.operands[0] for each in members if each is not None]
    return numbers if all(is_packable(each) for each in numbers) else []


def _place(reader: ir.Operation) -> int | None:
    """Which element of a vector a slice takes, if nothing but numbers of rank 0 is made of it."""
    if reader.name != "stablehlo.slice":
        return None
    uses = [use.owner.operation for use in reader.results[0].uses]
    if any(each.name != "stablehlo.reshape" or not is_packable(each.results[0]) for each in uses):
        return None
    start, limit = (list(ir.DenseI64ArrayAttr(reader.attributes[f"{end}_indices"])) for end in ("start", "limit"))
    return start[0] if len(start) == 1 and limit[0] == start[0] + 1 else None
