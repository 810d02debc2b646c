"""`scalify-cpu-scales`: all arithmetic of scales in one kernel on XLA:CPU.

Rewritten modules compute the scales that follow from their arguments in one vector, and those that leave them as
results of reductions or in another vector, as it suits GPUs. XLA:CPU makes a kernel of each number that goes into a
vector or a reduction, and compiles each with LLVM unless they are the same; and kernels of equal layers are the same
only if each reads numbers of its own, instead of one vector at places of its own. What it makes one kernel of is a
call that it is told not to inline, and to be small (xla/backends/cpu/codegen, ComputationKernelEmitter; XLA:CPU itself
makes such calls of small loops), whatever the call computes. So the arithmetic of rank-0 values that follows from the
arguments alone becomes a function that is called at the start, and what is left and only leaves the program one that
is called at the end.

The front end and the execution tools run the pass where they compile for XLA:CPU. XLA:GPU fuses nothing within a call.

# vector[i] = s_i, max(s, -inf) = s
"""

import dataclasses
import math
from collections.abc import Iterable
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.emit.outlining import leaving, outline
from scalify_hlo.emit.packed_scales import FEWEST, FEWEST_ARGUMENTS, is_packable, reduced
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.constants import constant_behind, splat_number
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.passes.base import Pass
from scalify_hlo.types import tensor_info

_ARITHMETIC = frozenset(
    name for name in names(Trait.ELEMENTWISE, without=Trait.BODY | Trait.BOUND_TO_TYPE) if name.startswith("stablehlo.")
)
_NUMBERS = frozenset({"f32", "i1", "i32", "ui32"})
# One kernel of a call that stays one.
_ONE_KERNEL = {"xla_cpu_small_call": "true", "inlineable": "false"}
# LLVM takes far more than proportionally longer for long functions: for BERT's 1,173 operations, compiled alone, 3 to
# 4 s in one call, 1.4 s in calls of 150 operations and 1.0 s in calls of 75.
_MOST_OPERATIONS = 128


@dataclasses.dataclass(frozen=True)
class CPUScales(Pass):
    """Compute scales in one kernel, for XLA:CPU."""

    name: ClassVar[str] = "scalify-cpu-scales"
    # Of a call. Without, a vector becomes results of reductions: calls of partitioned programs are inlined.
    calls: bool = True

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Replaces the vectors and reductions, and what is read of them, in place."""
        del remarks
        operations = list(walk(module.operation))
        vectors = [op for op in operations if op.name == "stablehlo.optimization_barrier"]
        changed = [_apart(op, together=not self.calls) for op in vectors]
        if self.calls:
            changed += [_unreduced(op) for op in operations if op.name == "stablehlo.reduce"]
        if any(changed):
            erase_dead(module)
            for function in list(module.body.operations) if self.calls else ():
                if any(len(region.blocks) for region in function.operation.regions):  # no declaration
                    _call(module, function.operation)


def _call(module: ir.Module, function: ir.Operation) -> None:
    """Move the arithmetic of rank-0 values in a function's body into functions that it calls."""
    block = function.regions[0].blocks[0]
    numbers = [op.operation for op in block.operations if _is_arithmetic(op.operation)]
    known: set[ir.Value] = {argument for argument in block.arguments if tensor_info(argument.type).rank == 0}
    first: list[ir.Operation] = []
    for op in numbers:
        if all(operand in known or _is_constant(operand) for operand in op.operands):
            known.add(op.results[0])
            first.append(op)
    last = _only_leaving(op for op in numbers if op.results[0] not in known)
    if len(leaving(last)) >= FEWEST:
        _outline(module, "leaving_scales", last, terminator(block))
    if len(leaving(first)) >= FEWEST_ARGUMENTS:
        moved = set(first)
        _outline(module, "scales", first, next(op.operation for op in block.operations if op.operation not in moved))


def _outline(module: ir.Module, name: str, operations: list[ir.Operation], before: ir.Operation) -> None:
    for start in range(0, len(operations), _MOST_OPERATIONS):
        outline(module, name, operations[start : start + _MOST_OPERATIONS], before, _ONE_KERNEL)


def _is_arithmetic(op: ir.Operation) -> bool:
    if op.name not in _ARITHMETIC or len(op.results) != 1:
        return False
    return all(
        tensor_info(value.type).rank == 0 and tensor_info(value.type).element in _NUMBERS
        for value in (op.results[0], *op.operands)
    )


def _is_constant(value: ir.Value) -> bool:
    op = defining_op(value)
    return op is not None and op.name == "stablehlo.constant"


def _only_leaving(numbers: Iterable[ir.Operation]) -> list[ir.Operation]:
    """Of operations in a block's order those that nothing reads but each other and the block's terminator."""
    found: set[ir.Operation] = set()
    ordered: list[ir.Operation] = []
    for op in reversed(list(numbers)):
        readers = [use.owner.operation for use in op.results[0].uses]
        if all(reader in found or reader.name == "func.return" for reader in readers):
            found.add(op)
            ordered.append(op)
    return ordered[::-1]


def _apart(barrier: ir.Operation, *, together: bool) -> bool:
    """Replace the elements of a vector of numbers by the numbers; False if the barrier is of anything else.

    together: by results of one reduction of them.
    """
    numbers = _numbers(barrier)
    readers = [use.owner.operation for use in barrier.results[0].uses] if numbers else []
    places = [_place(reader) for reader in readers]
    if not numbers or None in places:
        return False
    with ir.InsertionPoint(barrier), barrier.location:
        results = reduced(numbers) if together and len(numbers) >= FEWEST else numbers
    for reader, place in zip(readers, places, strict=True):
        for use in list(reader.results[0].uses):
            for element in _same(use.owner.operation.results[0]):
                element.replace_all_uses_with(results[place or 0])
    return True


def _unreduced(reduction: ir.Operation) -> bool:
    """Replace the results of a reduction of numbers beside minus infinities by the numbers; False if it is no such."""
    count = len(reduction.results)
    body = [op.operation.name for op in reduction.regions[0].blocks[0].operations]
    numbers = [_beside_infinity(operand) for operand in reduction.operands[:count]]
    found = [number for number in numbers if number is not None]
    if body != ["stablehlo.maximum"] * count + ["stablehlo.return"] or len(found) < count:
        return False
    for result, number in zip(reduction.results, found, strict=True):
        result.replace_all_uses_with(number)
    return True


def _beside_infinity(operand: ir.Value) -> ir.Value | None:
    """The number s of a vector (s, -inf); None if it is anything else."""
    pad = defining_op(operand)
    if pad is None or pad.name != "stablehlo.pad" or tensor_info(operand.type).shape != (2,):
        return None
    alone, padding = defining_op(pad.operands[0]), constant_behind(pad.operands[1])
    if padding is None or splat_number(padding) != -math.inf or alone is None or alone.name != "stablehlo.reshape":
        return None
    return alone.operands[0] if is_packable(alone.operands[0]) else None


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
