"""`scalify-select-scatters`: one element added to each row of zeros is a selection.

# scatter(0, i, u)[r, v] = u[r] where v = i[r], else 0

So is the derivative of `take_along_axis`, of `log_probabilities[arange(n), labels]` and the like: of the logits of a
loss, the largest values of a step. A scatter is a kernel of its own, and XLA adds what it is added to in place: the
gradient is written in f32 by one kernel, changed by the next, and scaled and rounded by a third, which writes it again.
A selection is part of the one kernel that computes, scales and rounds the gradient.

An index beyond the row adds nothing (StableHLO, scatter): nothing is equal to it. All that changes is that 0 and -0 are
-0 together.
"""

import dataclasses
from typing import ClassVar, NamedTuple

import numpy as np

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.carriers import SHARDING, layouts_folded
from scalify_hlo.module.constants import dense_value, number_behind
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.types import tensor_info

_SCATTER = "stablehlo.scatter"
_WIDE_INDICES = ("i32", "i64", "ui32", "ui64")
_KNOWN = {"scatter_dimension_numbers", "indices_are_sorted", "unique_indices", SHARDING}


@dataclasses.dataclass(frozen=True)
class SelectScatters(Pass):
    """Select where one element is added to each row of zeros."""

    name: ClassVar[str] = "scalify-select-scatters"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Replaces scatters in place."""
        scatters = [op for op in walk(module.operation) if op.name == _SCATTER]
        if not scatters:
            return
        with layouts_folded(module):
            found = [(op, choice) for op in scatters if (choice := _choice(op)) is not None]
            for op, choice in found:
                with op.location, ir.InsertionPoint(op):
                    selected = _selected(op, choice)
                if SHARDING in op.attributes:
                    selected.owner.attributes[SHARDING] = op.attributes[SHARDING]
                op.results[0].replace_all_uses_with(selected)
            if found:
                erase_dead(module)
        if found:
            remarks.append(Diagnostic(f"{self.name}: {len(found)} scatters are selections", "", "remark"))


class _Choice(NamedTuple):
    """What a scatter adds to each row.

    dimension: of the operand, along which one element of a row is chosen. column: of the index vectors, which has it.
    rows: for each dimension of the updates the dimension of the operand that it numbers; None for one of size 1.
    """

    dimension: int
    column: int
    rows: list[int | None]


def _choice(op: ir.Operation) -> _Choice | None:
    """None for a scatter that is no selection."""
    if len(op.operands) != 3 or set(op.attributes) - _KNOWN:
        return None
    x, indices, updates = (tensor_info(value.type) for value in op.operands)
    if not (x.is_float and x.is_static and indices.is_static) or indices.element not in _WIDE_INDICES:
        return None
    if number_behind(op.operands[0]) != 0 or body_kind(op) not in ("add", "second"):
        return None
    numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    window = list(numbers.update_window_dims)  # of one element, see `alone`
    places = [u for u in range(updates.rank) if u not in window]
    vector = int(numbers.index_vector_dim)
    of_operand: dict[int, int] = {}  # dimension of the updates -> of the operand
    for d, i in zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True):
        of_operand[places[i - (i > vector)]] = d
    chosen: list[tuple[int, int]] = []
    for column, d in enumerate(numbers.scattered_dims_to_operand_dims):
        row = _numbered(op.operands[1], vector, column)
        place = None if row is None else places[row]
        if place is None or place in of_operand or updates.shape[place] != x.shape[d]:
            chosen.append((d, column))
        else:
            of_operand[place] = d
    rows = [of_operand.get(u) for u in range(updates.rank)]
    known = [d for d in rows if d is not None]
    alone = all(d is not None or n == 1 for d, n in zip(rows, updates.shape, strict=True))
    if len(chosen) != 1 or not alone or known != sorted(known) or len(known) != x.rank - 1:
        return None
    return _Choice(*chosen[0], rows)


def _numbered(indices: ir.Value, vector: int, column: int) -> int | None:
    """The dimension of the updates that a column of the index vectors numbers, 0, 1, ...; None for other columns."""
    owner = indices.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.concatenate":
        return None
    if int(ir.IntegerAttr(owner.attributes["dimension"]).value) != vector:
        return None
    parts = list(owner.operands)
    if any(tensor_info(part.type).shape[vector] != 1 for part in parts):
        return None
    dimension = _counted(parts[column])
    return None if dimension is None else dimension - (dimension > vector)


def _counted(value: ir.Value) -> int | None:
    """The dimension along which a tensor of integers is 0, 1, ..., and the same along all others."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    op = owner.operation
    if op.name == "stablehlo.iota":
        return int(ir.IntegerAttr(op.attributes["iota_dimension"]).value)
    if op.name == "stablehlo.constant":
        dense, info = dense_value(op), tensor_info(value.type)
        counts = dense is not None and info.rank == 1 and np.array_equal(np.asarray(dense), np.arange(info.size))
        return 0 if counts else None
    if op.name == "stablehlo.convert":
        return _counted(op.operands[0])
    if op.name == "stablehlo.broadcast_in_dim":
        inner = _counted(op.operands[0])
        if inner is None:
            return None
        outer: int = list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))[inner]
        before, after = tensor_info(op.operands[0].type), tensor_info(value.type)
        return outer if before.shape[inner] == after.shape[outer] else None  # a 0 that is repeated counts nothing
    if op.name == "stablehlo.reshape":
        return _reshaped(op)
    # Libraries let negative indices count from the end: of numbers that are none, themselves.
    if op.name == "stablehlo.select" and _is_negative(op.operands[0]):
        return _counted(op.operands[2])
    return None


