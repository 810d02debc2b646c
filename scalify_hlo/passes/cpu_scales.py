"""`scalify-cpu-scales`: all arithmetic of scales in one kernel on XLA:CPU.

Rewritten modules compute the scales that follow from their arguments in one vector, and those that leave them as
results of reductions or in another vector, as it suits GPUs. XLA:CPU makes a kernel of each number that goes into a
vector or a reduction, and compiles each with LLVM unless they are the same; and kernels of equal layers are the same
only if each reads numbers of its own, instead of one vector at places of its own. What it makes one kernel of is a
call that it is told not to inline, and to be small (xla/backends/cpu/codegen, ComputationKernelEmitter; XLA:CPU itself
makes such calls of small loops), whatever the call computes. So the arithmetic of rank-0 values that follows from the
arguments alone becomes a function that is called at the start, and what is left and only leaves the program one that
is called at the end. What waits for a statistic becomes one that is called behind it: XLA:CPU would compute it again in
each kernel that reads a scale, which is most of what it compiled of an FP8 step with measured gradients. Numbers that
follow from constants stay where they are, and tensors that are computed of them are constants to XLA.

The front end and the execution tools run the pass where they compile for XLA:CPU. XLA:GPU fuses nothing within a call.

# vector[i] = s_i, max(s, -inf) = s
"""

import dataclasses
from collections.abc import Iterable
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.emit.outlining import leaving, outline, settled_values
from scalify_hlo.emit.packed_scales import (
    FEWEST,
    FEWEST_ARGUMENTS,
    numbers_of_concatenation,
    numbers_of_reduction,
    place_in_vector,
    reduced,
)
from scalify_hlo.engine.selection import SCALES
from scalify_hlo.engine.signature import arguments_of_role
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.joined_arithmetic import apart
from scalify_hlo.types import tensor_info

# A power of two is found in a number's bits.
_ARITHMETIC = {
    "stablehlo.bitcast_convert",
    *(
        name
        for name in names(Trait.ELEMENTWISE, without=Trait.BODY | Trait.BOUND_TO_TYPE)
        if name.startswith("stablehlo.")
    ),
}
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
        known: dict[ir.Block, dict[ir.Value, list[ir.Value]]] = {}
        changed = [_apart(op, known.setdefault(op.block, {}), together=not self.calls) for op in vectors]
        if self.calls:
            changed += [_unreduced(op) for op in operations if op.name == "stablehlo.reduce"]
        functions = [op.operation for op in module.body.operations if any(len(r.blocks) for r in op.operation.regions)]
        if any(changed) or any(arguments_of_role(function, SCALES) for function in functions):
            erase_dead(module)
            for function in functions if self.calls else ():
                _call(module, function)


def _call(module: ir.Module, function: ir.Operation) -> None:
    """Move the arithmetic of rank-0 values in a function's body into functions that it calls."""
    block = function.regions[0].blocks[0]
    joining = _joining(terminator(block))
    settled = settled_values(block)
    vectors = arguments_of_role(function, SCALES)
    known: set[ir.Value] = {argument for argument in block.arguments if tensor_info(argument.type).rank == 0} | vectors
    numbers: list[ir.Operation] = []
    first: list[ir.Operation] = []
    for operation in block.operations:
        op = operation.operation
        taken = bool(vectors) and _vector_taken_from(op) in vectors
        if (not taken and not _is_arithmetic(op) and op not in joining) or op.results[0] in settled:
            continue
        numbers.append(op)
        if all(operand in known or operand in settled for operand in op.operands) and op not in joining:
            known.add(op.results[0])
            first.append(op)
    last = _only_leaving(op for op in numbers if op.results[0] not in known)
    if len(leaving(last)) >= FEWEST or not joining.isdisjoint(last):
        _outline(module, "leaving_scales", last, terminator(block), settled)
    if len(leaving(first)) >= FEWEST_ARGUMENTS:
        moved = set(first)
        before = next(op.operation for op in block.operations if op.operation not in moved)
        _outline(module, "scales", first, before, settled, of_arguments=True)
    _outline_followers(module, block, settled)


