"""Operations that sum over dimensions that are cut over devices, so that each device has a part of their result.

# dot_general(x, y) = sum_d dot_general(x_d, y_d)
# reduce(x) = sum_d reduce(x_d)
# scatter(0, i, u) = sum_d scatter(0, i_d, u_d)
"""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.module.constants import constant_behind, splat_number
from scalify_hlo.module.propagation import Axes, Layout, Propagated
from scalify_hlo.types import tensor_info

PRODUCT = "stablehlo.dot_general"
REDUCTION = "stablehlo.reduce"
_SCATTER = "stablehlo.scatter"
SOURCES = (PRODUCT, REDUCTION, _SCATTER)
BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}


@dataclasses.dataclass(frozen=True)
class DeviceSum:
    """How an operation sums over devices. axes: of the mesh, over whose devices. operands: how they are cut for it."""

    axes: frozenset[str]
    operands: tuple[Axes, ...]


def device_sum(op: ir.Operation, known: Propagated) -> DeviceSum | None:
    """How the result of an operation is summed over devices; None where it is not, or where the partitioner pads."""
    layout = known.layouts.get(op.results[0])
    if op.name not in SOURCES or layout is None or len(op.results) != 1 or layout.results[0] is None:
        return None
    if tensor_info(op.results[0].type).element not in BYTES:
        return None
    found = _FOUND[op.name](op, layout)
    if found is None or not found.axes:
        return None
    if op.name == _SCATTER and _rows_are_fewer(op, layout.results[0], found, known):
        return None
    cut = zip((*op.operands[: len(found.operands)], op.results[0]), (*found.operands, layout.results[0]), strict=True)
    return found if all(_is_even(value, own, known) for value, own in cut) else None


def number_sum(op: ir.Operation, known: Propagated) -> DeviceSum | None:
    """How a reduction to one number is summed over devices; None where it is not, or where the partitioner pads."""
    layout = known.layouts.get(op.results[0])
    own = None if layout is None else layout.operands[0]
    if own is None or not is_sum(op) or tensor_info(op.results[0].type).element not in BYTES:
        return None
    axes = frozenset(axis for each in own for axis in each)
    return DeviceSum(axes, (own,)) if axes and _is_even(op.operands[0], own, known) else None


def without(layout: Axes, axes: frozenset[str]) -> Axes:
    """A layout that is not cut along some axes of the mesh."""
    return tuple(tuple(axis for axis in each if axis not in axes) for each in layout)


def is_sum(op: ir.Operation) -> bool:
    """Whether a reduction or scatter of one operand adds, to zeros."""
    if len(op.regions) != 1 or len(op.results) != 1:
        return False
    start = constant_behind(op.operands[1] if op.name == REDUCTION else op.operands[0])
    body = [each.operation for each in op.regions[0].blocks[0].operations]
    zero = start is not None and splat_number(start) == 0
    return zero and len(body) == 2 and body[0].name == "stablehlo.add" and body[1].operands[0] == body[0].results[0]


def is_number(value: ir.Value) -> bool:
    """Whether all elements of a value are one number, the same on all devices."""
    op = defining_op(value)
    if op is None:
        return False
    if op.name == "stablehlo.broadcast_in_dim":
        return tensor_info(op.operands[0].type).rank == 0
    return op.name == "stablehlo.constant" and splat_number(op) is not None


def _is_even(value: ir.Value, layout: Axes, known: Propagated) -> bool:
    """Whether devices have parts of one size of a value."""
    parts = [math.prod(known.sizes[axis] for axis in each) for each in layout]
    return not any(size % count for size, count in zip(tensor_info(value.type).shape, parts, strict=True))


def _product(op: ir.Operation, layout: Layout) -> DeviceSum | None:
    """Contracting dimensions that are cut in the same way on both sides."""
    lhs, rhs = layout.operands
    if lhs is None or rhs is None:
        return None
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    cut = [lhs[d] for d in _integers(numbers.lhs_contracting_dimensions)]
    if cut != [rhs[d] for d in _integers(numbers.rhs_contracting_dimensions)]:
        return None
    return DeviceSum(frozenset(axis for each in cut for axis in each), (lhs, rhs))


def _reduction(op: ir.Operation, layout: Layout) -> DeviceSum | None:
    """Dimensions that are summed over and cut; the others as they are in the result. A number is left alone."""
    own, result = layout.operands[0], layout.results[0]
    if own is None or not result or not is_sum(op):
        return None
    summed = _integers(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
    axes = frozenset(axis for d in summed for axis in own[d])
    kept = tuple(each for d, each in enumerate(own) if d not in summed)
    return DeviceSum(axes, (own,)) if kept == without(result, axes) else None


def _scatter(op: ir.Operation, layout: Layout) -> DeviceSum | None:
    """Rows that are cut and are added to rows of zeros which are not: the gradient of an embedding."""
    if len(op.operands) != 3 or not is_sum(op):
        return None
    _, indices, updates = layout.operands
    result = layout.results[0]
    if indices is None or updates is None or result is None:
        return None
    numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    if len(numbers.input_batching_dims):
        return None
    window = _integers(numbers.update_window_dims)
    vector = int(numbers.index_vector_dim)
    rows = [each for d, each in enumerate(updates) if d not in window]
    if rows != [each for d, each in enumerate(indices) if d != vector]:
        return None
    axes = frozenset(axis for each in rows for axis in each)
    whole = without(result, axes)
    if any(updates[d] for d in window) or any(whole):
        return None
    if vector < len(indices) and indices[vector]:
        return None
    return DeviceSum(axes, (whole, indices, updates))


def _rows_are_fewer(scatter: ir.Operation, layout: Axes, found: DeviceSum, known: Propagated) -> bool:
    """Whether parts of the rows that are added are fewer bytes to move than the sum of what they are added to.

    That is possible where each device is to have a part of every row: an embedding that is cut along its width.
    """
    numbers = stablehlo.ScatterDimensionNumbers(scatter.attributes["scatter_dimension_numbers"])
    if not any(layout) or any(layout[d] for d in _integers(numbers.inserted_window_dims)):
        return False
    indices, rows, result = (tensor_info(x.type) for x in (*scatter.operands[1:], scatter.results[0]))
    own = rows.size // math.prod(known.sizes[axis] for axis in found.axes) * BYTES.get(rows.element, 4)
    return own + 4 * indices.size < result.size * BYTES["f16"]  # however narrow the sum would be


def _integers(dimensions: Iterable[Any]) -> list[int]:
    return [int(each) for each in dimensions]


_FOUND = {PRODUCT: _product, REDUCTION: _reduction, _SCATTER: _scatter}
