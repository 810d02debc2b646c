"""`scalify-join-statistics`: statistics of small tensors are reduced together where none depends on another.

# sum x^2, sum y^2: one reduction of x^2 and y^2, of one shape

A scale that follows its data needs the root mean square of a gradient, or of a sample of new state. Each is a kernel,
which of a bias, a gain or a sample reads some kilobytes, and there are as many of them as there are tensors. Only
numbers of which no more than the exponent is read: the order of their terms may change. Only on one device.
"""

import dataclasses
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.analysis.dependence import computed_before, latest, levels
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.manual import is_partitioned
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.joined_arithmetic import join_arithmetic
from scalify_hlo.types import tensor_info

_REDUCE, _MULTIPLY = "stablehlo.reduce", "stablehlo.multiply"
# Elements: what waits for the statistic of another tensor stays in memory until then.
_SMALL = 2**16


@dataclasses.dataclass(frozen=True)
class JoinStatistics(Pass):
    """Reduce statistics of small tensors together where none depends on another."""

    name: ClassVar[str] = "scalify-join-statistics"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Rewrites sums of squares in place."""
        if is_partitioned(module):
            return
        found: dict[ir.Block, list[ir.Operation]] = {}
        for op in walk(module.operation):
            if op.name == _REDUCE and _is_statistic(op):
                found.setdefault(op.block, []).append(op)
        with module.context, ir.Location.unknown(module.context):
            count = sum(_join(block, ops) for block, ops in found.items() if len(ops) > 1)
            if count:
                erase_dead(module)
        if count:
            remarks.append(Diagnostic(f"{self.name}: {count} statistics are reduced together", "", "remark"))


def _is_statistic(op: ir.Operation) -> bool:
    """Whether an operation sums all squares of a small tensor, and what is made of the sum reads its exponent alone."""
    squares = defining_op(op.operands[0])
    if squares is None or squares.name != _MULTIPLY or squares.operands[0] != squares.operands[1]:
        return False
    info, number = tensor_info(squares.results[0].type), tensor_info(op.results[0].type)
    if len(op.results) > 1 or number.rank or number.element != "f32" or not info.is_static or info.size > _SMALL:
        return False
    return body_kind(op) == "add" and number_behind(op.operands[1]) == 0 and _exponent_is_read(op.results[0])


def _exponent_is_read(number: ir.Value) -> bool:
    """Whether a number is multiplied by constants, and perhaps its root taken, before its bits are masked."""
    while True:
        uses = list(number.uses)
        if len(uses) != 1:
            return False
        op = uses[0].owner.operation
        if op.name == "stablehlo.bitcast_convert":
            return True
        if op.name not in ("stablehlo.divide", _MULTIPLY, "stablehlo.sqrt"):
            return False
        for other in op.operands:
            if other != number and number_behind(other) is None:
                return False
        number = op.results[0]


def _join(block: ir.Block, ops: list[ir.Operation]) -> int:
    """Join those statistics of a block that are of one shape, and of which none depends on another; how many."""
    own = {op.results[0]: op for op in ops}
    by_level: dict[int, dict[ir.Type, list[ir.Operation]]] = {}
    for value, level in levels(block, own).items():
        by_level.setdefault(level, {}).setdefault(own[value].operands[0].type, []).append(own[value])
    count = 0
    for level in sorted(by_level, reverse=True):
        groups = [group for group in by_level[level].values() if len(group) > 1]
        if groups:
            _join_groups(block, groups)
            count += sum(map(len, groups))
    return count


def _join_groups(block: ir.Block, groups: list[list[ir.Operation]]) -> None:
    """Join groups of statistics where the latest of all is computed, and move what is computed of them behind it."""
    results = {op.results[0] for group in groups for op in group}
    last = latest(block, results)
    late = computed_before(block, results, last)
    anchor = last
    together: list[ir.Value] = []
    for group in groups:
        with ir.InsertionPoint.after(anchor), last.location:
            parts = [(op.operands[0], "add", 0.0) for op in group]
            sums = emit.reduce_together(parts)
        for op, number in zip(group, sums, strict=True):
            op.results[0].replace_all_uses_with(number)
        anchor = sums[0].owner.operation
        together += sums
    behind = anchor
    for op in late:
        op.move_after(anchor)
        anchor = op
    for group in groups:
        for op in group:
            op.erase()
    join_arithmetic(together, block, behind)
