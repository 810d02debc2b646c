"""Which kernels a rewritten program has more than its original, and why.

Each operation of the original is given a number in its location. Rewriting and XLA carry it along: an operation that
is added for another one has its number, and a fused kernel has those of all that is in it. A kernel of the rewritten
program takes the place of the original's kernel with which it shares most numbers; those that find no place are extra.
"""

import collections
import dataclasses
import re
from collections.abc import Callable

from scalify_hlo.aot.cost import Kernel, MeasuredProgram, measure_cost
from scalify_hlo.bindings import ir
from scalify_hlo.errors import describe_location
from scalify_hlo.execution.modules import clone, operations

_MARK = re.compile(r"/scalify\.op\.(\d+)")
# Operations that only say what a tensor looks like: sharing one does not make two kernels the same.
_PLUMBING = ("parameter", "constant", "broadcast", "bitcast", "tuple", "get-tuple-element", "iota")


@dataclasses.dataclass(frozen=True)
class ExtraKernel:
    """A launch that the original does not have. source: file position and name stack of the operation it is for."""

    kernel: str
    times: int
    size: int
    cause: str
    source: str


@dataclasses.dataclass(frozen=True)
class Difference:
    """Two programs on one target. extra: what the second launches more, the most frequent first.

    removed: launches of the original that have no counterpart.
    """

    original: MeasuredProgram
    rewritten: MeasuredProgram
    extra: tuple[ExtraKernel, ...]
    removed: int

    def causes(self) -> dict[str, int]:
        """Extra launches by their cause, the most frequent first."""
        count: collections.Counter[str] = collections.Counter()
        for each in self.extra:
            count[each.cause] += each.times
        return dict(count.most_common())


def compare_costs(
    module: ir.Module,
    target: str,
    rewrite: Callable[[ir.Module], None],
    baseline: Callable[[ir.Module], None] | None = None,
) -> Difference:
    """Compile `module` (left unchanged) before and after `rewrite`, which works in place.

    baseline: what to do to the program that is compared with; None leaves it as it is. Raises ScalifyError.
    """
    with module.context, ir.Location.unknown(module.context):
        marked = clone(module)
        sources = mark_operations(marked)
        first, second = clone(marked), marked
        if baseline is not None:
            baseline(first)
        rewrite(second)
        costs = [measure_cost(each, target, sources) for each in (first, second)]
        return difference(costs[0], costs[1], sources)


def measure_with_sources(module: ir.Module, target: str) -> MeasuredProgram:
    """The cost of `module` (left unchanged), its collectives with their sources. Raises ScalifyError."""
    with module.context, ir.Location.unknown(module.context):
        marked = clone(module)
        return measure_cost(marked, target, mark_operations(marked))


def difference(original: MeasuredProgram, rewritten: MeasuredProgram, sources: list[str]) -> Difference:
    """Match the kernels of two programs compiled from operations with marks."""
    places: dict[int, list[int]] = {}
    for index, kernel in enumerate(original.kernels):
        for mark in _marks(kernel):
            places.setdefault(mark, []).append(index)
    votes: list[tuple[int, int, int]] = []
    for index, kernel in enumerate(rewritten.kernels):
        count: collections.Counter[int] = collections.Counter()
        for mark in _marks(kernel):
            for place in places.get(mark, ()):
                alike = original.kernels[place].kind == kernel.kind
                count[place] += 2 if alike else 1
        votes += [(number, index, place) for place, number in count.items()]
    matched: dict[int, int] = {}
    free = {index: kernel.times for index, kernel in enumerate(original.kernels)}
    for _, index, place in sorted(votes, key=lambda vote: (-vote[0], -rewritten.kernels[vote[1]].size)):
        if index not in matched and free[place] > 0:
            matched[index] = place
            free[place] -= rewritten.kernels[index].times
    extra: list[ExtraKernel] = []
    for index, kernel in enumerate(rewritten.kernels):
        times = kernel.times if index not in matched else max(-free[matched[index]], 0)
        if times:
            if index in matched:
                free[matched[index]] = 0
            marks = sorted(_marks(kernel))
            source = next((sources[mark] for mark in reversed(marks) if sources[mark]), kernel.op_name)
            extra.append(ExtraKernel(kernel.name, times, kernel.size, _cause(kernel, marks, places), source))
    extra.sort(key=lambda each: (-each.times, -each.size))
    return Difference(original, rewritten, tuple(extra), sum(max(number, 0) for number in free.values()))


def mark_operations(module: ir.Module) -> list[str]:
    """Give each operation its number, and return where each comes from."""
    sources: list[str] = []
    for op in operations(module):
        if op.name in ("func.func", "builtin.module", "sdy.mesh"):
            continue
        location = op.location
        sources.append(describe_location(location))
        mark = f"/scalify.op.{len(sources) - 1}"
        # At the end of the name: passes read what stands at its beginning.
        if isinstance(location, ir.NameLoc):
            op.location = ir.Location.name(location.name_str + mark, location.child_loc)
        else:
            op.location = ir.Location.name(mark, location)
    return sources


def _marks(kernel: Kernel) -> set[int]:
    names = [kernel.op_name, *(each.op_name for each in kernel.members if each.opcode not in _PLUMBING)]
    return {int(found) for name in names for found in _MARK.findall(name)}


def _cause(kernel: Kernel, marks: list[int], places: dict[int, list[int]]) -> str:
    if kernel.kind == "scalar":
        return "arithmetic of scales"
    if kernel.kind == "copy":
        return "copy of a scale to its result" if kernel.size <= 16 else "copy of a tensor"
    names = {each.opcode for each in kernel.members} | {kernel.opcode}
    if any(each.shapes and each.shapes[0][0].startswith("f8") for each in kernel.members):
        return "conversion to FP8"
    if "reduce" in names:
        return "a statistic, or a reduction split off"
    if "transpose" in names or "copy" in names:
        return "another layout"
    if not any(mark in places for mark in marks):
        return "work that the original compiles to nothing"
    if "multiply" in names or "divide" in names:
        return "a scale splits a fusion of the original"
    return "a fusion of the original in two"
