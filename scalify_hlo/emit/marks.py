"""Marks: operations that say which tensors are to be watched, for `scalify-instrument` and calibration reports.

A mark is `stablehlo.custom_call @scalify.tensor(data[, scale])` without results. The rewriter leaves one behind each
scaled tensor when asked to (`--mark-tensors`); the pass `scalify-instrument` turns marks into statistics.
"""

import dataclasses
from collections.abc import Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.reports.health_layout import NAMES

MARKER = "scalify.tensor"
# The operation of the original program whose result is watched.
OPERATION = "scalify.operation"
# The root mean square of the data as the rules estimate it.
ESTIMATE = "scalify.estimate"
# The program may mean infinities among the values, as in masks.
INFINITE = "scalify.infinite"
# Which node of a drawing of the module shows the tensor: see scalify_hlo.reports.overlay.
NODE = "scalify.node"


@dataclasses.dataclass(frozen=True)
class ScaledTensor:
    """A tensor as a pair of SSA values; `scale` (rank 0, or the rank of the data) is None where it has none."""

    name: str
    data: ir.Value
    scale: ir.Value | None = None


def mark_tensors(tensors: Sequence[ScaledTensor]) -> None:
    """Mark (data, scale) pairs, each where both are known. Needs a current context and location."""
    for tensor in tensors:
        operands = _operands(tensor)
        owner = tensor.data.owner
        place = ir.BlockArgument(tensor.data).location if isinstance(owner, ir.Block) else owner.location
        add_mark(tensor, place, _after_all(operands))


def add_mark(
    tensor: ScaledTensor,
    location: ir.Location,
    ip: ir.InsertionPoint,
    operation: str = "",
    estimate: float = 1.0,
    infinite: bool = False,
) -> ir.Operation:
    """Mark one tensor at an insertion point.

    operation: name of the operation that the tensor is the result of, "" where it is not known.
    estimate: root mean square that the data are expected to have. infinite: elements may be infinite by intention.
    """
    attributes = {
        "call_target_name": ir.StringAttr.get(MARKER),
        "has_side_effect": ir.BoolAttr.get(True),
        NAMES: ir.StringAttr.get(tensor.name),
    }
    if operation:
        attributes[OPERATION] = ir.StringAttr.get(operation)
        attributes[ESTIMATE] = ir.FloatAttr.get(ir.F64Type.get(), estimate)
        if infinite:
            attributes[INFINITE] = ir.UnitAttr.get()
    return ir.Operation.create("stablehlo.custom_call", [], _operands(tensor), attributes, loc=location, ip=ip)


def is_mark(op: ir.Operation) -> bool:
    """Whether an operation marks a tensor to be watched."""
    return op.name == "stablehlo.custom_call" and ir.StringAttr(op.attributes["call_target_name"]).value == MARKER


def _operands(tensor: ScaledTensor) -> list[ir.Value]:
    return [tensor.data] if tensor.scale is None else [tensor.data, tensor.scale]


def _after_all(values: Sequence[ir.Value]) -> ir.InsertionPoint:
    """Right after the later of the first value and those of its block."""
    first = values[0].owner
    last = None if isinstance(first, ir.Block) else first.operation
    block = first if isinstance(first, ir.Block) else first.operation.block
    for value in values[1:]:
        owner = value.owner
        if isinstance(owner, ir.Block):
            continue
        op = owner.operation
        if op.block == block and (last is None or last.is_before_in_block(op)):
            last = op
    return ir.InsertionPoint.at_block_begin(block) if last is None else ir.InsertionPoint.after(last)
