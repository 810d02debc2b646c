"""Which values of a program lie in memory when it runs, and which are computed again wherever they are read.

A compiler makes one kernel of operations on elements and of the sums over rows between them. What a later kernel reads
is written to memory, or computed again from what is there: the latter where one tensor is all that it is computed from.

    3 h^2, 1 - tanh(h)  read again by the backward pass: computed again from h
    x + f(x)            of two tensors: in memory, if it is read again
    relu(x + y) > 0     read again: computed again from x + y, which is in memory then
    h (1 + t) / 2       read by a product, which takes its operands from memory; what reads it later does too
"""

import dataclasses
import itertools
from collections.abc import Iterator

from scalify_hlo.analysis.calls import CallGraph, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.carriers import carries
from scalify_hlo.module.identity import is_scale_marker
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.types import tensor_info

_CONSTANTS, _MOVES, _ASSEMBLES = names(Trait.CONSTANT), names(Trait.MOVES), names(Trait.ASSEMBLES)
_ON_ELEMENTS = names(Trait.ELEMENTWISE) | names(Trait.CARRIES) | _MOVES | _ASSEMBLES
_SUM, _CUSTOM = "stablehlo.reduce", "stablehlo.custom_call"
_ENDS = ("stablehlo.return", "func.return")
# Of these a product reads the operand in another place, if it reads the result.
_HANDS_ON = _MOVES | names(Trait.CARRIES) | {_CUSTOM}
# Of more tensors than this nothing is known but that they are several.
_SEVERAL = 2


@dataclasses.dataclass(frozen=True, slots=True)
class _Step:
    """An operation where functions are inlined.

    large: operands of one on elements that are tensors in memory or computed of such. again: whether what reads its
    results is another kernel.
    """

    name: str
    operands: list[ir.Value]
    results: list[ir.Value]
    on_elements: bool
    large: set[ir.Value]
    again: bool


