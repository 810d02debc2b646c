"""`scalify-join-carried`: numbers that a loop carries and changes, or that branches return, are one vector.

# while (s, t) <- (f(s, t), g(s, t)) is while v <- (f(v_0, v_1), g(v_0, v_1))
# s, t = if p then (a, b) else (c, d) is v = if p then (a, b) else (c, d); s = v_0; t = v_1

A loop carries a scale beside each tensor whose scale an iteration changes. Apart, each is a kernel that computes the
new number and, because the old one is still read then, another one that copies it to where the next iteration looks for
it. As elements of one vector all are written by one kernel. A branch copies each number that it returns as it finds it,
for the same reason. What reads a number takes it out of the vector itself, also within a loop or a branch of its own:
taken out in front of one it would be a kernel. So it is with the stacks that numbers of each iteration are written into
(`scalify_hlo/passes/joined_stacks.py`).

Numbers that the condition reads stay apart: how often a loop runs is told by them. Only on one device.
"""

import dataclasses
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, hands_on, terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.emit.packed_scales import elements_of, is_packable, place_in_vector, vector_of
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.function_types import replace_terminator
from scalify_hlo.module.manual import is_partitioned
from scalify_hlo.module.traits import BRANCHES
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.joined_stacks import join_stacks
from scalify_hlo.passes.replaced_operations import hand_over, in_place_of

_LOOP = "stablehlo.while"
# One number is written by one kernel as it is.
_FEWEST = 2


@dataclasses.dataclass(frozen=True)
class JoinCarried(Pass):
    """Carry the numbers that a loop changes, and return those of branches, as one vector."""

    name: ClassVar[str] = "scalify-join-carried"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Rewrites loops and branches in place."""
        if is_partitioned(module):
            return
        with module.context, ir.Location.unknown(module.context):
            found, stacks, count = _loops_and_branches(module), 0, 0
            while (joined := join_stacks(op for op in found if op.name == _LOOP)) != 0:
                stacks += joined
                found = _loops_and_branches(module)
            for op in found:
                numbers = _changed(op) if op.name == _LOOP else _returned(op)
                if len(numbers) >= _FEWEST:
                    (_join_carried if op.name == _LOOP else _join_returned)(op, numbers)
                    count += len(numbers)
            if count:
                _read_where_used(module)
        if count:
            message = f"{self.name}: {count} numbers of loops and branches are carried in vectors"
            remarks.append(Diagnostic(message, "", "remark"))
        if stacks:
            remarks.append(Diagnostic(f"{self.name}: {stacks} stacks of numbers are written as rows", "", "remark"))


def _loops_and_branches(module: ir.Module) -> list[ir.Operation]:
    """Outer ones first."""
    return [op for op in walk(module.operation) if op.name == _LOOP or op.name in BRANCHES]


def _changed(loop: ir.Operation) -> list[int]:
    """Positions of the f32 numbers that an iteration changes and the condition does not read."""
    condition, body = (region.blocks[0] for region in loop.regions)
    return [
        i
        for i, (argument, returned) in enumerate(zip(body.arguments, terminator(body).operands, strict=True))
        if returned != argument and is_packable(argument) and next(condition.arguments[i].uses, None) is None
    ]


def _returned(op: ir.Operation) -> list[int]:
    """Positions of the f32 numbers that branches return and something reads."""
    return [i for i, value in enumerate(op.results) if is_packable(value) and next(value.uses, None) is not None]


def _join_carried(loop: ir.Operation, numbers: list[int]) -> None:
    """Replace a loop by one that carries some of its numbers as a vector, behind all else."""
    others = [i for i in range(len(loop.operands)) if i not in set(numbers)]
    with ir.InsertionPoint(loop), loop.location:
        vector = vector_of([loop.operands[i] for i in numbers])
    joined = in_place_of(loop, [*(loop.operands[i] for i in others), vector], others, [vector.type])
    for region in joined.regions:
        block = region.blocks[0]
        carried = block.add_argument(vector.type, loop.location)
        with ir.InsertionPoint.at_block_begin(block), loop.location:
            _read_from(carried, [block.arguments[i] for i in numbers])
        for i in reversed(numbers):
            block.erase_argument(i)
    _return_vector(joined.regions[1].blocks[0], numbers, others)
    _read_results(loop, joined, numbers, others)


def _join_returned(op: ir.Operation, numbers: list[int]) -> None:
    """Replace branches by ones that return some of their numbers as a vector, behind all else."""
    others = [i for i in range(len(op.results)) if i not in set(numbers)]
    type_ = emit.tensor_type((len(numbers),), "f32")
    joined = in_place_of(op, list(op.operands), others, [type_])
    for region in joined.regions:
        _return_vector(region.blocks[0], numbers, others)
    _read_results(op, joined, numbers, others)


def _return_vector(block: ir.Block, numbers: list[int], others: list[int]) -> None:
    last = terminator(block)
    returned = list(last.operands)
    with ir.InsertionPoint(last), last.location:
        vector = vector_of([returned[i] for i in numbers])
    replace_terminator(last, [*(returned[i] for i in others), vector])


def _read_results(op: ir.Operation, joined: ir.Operation, numbers: list[int], others: list[int]) -> None:
    """Let what read the results of an operation read those of the one that takes its place."""
    with ir.InsertionPoint.after(joined), op.location:
        _read_from(joined.results[len(others)], [op.results[i] for i in numbers])
    hand_over(op, joined, others)


def _read_where_used(module: ir.Module) -> None:
    """Take numbers out of vectors in the loops and branches that read them: a number between the two is a kernel."""
    for op in [each for each in walk(module.operation) if each.name == _LOOP]:
        _capture(op)
    for op in [each for each in walk(module.operation) if _is_element(each)]:
        inner: dict[ir.Block, list[tuple[ir.Operation, int]]] = {}
        for use in op.results[0].uses:
            user = use.owner.operation
            if user.block != op.block:
                inner.setdefault(user.block, []).append((user, use.operand_number))
        slice_ = op.operands[0].owner.operation
        for block, users in inner.items():
            with ir.InsertionPoint.at_block_begin(block):
                first, copy = slice_.clone(), op.clone()
            copy.operands[0] = first.results[0]
            for user, index in users:
                user.operands[index] = copy.results[0]
        for each in (op, slice_):
            if next(each.results[0].uses, None) is None:
                each.erase()


def _is_element(op: ir.Operation) -> bool:
    """Whether an operation makes a number of one element of a vector."""
    slice_ = defining_op(op.operands[0]) if op.name == "stablehlo.reshape" and is_packable(op.results[0]) else None
    return slice_ is not None and place_in_vector(slice_) is not None


def _capture(loop: ir.Operation) -> None:
    """Let a loop read elements of vectors that it carries and does not change from outside."""
    condition, body = (region.blocks[0] for region in loop.regions)
    last = terminator(body)
    for i, operand in enumerate(loop.operands):
        op = defining_op(operand)
        if op is not None and _is_element(op) and hands_on(loop, i):
            for block in (condition, body):
                argument = block.arguments[i]
                for use in list(argument.uses):
                    if use.owner.operation != last:
                        use.owner.operation.operands[use.operand_number] = operand


def _read_from(vector: ir.Value, numbers: list[ir.Value]) -> None:
    """Let what reads numbers read elements of a vector."""
    read = [i for i, number in enumerate(numbers) if next(number.uses, None) is not None]
    for i, element in zip(read, elements_of(vector, read), strict=True):
        numbers[i].replace_all_uses_with(element)
