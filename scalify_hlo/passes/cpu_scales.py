"""`scalify-cpu-scales`: scales that XLA:CPU computes in few kernels, and kernels of layers that are the same kernel.

Rewritten modules compute the scales that follow from their arguments in one vector, and those that leave them in
another or in a reduction, as it suits GPUs. XLA:CPU makes a kernel of each number that goes into a vector, and compiles
kernels that differ in nothing but their operands once: those of equal layers do, if each reads numbers of its own
instead of one vector at places of its own. So vectors are taken apart, and the numbers are computed together as
`number_kernels` says. The front end and the execution tools run the pass where they compile for XLA:CPU.

# vector[i] = s_i
# max(x, -inf) = x
"""

import dataclasses
import math
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.emit.packed_scales import is_packable
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.constants import constant_behind, splat_number
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.number_kernels import FEWEST, gather_numbers


@dataclasses.dataclass(frozen=True)
class CPUScales(Pass):
    """Compute scales in few kernels of XLA:CPU instead of vectors."""

    name: ClassVar[str] = "scalify-cpu-scales"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Replaces the vectors, and what is read of them, in place."""
        del remarks
        operations = list(walk(module.operation))
        apart = [_vector_apart(op) for op in operations if op.name == "stablehlo.optimization_barrier"]
        apart += [_reduction_apart(op) for op in operations if op.name == "stablehlo.reduce"]
        if any(apart):
            erase_dead(module)
            for function in module.body.operations:
                for block in function.operation.regions[0].blocks if function.operation.name == "func.func" else ():
                    gather_numbers(block)
            erase_dead(module)


def _vector_apart(barrier: ir.Operation) -> bool:
    """Replace the elements of a vector of numbers by the numbers; False if the barrier is of anything else."""
    numbers = _numbers(barrier)
    readers = [use.owner.operation for use in barrier.results[0].uses] if numbers else []
    places = [_place(reader) for reader in readers]
    if not numbers or None in places:
        return False
    for reader, place in zip(readers, places, strict=True):
        for use in list(reader.results[0].uses):
            for element in _same(use.owner.operation.results[0]):
                element.replace_all_uses_with(numbers[place or 0])
    return True


def _reduction_apart(reduction: ir.Operation) -> bool:
    """Replace the results of a reduction of numbers beside minus infinity by the numbers; False for any other."""
    results = list(reduction.results)
    operands = list(reduction.operands)
    if len(results) < FEWEST or not _takes_maxima(reduction) or not all(map(_is_least, operands[len(results) :])):
        return False
    numbers = [_padded(operand) for operand in operands[: len(results)]]
    for result, number in zip(results, numbers, strict=True):
        if number is not None:
            result.replace_all_uses_with(number)
    return True


def _takes_maxima(reduction: ir.Operation) -> bool:
    """Whether each result of a reduction is the maximum of its own operand's elements."""
    body = reduction.regions[0].blocks[0]
    n = len(reduction.results)
    maxima = [defining_op(value) for value in terminator(body).operands]
    return all(
        op is not None
        and op.name == "stablehlo.maximum"
        and list(op.operands) == [body.arguments[i], body.arguments[n + i]]
        for i, op in enumerate(maxima)
    )


def _padded(value: ir.Value) -> ir.Value | None:
    """The number of which a value is the pair of it and minus infinity."""
    pad = defining_op(value)
    if pad is None or pad.name != "stablehlo.pad" or not _is_least(pad.operands[1]):
        return None
    reshape = defining_op(pad.operands[0])
    if reshape is None or reshape.name != "stablehlo.reshape" or not is_packable(reshape.operands[0]):
        return None
    return reshape.operands[0]


def _is_least(value: ir.Value) -> bool:
    constant = constant_behind(value)
    return constant is not None and splat_number(constant) == -math.inf


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
