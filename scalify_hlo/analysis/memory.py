"""Which values of a program lie in memory when it runs, and which are computed again wherever they are read.

A compiler makes one kernel of operations on elements and of the sums over rows between them. What a later kernel reads
is written to memory, or computed again from what is there: the latter where one tensor is all that it is computed from.

    3 h^2, 1 - tanh(h)  read again by the backward pass: computed again from h
    x + f(x)            of two tensors: in memory, if it is read again
    h (1 + t) / 2       read by a product, which takes its operands from memory; what reads it later does too
"""

import itertools

from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import Trait, has, names
from scalify_hlo.types import tensor_info

_ON_ELEMENTS = names(Trait.ELEMENTWISE) | names(Trait.CARRIES) | names(Trait.MOVES | Trait.ASSEMBLES)
# What is fused with the operations on elements that give it its operands, and what ends a function.
_FUSED = {"stablehlo.reduce", "stablehlo.return", "func.return"}
# Of more tensors than this nothing is known but that they are several.
_SEVERAL = 2


class Memory:
    """What is known of the blocks noted so far."""

    def __init__(self) -> None:
        # What a value is computed from in one kernel: tensors in memory, of more than half its size; at most _SEVERAL.
        self._sources: dict[ir.Value, frozenset[ir.Value]] = {}
        self._written: set[ir.Value] = set()

    def is_written(self, value: ir.Value) -> bool:
        """Whether a value that operations on elements compute is read from memory by others of them, or summed."""
        return value in self._written

    def note(self, block: ir.Block) -> None:
        """Look at the operations of a block, before any of them changes."""
        levels: dict[ir.Value, int] = {}  # how many kernels come before the one that computes a value, at least
        last: dict[ir.Value, int] = {}  # the level of the last operation on elements that reads a value
        taken: set[ir.Value] = set()  # by what reads its operands from memory
        summed: set[ir.Value] = set()
        operations = [op.operation for op in block.operations]
        for op in operations:
            operands = list(op.operands)
            level = max((levels[value] for value in operands if value in levels), default=0)
            if op.name in _ON_ELEMENTS:
                last |= {value: max(last.get(value, 0), level) for value in operands}
            elif op.name == "stablehlo.reduce":
                summed.update(operands)
            elif op.name not in _FUSED:
                taken.update(operands)
                level += not has(op.name, Trait.CONSTANT)
            levels |= dict.fromkeys(op.results, level)
        for op in operations:
            for result in op.results:
                sources = self._read(op, result)
                again = last.get(result, 0) > levels[result]
                several = len(sources) >= _SEVERAL
                if op.name in _ON_ELEMENTS and (
                    (again and (several or result in taken)) or (result in taken and result in summed)
                ):
                    self._written.add(result)
                    sources = frozenset({result})
                self._sources[result] = sources

    def _read(self, op: ir.Operation, result: ir.Value) -> frozenset[ir.Value]:
        """The tensors in memory that the kernel of an operation computes its result from."""
        if op.name not in _ON_ELEMENTS:
            return frozenset() if has(op.name, Trait.CONSTANT) else frozenset({result})
        size = tensor_info(result.type).size
        large = [operand for operand in op.operands if 2 * tensor_info(operand.type).size > size]
        read = {source for operand in large for source in self._sources.get(operand, (operand,))}
        return frozenset(itertools.islice(read, _SEVERAL))