def _outline_followers(module: ir.Module, block: ir.Block, settled: set[ir.Value]) -> None:
    """Move arithmetic of rank-0 values that waits for the same value of data into a function each, called behind it."""
    operations = [operation.operation for operation in block.operations]
    numbers = {op.results[0] for op in operations if _is_arithmetic(op) or _vector_taken_from(op) is not None} - settled
    while numbers:
        groups = _by_latest(operations, numbers, settled)
        small = [group for place, group in groups.items() if not place or sum(map(_is_arithmetic, group)) < FEWEST]
        few = [op.results[0] for group in small for op in group]
        if not few:
            break
        numbers.difference_update(few)  # they stay where they are, and others wait for them
    else:
        return
    others = [op for op in operations if not op.results or op.results[0] not in numbers]
    for place, group in groups.items():
        _outline(module, "scales", group, others[place], settled)


def _by_latest(
    operations: list[ir.Operation], numbers: set[ir.Value], settled: set[ir.Value]
) -> dict[int, list[ir.Operation]]:
    """Of those operations that give `numbers` lists of which each waits for the same of all others.

    Its key is how many others there are up to this one, 0 for what waits for none. Others are without what is settled.
    """
    waits: dict[ir.Value, int] = {}
    groups: dict[int, list[ir.Operation]] = {}
    count = 0
    for op in operations:
        if op.results and op.results[0] in numbers:
            latest = max((waits.get(operand, 0) for operand in op.operands), default=0)
            waits[op.results[0]] = latest
            groups.setdefault(latest, []).append(op)
            continue
        count += 1
        if settled.isdisjoint(op.results):
            waits.update((result, count) for result in op.results)
    return groups


def _vector_taken_from(op: ir.Operation) -> ir.Value | None:
    """The vector that an operation takes a number out of: a slice, or the reshape of one."""
    slice_ = defining_op(op.operands[0]) if op.name == "stablehlo.reshape" else op
    return None if slice_ is None or place_in_vector(slice_) is None else slice_.operands[0]


def _joining(last: ir.Operation) -> set[ir.Operation]:
    """What puts returned vectors of numbers together: concatenations, and the reshapes of their operands."""
    found: set[ir.Operation] = set()
    for returned in last.operands:
        joined = defining_op(returned)
        if joined is not None and joined.name == "stablehlo.concatenate" and numbers_of_concatenation(joined):
            found.add(joined)
            found.update(each.owner.operation for each in joined.operands)
    return found


def _outline(
    module: ir.Module,
    name: str,
    operations: list[ir.Operation],
    before: ir.Operation,
    settled: set[ir.Value],
    *,
    of_arguments: bool = False,
) -> None:
    """Make operations calls. of_arguments: they follow from the function's arguments alone.

    What else a call reads XLA may find to be a number, which it writes into the called function; XLA:CPU 0.10 ends the
    process for a parameter that no instruction reads then. So it comes in one vector with what the call waits for.
    """
    for start in range(0, len(operations), _MOST_OPERATIONS):
        part = operations[start : start + _MOST_OPERATIONS]
        outline(module, name, part, before, _ONE_KERNEL, settled=settled, in_one_vector=not of_arguments)


def _is_arithmetic(op: ir.Operation) -> bool:
    if op.name not in _ARITHMETIC or len(op.results) != 1:
        return False
    return all(
        tensor_info(value.type).rank == 0 and tensor_info(value.type).element in _NUMBERS
        for value in (op.results[0], *op.operands)
    )


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


def _apart(barrier: ir.Operation, known: dict[ir.Value, list[ir.Value]], *, together: bool) -> bool:
    """Replace the elements of a vector of numbers by the numbers; False if the barrier is of anything else.

    known: of vectors that are taken apart in its block, the numbers. together: by results of one reduction of them.
    """
    if len(barrier.operands) != 1 or len(tensor_info(barrier.results[0].type).shape) != 1:
        return False
    readers = [use.owner.operation for use in barrier.results[0].uses]
    places = [place_in_vector(reader) for reader in readers]
    if not readers or None in places:
        return False
    with ir.InsertionPoint(barrier), barrier.location:
        numbers = apart(barrier.operands[0], known)
        if not numbers:
            return False
        results = reduced(numbers) if together and len(numbers) >= FEWEST else numbers
    for reader, place in zip(readers, places, strict=True):
        for use in list(reader.results[0].uses):
            use.owner.operation.results[0].replace_all_uses_with(results[place or 0])
    return True


def _unreduced(reduction: ir.Operation) -> bool:
    """Replace the results of a reduction of numbers beside minus infinities by the numbers; False if it is no such."""
    found = numbers_of_reduction(reduction)
    for result, number in zip(reduction.results, found, strict=False):
        result.replace_all_uses_with(number)
    return bool(found)
