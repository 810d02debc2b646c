"""Which dimensions of a value run along the dimensions of another, by which its elements were chosen."""

from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import Trait, has
from scalify_hlo.types import tensor_info

# For each dimension of a value the dimension of the other that it runs along; None where all elements go with one.
Axes = tuple[int | None, ...]


def own_axes(value: ir.Value) -> Axes:
    """Those of the other value itself: its dimensions with more than one element."""
    return tuple(d if n != 1 else None for d, n in enumerate(tensor_info(value.type).shape))


def axes_of_result(op: ir.Operation, operands: Sequence[Axes | None]) -> Axes | None:
    """The axes of an operation's one result; None where elements that go with different ones meet, or may.

    operands: of each its axes; None of one that was not chosen.
    """
    chosen = [axes for axes in operands if axes is not None]
    rank = tensor_info(op.results[0].type).rank
    if all(axis is None for axes in chosen for axis in axes):
        return (None,) * rank
    if has(op.name, Trait.ELEMENTWISE) or has(op.name, Trait.CARRIES):
        return _joined([axes for axes in chosen if axes], rank)
    moved = _MOVED.get(op.name)
    return None if moved is None else moved(op, operands)


def _joined(operands: Sequence[Axes], rank: int) -> Axes | None:
    """Elements at the same place: a dimension runs along one axis, and an axis along one dimension."""
    found: list[int | None] = []
    for each in zip(*operands, strict=True):
        axes = {axis for axis in each if axis is not None}
        if len(axes) > 1:
            return None
        found.append(next(iter(axes), None))
    named = [axis for axis in found if axis is not None]
    return tuple(found) if len(found) == rank and len(named) == len(set(named)) else None


def _broadcast(op: ir.Operation, operands: Sequence[Axes | None]) -> Axes | None:
    found: list[int | None] = [None] * tensor_info(op.results[0].type).rank
    for axis, d in zip(operands[0] or (), _ints(op, "broadcast_dimensions"), strict=True):
        found[d] = axis
    return tuple(found)


def _transposed(op: ir.Operation, operands: Sequence[Axes | None]) -> Axes | None:
    axes = operands[0] or ()
    return tuple(axes[d] for d in _ints(op, "permutation"))


def _reshaped(op: ir.Operation, operands: Sequence[Axes | None]) -> Axes | None:
    """Where dimensions of one element come and go."""
    before, after = (tensor_info(value.type).shape for value in (op.operands[0], op.results[0]))
    if [n for n in before if n != 1] != [n for n in after if n != 1]:
        return None
    kept = iter([axis for axis, n in zip(operands[0] or (), before, strict=True) if n != 1])
    return tuple(next(kept) if n != 1 else None for n in after)


def _reduced(op: ir.Operation, operands: Sequence[Axes | None]) -> Axes | None:
    gone = _ints(op, "dimensions")
    if operands[0] is None or any(operands[0][d] is not None for d in gone):
        return None
    return tuple(axis for d, axis in enumerate(operands[0]) if d not in gone)


def _ints(op: ir.Operation, name: str) -> list[int]:
    return [int(n) for n in op.attributes[name]]


_MOVED = {
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.transpose": _transposed,
    "stablehlo.reshape": _reshaped,
    "stablehlo.reduce": _reduced,
}
