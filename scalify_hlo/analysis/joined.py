"""Tensors that are joined to one vector and taken out of it again: a solver sees states and gradients as a vector.

# x = slice(concatenate(..., x, ...), where x is)

Between the two may be any arithmetic, and a loop that carries the vector: a part of it is known by its place.
"""

from collections.abc import Iterator

from scalify_hlo.analysis.calls import CallGraph, walk
from scalify_hlo.analysis.intervals import before_moves
from scalify_hlo.bindings import ir
from scalify_hlo.types import tensor_info

_CONCATENATE, _SLICE, _LOOP = "stablehlo.concatenate", "stablehlo.slice", "stablehlo.while"


def taken_apart(calls: CallGraph) -> list[ir.Value]:
    """The results of slices that take one of several unlike tensors out of a vector that these are joined to, and what
    a loop returns that it has handed from one such vector to the next.

    They are of more than one element, and unlike where they differ in size.
    """
    joins = _Joins(calls)
    return [*joins.taken, *joins.handed_on]


def joined_values(calls: CallGraph) -> set[ir.Value]:
    """The vectors that unlike tensors are joined to, those computed of them, stacks of them, and what is joined.

    No narrow type holds all: a state of size 1 beside a gradient of 10^-9, to be added up over the steps of a solver.
    """
    joins = _Joins(calls)
    return {*joins.joined, *joins.handed_on, *joins.vectors()} if joins.taken else set()


class _Joins:
    """taken: what is taken out of vectors. joined: what is joined to these, and what that is moved from. handed_on: the
    results of loops that carry such tensors."""

    def __init__(self, calls: CallGraph):
        self._calls = calls
        self._found: dict[str, list[ir.Operation]] = {_CONCATENATE: [], _SLICE: [], _LOOP: []}
        for function in calls.functions.values():
            for op in walk(function):
                if op.name in self._found:
                    self._found[op.name].append(op)
        parts = self._parts()
        self.taken = [op.results[0] for op in self._found[_SLICE] if parts and _taken(op) in parts.get(_length(op), ())]
        self._lengths = {_length(value.owner.operation) for value in self.taken}
        self.joined: set[ir.Value] = set()
        for op in self._found[_CONCATENATE] if self.taken else ():
            if _is_float_vector(op.results[0]) and _size(op.results[0]) in self._lengths:
                self.joined.update(each for v in op.operands if _size(v) > 1 for each in before_moves(v))
        self.handed_on: list[ir.Value] = []
        for op in self._found[_LOOP] if self.joined else ():
            body = op.regions[1].blocks[0]
            self.handed_on += [op.results[i] for i, value in enumerate(body.arguments) if value in self.joined]

    def _parts(self) -> dict[int, set[tuple[int, int]]]:
        """Length of a vector -> begin and end of each of the unlike tensors in it."""
        parts: dict[int, set[tuple[int, int]]] = {}
        for op in self._found[_CONCATENATE]:
            if _is_float_vector(op.results[0]):
                sizes = [_size(value) for value in op.operands]
                if len({size for size in sizes if size > 1}) > 1:
                    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
                    found = {(end - size, end) for size, end in zip(sizes, ends, strict=True) if size > 1}
                    parts.setdefault(ends[-1], set()).update(found)
        return parts

    def vectors(self) -> Iterator[ir.Value]:
        """The vectors of these lengths and stacks of such, what loops carry among them."""
        for function in self._calls.functions.values():
            for op in walk(function):
                yield from (value for value in op.results if _row(value) in self._lengths)
        for op in self._found[_LOOP]:
            yield from (value for value in op.regions[1].blocks[0].arguments if _row(value) in self._lengths)


def _row(value: ir.Value) -> int:
    """The length of a vector of floats, or of the rows of a stack of such; 0 for any other value."""
    info = tensor_info(value.type)
    return info.shape[-1] if info.is_float and info.is_static and info.rank in (1, 2) else 0


def _size(value: ir.Value) -> int:
    return tensor_info(value.type).size


def _is_float_vector(value: ir.Value) -> bool:
    info = tensor_info(value.type)
    return info.is_float and info.is_static and info.rank == 1


def _length(op: ir.Operation) -> int:
    return _size(op.operands[0]) if _taken(op) else 0


def _taken(op: ir.Operation) -> tuple[int, int] | None:
    """From where to where a slice of a vector is."""
    if not _is_float_vector(op.operands[0]):
        return None
    begin, end = (list(ir.DenseI64ArrayAttr(op.attributes[name])) for name in ("start_indices", "limit_indices"))
    return begin[0], end[0]