def _reshaped(op: ir.Operation) -> int | None:
    """The dimension of a reshape's result that is its operand's, where all others are of size 1."""
    inner, info = _counted(op.operands[0]), tensor_info(op.results[0].type)
    size = None if inner is None else tensor_info(op.operands[0].type).shape[inner]
    large = [d for d, n in enumerate(info.shape) if n > 1]
    return large[0] if len(large) == 1 and size == info.shape[large[0]] == info.size else None


def _is_negative(predicate: ir.Value) -> bool:
    """Whether a predicate asks whether numbers that are 0, 1, ... are below zero."""
    owner = predicate.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.compare":
        return False
    below = "LT" in str(owner.attributes["comparison_direction"])
    return below and number_behind(owner.operands[1]) == 0 and _counted(owner.operands[0]) is not None


def _selected(op: ir.Operation, choice: _Choice) -> ir.Value:
    """The selection. Needs a current insertion point and location."""
    type_, indices = op.results[0].type, op.operands[1]
    numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    vector, info = int(numbers.index_vector_dim), tensor_info(indices.type)
    if vector < info.rank and info.shape[vector] > 1:
        indices = _column(indices, vector, choice.column)
    index = _spread(indices, type_, choice.rows)
    dimension = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), choice.dimension)
    place = emit.op("iota", index.type, iota_dimension=dimension)
    kind = "UNSIGNED" if info.element.startswith("u") else "SIGNED"
    update = _spread(op.operands[2], type_, choice.rows)
    return emit.op("select", type_, emit.compare(place, index, "EQ", kind), update, emit.splat(type_, 0.0))


def _column(indices: ir.Value, vector: int, column: int) -> ir.Value:
    info = tensor_info(indices.type)
    start = [column if d == vector else 0 for d in range(info.rank)]
    limit = [column + 1 if d == vector else n for d, n in enumerate(info.shape)]
    return emit.slice_(indices, start, limit, [1] * info.rank)


def _spread(value: ir.Value, type_: ir.Type, rows: list[int | None]) -> ir.Value:
    """A number for each row at the shape of all rows. rows: see `_Choice`."""
    info, of = tensor_info(value.type), tensor_info(type_)
    kept = [d for d in rows if d is not None]
    flat = emit.op("reshape", emit.tensor_type([of.shape[d] for d in kept], info.element), value)
    return emit.op(
        "broadcast_in_dim", emit.tensor_type(of.shape, info.element), flat,
        broadcast_dimensions=ir.DenseI64ArrayAttr.get(kept),
    )  # fmt: skip
