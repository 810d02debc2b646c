"""Which values of a program lie in memory when it runs, and which are computed again wherever they are read.

A compiler makes one kernel of operations on elements and of the sums over rows between them. What a later kernel reads
is written to memory, or computed again from what is there: the latter where one tensor is all that it is computed from.

    3 h^2, 1 - tanh(h)  read again by the backward pass: computed again from h
    x + f(x)            of two tensors: in memory, if it is read again
    h (1 + t) / 2       read by a product, which takes its operands from memory; what reads it later does too
"""

import dataclasses

from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import Trait, has, names
from scalify_hlo.types import tensor_info

_ON_ELEMENTS = names(Trait.ELEMENTWISE) | names(Trait.CARRIES) | names(Trait.MOVES | Trait.ASSEMBLES)
# What is fused with the operations on elements that give it its operands, and what ends a function.
_FUSED = {"stablehlo.reduce", "stablehlo.return", "func.return"}
# Of more tensors than this nothing is known but that they are several.
_SEVERAL = 2


@dataclasses.dataclass(frozen=True)
class _Chain:
    """What a value is computed from without a kernel between.

    level: how many kernels come before the one that computes it, at least. sources: tensors in memory, of more than
    half its size; at most _SEVERAL.
    """

    level: int
    sources: frozenset[ir.Value]


class Memory:
    """What is known of the blocks noted so far."""

    def __init__(self) -> None:
        self._chains: dict[ir.Value, _Chain] = {}
        self._last: dict[ir.Value, int] = {}  # the level of the last operation on elements that reads a value
        self._taken: set[ir.Value] = set()  # by what reads its operands from memory
        self._summed: set[ir.Value] = set()
        self._written: set[ir.Value] = set()
        self._noted: set[ir.Block] = set()

    def is_written(self, value: ir.Value) -> bool:
        """Whether a value that operations on elements compute is read from memory by others of them, or summed."""
        return value in self._written

    def note(self, block: ir.Block) -> None:
        """Look at the operations of a block, before any of them changes."""
        if block in self._noted:
            return
        self._noted.add(block)
        chains = self._chains
        chains |= {argument: _Chain(0, frozenset({argument})) for argument in block.arguments}
        levels: dict[ir.Value, int] = {}
        operations = [op.operation for op in block.operations]
        for op in operations:
            operands = list(op.operands)
            level = max((levels[value] for value in operands if value in levels), default=0)
            on_elements = op.name in _ON_ELEMENTS
            for value in operands if on_elements else ():
                self._last[value] = max(self._last.get(value, 0), level)
            if not on_elements and op.name not in _FUSED:
                self._taken.update(operands)
            behind = level if on_elements or op.name in _FUSED or has(op.name, Trait.CONSTANT) else level + 1
            if op.name == "stablehlo.reduce":
                self._summed.update(operands)
            for result in op.results:
                levels[result] = behind
        for op in operations:
            for result in op.results:
                chains[result] = self._chain(op, result, levels[result])

    def _chain(self, op: ir.Operation, result: ir.Value, level: int) -> _Chain:
        if has(op.name, Trait.CONSTANT):
            return _Chain(level, frozenset())
        own = frozenset({result})
        if op.name not in _ON_ELEMENTS:
            return _Chain(level, own)
        size = tensor_info(result.type).size
        sources: frozenset[ir.Value] = frozenset()
        for operand in op.operands:
            if 2 * tensor_info(operand.type).size > size:
                chain = self._chains.get(operand)
                sources |= frozenset({operand}) if chain is None else chain.sources
        again = self._last.get(result, level) > level
        taken = result in self._taken
        if (again and (len(sources) >= _SEVERAL or taken)) or (taken and result in self._summed):
            self._written.add(result)
            return _Chain(level, own)
        return _Chain(level, sources if len(sources) < _SEVERAL else frozenset(list(sources)[:_SEVERAL]))
