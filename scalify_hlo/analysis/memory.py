"""Which values of a program lie in memory when it runs, and which are computed again wherever they are read.

A compiler makes one kernel of operations on elements and of the sums over rows between them. What a later kernel reads
is written to memory, or computed again from what is there: the latter where one tensor is all that it is computed from.

    3 h^2, 1 - tanh(h)  read again by the backward pass: computed again from h
    x + f(x)            of two tensors: in memory, if it is read again
    h (1 + t) / 2       read by a product, which takes its operands from memory; what reads it later does too
"""

import itertools
from collections.abc import Iterator

from scalify_hlo.analysis.calls import CallGraph, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import Trait, has, names
from scalify_hlo.types import tensor_info

_ON_ELEMENTS = names(Trait.ELEMENTWISE) | names(Trait.CARRIES) | names(Trait.MOVES | Trait.ASSEMBLES)
# What is fused with the operations on elements that give it its operands, and what ends a function.
_FUSED = {"stablehlo.reduce", "stablehlo.return", "func.return"}
# Of more tensors than this nothing is known but that they are several.
_SEVERAL = 2


class Memory:
    """What is known of the blocks noted so far. Functions are taken for inlined, as compilers do."""

    def __init__(self, calls: CallGraph) -> None:
        """calls: of a module whose functions are called once each."""
        self._calls = calls
        self._noted: set[ir.Block] = set()
        # What functions are given and give back: arguments are operands, and a call's results what is returned.
        self._same: dict[ir.Value, ir.Value] = {}
        self._spread: set[ir.Value] = set()  # constants, and what is computed of much smaller tensors alone
        # What a value is computed from in one kernel: tensors in memory, of more than half its size; at most _SEVERAL.
        self._sources: dict[ir.Value, frozenset[ir.Value]] = {}
        self._written: set[ir.Value] = set()

    def is_written(self, value: ir.Value) -> bool:
        """Whether a value that operations on elements compute is read from memory by others of them, or summed."""
        return self._inlined(value) in self._written

    def note(self, block: ir.Block) -> None:
        """Look at the operations of a block and of functions that it calls, before any of them changes."""
        if block in self._noted:  # with its caller
            return
        levels: dict[ir.Value, int] = {}  # how many kernels come before the one that computes a value, at least
        last: dict[ir.Value, int] = {}  # the level of the last operation on elements that reads a value
        taken: set[ir.Value] = set()  # by what reads its operands from memory
        summed: set[ir.Value] = set()
        operations = list(self._operations(block))
        for op in operations:
            operands = [self._inlined(value) for value in op.operands]
            level = max((levels[value] for value in operands if value in levels), default=0)
            if has(op.name, Trait.CONSTANT) or (op.name in _ON_ELEMENTS and not self._large(op)):
                self._spread.update(op.results)
            if op.name in _ON_ELEMENTS:
                last |= {value: max(last.get(value, 0), level) for value in operands}
            elif op.name == "stablehlo.reduce":
                summed.update(operands)
                level += not _is_of_rows(op)
            elif op.name not in _FUSED:
                taken.update(operands)
                level += not has(op.name, Trait.CONSTANT)
            levels |= dict.fromkeys(op.results, level)
        for op in reversed(operations):
            if has(op.name, Trait.MOVES) and not taken.isdisjoint(op.results):
                taken |= self._large(op)
        twice = {value for value in taken if value in summed or last.get(value, 0) > levels.get(value, 0)}
        reread = self._through_functions(operations, last, twice)
        for op in operations:
            for result in op.results:
                sources = self._read(op, result)
                read = (last if has(op.name, Trait.MOVES) else reread).get(result, 0)
                again = len(sources) >= _SEVERAL and read > levels[result]
                if op.name in _ON_ELEMENTS and (again or result in twice):
                    self._written.add(result)
                    sources = frozenset({result})
                self._sources[result] = sources

    def _through_functions(
        self, operations: list[ir.Operation], last: dict[ir.Value, int], written: set[ir.Value]
    ) -> dict[ir.Value, int]:
        """The last level at which a value, or a function of it alone, is read: of x + y, where x + y > 0 is.

        written: functions that are in memory themselves.
        """
        reread = dict(last)
        for op in reversed(operations):
            large = self._large(op) if op.name in _ON_ELEMENTS and written.isdisjoint(op.results) else set[ir.Value]()
            if len(large) == 1:
                value = large.pop()
                reread[value] = max(reread.get(value, 0), *(reread.get(result, 0) for result in op.results))
        return reread

    def _operations(self, block: ir.Block) -> Iterator[ir.Operation]:
        """The operations of a block, those of a function in the place of its call."""
        self._noted.add(block)
        for op in block.operations:
            body = self._calls.callee_body(op.operation)
            if body is None:
                yield op.operation
                continue
            self._same |= zip(body.arguments, op.operands, strict=False)
            yield from self._operations(body)
            self._same |= zip(op.results, terminator(body).operands, strict=False)

    def _inlined(self, value: ir.Value) -> ir.Value:
        while value in self._same:
            value = self._same[value]
        return value

    def _read(self, op: ir.Operation, result: ir.Value) -> frozenset[ir.Value]:
        """The tensors in memory that the kernel of an operation computes its result from."""
        if op.name not in _ON_ELEMENTS:
            return frozenset({result})
        read = {source for operand in self._large(op) for source in self._sources.get(operand, (operand,))}
        return frozenset(itertools.islice(read, _SEVERAL))

    def _large(self, op: ir.Operation) -> set[ir.Value]:
        """The operands of an operation that are more than half as large as its result or part of it, and no repetition
        of less; indices by which elements are gathered, too."""
        size = 0 if has(op.name, Trait.ASSEMBLES) else tensor_info(op.results[0].type).size
        gathers = has(op.name, Trait.MOVES) and len(op.operands) > 1
        found: set[ir.Value] = set()
        for operand in {self._inlined(operand) for operand in op.operands} - self._spread:
            info = tensor_info(operand.type)
            if 2 * info.size > max(size, 2) or (gathers and info.rank and not info.is_float):
                found.add(operand)
        return found


def _is_of_rows(op: ir.Operation) -> bool:
    """Whether a reduction is over rows: what reads its result can go on with the row. Others need the whole tensor."""
    rank = tensor_info(op.operands[0].type).rank
    reduced: list[int] = sorted(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
    return reduced == list(range(rank - len(reduced), rank)) and len(reduced) < rank
