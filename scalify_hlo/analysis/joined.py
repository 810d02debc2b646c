"""Tensors that are joined to one vector and taken out of it again: a solver sees states and gradients as a vector.

# x = slice(concatenate(..., x, ...), where x is)

Between the two may be any arithmetic, and a loop that carries the vector: a part of it is known by its place.
"""

from collections.abc import Iterator

from scalify_hlo.analysis.calls import CallGraph, walk
from scalify_hlo.bindings import ir
from scalify_hlo.types import tensor_info


def taken_apart(calls: CallGraph) -> list[ir.Value]:
    """The results of slices that take one of several unlike tensors out of a vector that these are joined to.

    They are of more than one element, and unlike where they differ in size.
    """
    parts: dict[int, set[tuple[int, int]]] = {}  # length of a vector -> begin and end of each tensor in it
    for op in _operations(calls):
        if op.name == "stablehlo.concatenate" and _is_float_vector(op.results[0]):
            sizes = [tensor_info(value.type).size for value in op.operands]
            if len({size for size in sizes if size > 1}) > 1:
                ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
                found = {(end - size, end) for size, end in zip(sizes, ends, strict=True) if size > 1}
                parts.setdefault(ends[-1], set()).update(found)
    return [op.results[0] for op in _operations(calls) if _taken(op) in parts.get(_length(op), set())]


def _operations(calls: CallGraph) -> Iterator[ir.Operation]:
    for function in calls.functions.values():
        yield from walk(function)


def _is_float_vector(value: ir.Value) -> bool:
    info = tensor_info(value.type)
    return info.is_float and info.is_static and info.rank == 1


def _length(op: ir.Operation) -> int:
    return tensor_info(op.operands[0].type).size if _taken(op) else 0


def _taken(op: ir.Operation) -> tuple[int, int] | None:
    """From where to where a slice of a vector is."""
    if op.name != "stablehlo.slice" or not _is_float_vector(op.operands[0]):
        return None
    begin, end = (list(ir.DenseI64ArrayAttr(op.attributes[name])) for name in ("start_indices", "limit_indices"))
    return begin[0], end[0]
