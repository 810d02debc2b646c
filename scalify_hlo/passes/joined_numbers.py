"""Numbers that devices sum, as one vector where none depends on another: statistics that scales follow, above all.

# sum_d concatenate(x_d, y_d) = concatenate(sum_d x_d, sum_d y_d)

Each such sum takes as long as a small message does. Numbers of one place (all weights of a step, all its gradients, the
scores of parallel branches) need not wait for each other; those of layers on top of each other do, and stay apart. A
number is summed as late as those that depend on it allow: those that only leave the program, such as the statistics of
new weights and the loss, leave together.
"""

import dataclasses
from collections.abc import Iterator

from scalify_hlo.analysis.dependence import computed_before, levels
from scalify_hlo.bindings import ir
from scalify_hlo.emit.packed_scales import elements_of
from scalify_hlo.module.carriers import constrain, lay_out, pinned
from scalify_hlo.module.manual import device_groups
from scalify_hlo.module.propagation import Axes, Propagated
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.device_sums import REDUCTION, number_sum
from scalify_hlo.types import tensor_info

ALL_REDUCE = "stablehlo.all_reduce"


@dataclasses.dataclass(eq=False)
class _Number:
    """A number that devices sum, or take the maximum of. kind: equal for those that can be joined. axes, layout: of a
    reduction that the partitioner sums."""

    op: ir.Operation
    kind: tuple[str, ...]
    axes: frozenset[str] = frozenset()
    layout: Axes = ()


def join_numbers(module: ir.Module, known: Propagated | None) -> int:
    """Sum independent numbers over devices as vectors, in place; returns how many vectors there are.

    known: how Shardy lays out the module; None where there are only sums that the module asks for itself.
    """
    count = 0
    for block in list(_blocks(module.operation)):
        numbers = [found for op in block.operations if (found := _number(op.operation, known)) is not None]
        while (group := _independent(block, numbers)) is not None:
            numbers = [each for each in numbers if each not in group]
            _join(block, group, known)
            count += 1
    return count


def _blocks(op: ir.Operation) -> Iterator[ir.Block]:
    """All blocks in an operation, but for those of sums themselves: a joined sum is erased, and its block with it."""
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in block.operations:
                if inner.operation.name not in (REDUCTION, ALL_REDUCE):
                    yield from _blocks(inner.operation)


def _number(op: ir.Operation, known: Propagated | None) -> _Number | None:
    if op.name not in (REDUCTION, ALL_REDUCE) or len(op.results) != 1:
        return None
    info = tensor_info(op.results[0].type)
    if info.rank:
        return None
    if op.name == ALL_REDUCE:
        body = [each.operation for each in op.regions[0].blocks[0].operations]
        if len(body) != 2:
            return None
        numbering = "use_global_device_ids" in op.attributes
        return _Number(op, (body[0].name, info.element, device_groups(op), str(numbering)))
    found = None if known is None else number_sum(op, known)
    if found is None:
        return None
    return _Number(op, (REDUCTION, info.element, *sorted(found.axes)), found.axes, found.operands[0])


def _independent(block: ir.Block, numbers: list[_Number]) -> list[_Number] | None:
    """The first numbers of one kind of which none depends on another, in program order; None where there are none.

    They are as many numbers from the end of the program as each other: on the longest way through numbers that depend
    on them.
    """
    kinds = [each.kind for each in numbers]
    if all(kinds.count(kind) < 2 for kind in kinds):
        return None
    own = {each.op.results[0]: each for each in numbers}
    groups: dict[tuple[int, tuple[str, ...]], list[_Number]] = {}
    for value, level in levels(block, own).items():
        groups.setdefault((level, own[value].kind), []).append(own[value])
    return next((group for group in groups.values() if len(group) > 1), None)


def _join(block: ir.Block, group: list[_Number], known: Propagated | None) -> None:
    last = group[-1].op
    late = computed_before(block, {each.op.results[0] for each in group}, last)
    uses = [[(use.owner.operation, use.operand_number) for use in each.op.results[0].uses] for each in group]
    with ir.InsertionPoint.after(last), last.location:
        vector = _summed(group, known)
        numbers = list(elements_of(vector, range(len(group))))
    for number, users in zip(numbers, uses, strict=True):
        for user, index in users:
            user.operands[index] = number
    anchor = numbers[-1].owner.operation
    for op in late:
        op.move_after(anchor)
        anchor = op
    for each in group:
        if each.op.name == ALL_REDUCE:
            each.op.erase()


def _summed(group: list[_Number], known: Propagated | None) -> ir.Value:
    """The vector of a group's numbers, summed over the devices."""
    element, first = tensor_info(group[0].op.results[0].type).element, group[0]
    one = emit.tensor_type((1,), element)
    if first.op.name == ALL_REDUCE:
        vector = emit.concatenate([emit.op("reshape", one, each.op.operands[0]) for each in group])
        whole = first.op.clone(ip=ir.InsertionPoint.current)
        whole.operands[0] = vector
        whole.results[0].set_type(vector.type)
        return whole.results[0]
    assert known is not None
    axes = sorted(first.axes)
    for each in group:
        lay_out(each.op, known.sharding((), axes))
        each.op.operands[0] = pinned(each.op.operands[0], known.sharding(each.layout), ir.InsertionPoint(each.op))
    parts = [emit.op("reshape", one, each.op.results[0]) for each in group]
    vector = emit.concatenate(parts)
    for value in (*parts, vector):
        lay_out(value.owner.operation, known.sharding(((),), axes))
    return constrain(vector, known.sharding(((),)), ir.InsertionPoint.after(vector.owner.operation))