class Memory:
    """What is known of the blocks noted so far. Functions are taken for inlined, as compilers do."""

    def __init__(self, calls: CallGraph) -> None:
        """calls: of a module whose functions are called once each."""
        self._calls = calls
        self._noted: set[ir.Block] = set()
        # What functions are given and give back: arguments are operands, and a call's results what is returned.
        self._same: dict[ir.Value, ir.Value] = {}
        self._spread: set[ir.Value] = set()  # constants, and what is computed of much smaller tensors alone
        # What a value is computed from in one kernel: tensors in memory, at most _SEVERAL.
        self._sources: dict[ir.Value, frozenset[ir.Value]] = {}
        self._written: set[ir.Value] = set()
        self._opaque: set[ir.Value] = set()  # results of custom calls and composites in the block that is noted

    def is_written(self, value: ir.Value) -> bool:
        """Whether a value that operations on elements compute is read from memory by others of them, or summed.

        One that a custom call or a composite computes: whether it is read again after the kernels that come next.
        """
        return self._inlined(value) in self._written

    def note(self, block: ir.Block) -> None:
        """Look at the operations of a block and of functions that it calls, before any of them changes."""
        if block in self._noted:  # with its caller
            return
        levels: dict[ir.Value, int] = {}  # how many kernels come before the one that computes a value, at least
        last: dict[ir.Value, int] = {}  # the level of the last operation on elements that reads a value
        taken: set[ir.Value] = set()  # by what reads its operands from memory, itself or once they are moved
        summed: set[ir.Value] = set()
        steps = list(self._steps(block))
        for step in steps:
            level = 0
            for value in step.operands:
                level = max(level, levels.get(value, 0))
            if step.on_elements:
                for value in step.operands:
                    last[value] = max(level, last.get(value, 0))
            elif step.name == _SUM:
                summed.update(step.operands)
            elif step.again:
                taken.update(step.operands)
            levels |= dict.fromkeys(step.results, level + step.again)
        for step in reversed(steps):
            if step.name in _HANDS_ON and not taken.isdisjoint(step.results):
                taken |= step.large
        twice = {value for value in taken if value in summed or last.get(value, 0) > levels.get(value, 0)}
        reread = _through_functions(steps, last, twice)
        for step in steps:
            readings = last if step.name in _MOVES else reread
            read: set[ir.Value] = set()
            for operand in step.large:
                read.update(self._sources.get(operand, (operand,)))
            sources = frozenset(itertools.islice(read, _SEVERAL))
            for result in step.results:
                again = len(sources) == _SEVERAL and readings.get(result, 0) > levels[result]
                if step.on_elements and (again or result in twice):
                    self._written.add(result)
                is_source = not step.on_elements or result in self._written
                self._sources[result] = frozenset({result}) if is_source else sources
        if self._opaque:
            self._note_opaque(steps, levels, reread)

    def _note_opaque(self, steps: list[_Step], levels: dict[ir.Value, int], reread: dict[ir.Value, int]) -> None:
        """Of results of custom calls and composites, note those that are read again later."""
        for step in steps:
            read = self._opaque.intersection(step.operands)
            level = 0
            for operand in step.operands if read else ():
                level = max(level, levels.get(operand, 0))
            for value in read:
                if max(level, reread.get(value, 0)) > levels.get(value, 0):
                    self._written.add(value)
        self._opaque.clear()

    def _steps(self, block: ir.Block) -> Iterator[_Step]:
        """The operations of a block, those of a function in the place of its call."""
        self._noted.add(block)
        for each in block.operations:
            op = each.operation
            name = op.name
            body = self._calls.callee_body(op)
            operands, results = [self._inlined(value) for value in op.operands], list(op.results)
            if body is not None:
                self._same |= zip(body.arguments, operands, strict=False)
                yield from self._steps(body)
                self._same |= zip(results, terminator(body).operands, strict=False)
                if name == "stablehlo.composite" and not is_scale_marker(op):
                    self._opaque.update(map(self._inlined, results))
                continue
            on_elements, constant = name in _ON_ELEMENTS or (name == _CUSTOM and carries(op)), name in _CONSTANTS
            large = self._large(name, operands, results) if on_elements else set[ir.Value]()
            if constant or (on_elements and not large):
                self._spread.update(results)
            if name == _CUSTOM and not on_elements:
                self._opaque.update(results)
            goes_on = constant or on_elements or name in _ENDS or (name == _SUM and _is_of_rows(op))
            yield _Step(name, operands, results, on_elements, large, again=not goes_on)

    def _inlined(self, value: ir.Value) -> ir.Value:
        while value in self._same:
            value = self._same[value]
        return value

    def _large(self, name: str, operands: list[ir.Value], results: list[ir.Value]) -> set[ir.Value]:
        """The operands of an operation on elements that are more than half as large as its result or part of it, and no
        repetition of less; indices by which elements are gathered, too."""
        size = 2 if name in _ASSEMBLES else max(2, tensor_info(results[0].type).size)
        gathers = name in _MOVES and len(operands) > 1
        found: set[ir.Value] = set()
        for operand in operands:
            if operand not in self._spread:
                info = tensor_info(operand.type)
                if 2 * info.size > size or (gathers and info.rank and not info.is_float):
                    found.add(operand)
        return found


def _through_functions(steps: list[_Step], last: dict[ir.Value, int], written: set[ir.Value]) -> dict[ir.Value, int]:
    """The last level at which a value, or a function of it alone, is read: of x + y, where x + y > 0 is.

    written: functions that are in memory themselves.
    """
    reread = dict(last)
    for step in reversed(steps):
        if len(step.large) == 1 and written.isdisjoint(step.results):
            (value,) = step.large
            reread[value] = max(reread.get(value, 0), *(reread.get(result, 0) for result in step.results))
    return reread


def _is_of_rows(op: ir.Operation) -> bool:
    """Whether a reduction is over rows: what reads its result can go on with the row. Others need the whole tensor."""
    rank = tensor_info(op.operands[0].type).rank
    reduced: list[int] = sorted(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
    return reduced == list(range(rank - len(reduced), rank)) and len(reduced) < rank
