"""`scalify-samples`: samples of computed tensors are computed from samples of what these are computed from.

# slice(f(x, y)) = f(slice(x), slice(y)), f elementwise

A statistic of a new state decides the scale that it is stored at. Computed from the state, it makes one kernel write
the state in f32 and another one read it, multiply it and round it, where some hundred elements are asked for. So it is
with large gradients whose root mean square is asked for (`sample_of_rows`).
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.carriers import layouts_folded
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.manual import is_partitioned
from scalify_hlo.module.traits import Trait, has
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.types import tensor_info

# Of tensors with fewer elements all rows are measured: they take some microseconds on a GPU.
_LARGE = 2**24
# One of so many rows is measured, and of so few rows all.
_ROW_STRIDES = range(32, 7, -1)
_FEWEST_ROWS = 1024
# How many times fewer elements a sample has at least: half a tensor is read no faster than it is.
_FEWER = 4
_BROADCAST = "stablehlo.broadcast_in_dim"


@dataclasses.dataclass(frozen=True)
class Samples(Pass):
    """Compute samples of computed tensors from samples of what these are computed from."""

    name: ClassVar[str] = "scalify-samples"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Rewrites slices with strides in place, but where tensors are cut over devices."""
        del remarks
        if is_partitioned(module):
            return
        with module.context, ir.Location.unknown(module.context), layouts_folded(module):
            slices = [op for op in walk(module.operation) if op.name == "stablehlo.slice"]
            if sum(_sample_sources(op) for op in slices):
                erase_dead(module)


def sample_of_rows(x: ir.Value) -> ir.Value:
    """Evenly spread rows of a large tensor, the first and the last among them; any other tensor as it is.

    Rows are those of the last dimension but one: tokens, queries. Others may be masked, but seldom all of them.
    """
    info = tensor_info(x.type)
    if info.rank < 2 or not info.is_static or info.size < _LARGE:
        return x
    rows, width = info.shape[-2:]
    stride = next((n for n in _ROW_STRIDES if (rows - 1) % n == 0), None)
    if stride is None or info.size // (rows * width) * math.ceil(rows / stride) < _FEWEST_ROWS:
        return x
    return strided(x, [1] * (info.rank - 2) + [stride, 1])


def strided(x: ir.Value, strides: Sequence[int]) -> ir.Value:
    """Of each dimension every so many elements, from the first on."""
    info = tensor_info(x.type)
    shape = [math.ceil(n / stride) for n, stride in zip(info.shape, strides, strict=True)]
    array = ir.DenseI64ArrayAttr.get
    return emit.op(
        "slice", emit.tensor_type(shape, info.element), x,
        start_indices=array([0] * info.rank), limit_indices=array(list(info.shape)), strides=array(list(strides)),
    )  # fmt: skip


def _sample_sources(op: ir.Operation) -> bool:
    """Replace a sample of what is computed elementwise, with strides; whether it was one."""
    if not tensor_info(op.operands[0].type).is_static or not _has_strides(op):
        return False
    source = defining_op(op.operands[0])
    sizes = [tensor_info(value.type).size for value in (op.results[0], op.operands[0])]
    if source is None or _FEWER * sizes[0] > sizes[1] or not _is_elementwise(source, op.operands[0]):
        return False
    with ir.InsertionPoint(op), op.location:
        sampled = _sampled(op.operands[0], op, {})
    op.results[0].replace_all_uses_with(sampled)
    op.erase()
    return True


def _has_strides(op: ir.Operation) -> bool:
    return max(ir.DenseI64ArrayAttr(op.attributes["strides"]), default=1) > 1


def _is_elementwise(op: ir.Operation, like: ir.Value) -> bool:
    shape = tensor_info(like.type).shape
    return (
        has(op.name, Trait.ELEMENTWISE)
        and not has(op.name, Trait.BODY)
        and len(op.results) == 1
        and all(tensor_info(value.type).shape in (shape, ()) for value in op.operands)
    )


def _sampled(value: ir.Value, slice_: ir.Operation, known: dict[ir.Value, ir.Value]) -> ir.Value:
    """The sample of a tensor that a slice takes, of tensors of that shape."""
    pending = [value]
    shape = tensor_info(value.type).shape
    while pending:  # operands first, without recursion
        current = pending[-1]
        if current in known:
            pending.pop()
            continue
        op = defining_op(current)
        inner = list(op.operands) if op is not None and _is_elementwise(op, value) and not _adds_scattered(op) else []
        missing = [x for x in inner if x not in known and tensor_info(x.type).shape == shape]
        if missing:
            pending += missing
            continue
        known[current] = _one(current, op, slice_, known, copied=bool(inner))
        pending.pop()
    return known[value]


def _adds_scattered(op: ir.Operation) -> bool:
    """Whether an operation adds what is scattered: into zeros, XLA scatters into the other term instead."""
    terms = [defining_op(operand) for operand in op.operands] if op.name == "stablehlo.add" else []
    return any(term is not None and term.name == "stablehlo.scatter" for term in terms)


def _one(
    value: ir.Value, op: ir.Operation | None, slice_: ir.Operation, known: dict[ir.Value, ir.Value], *, copied: bool
) -> ir.Value:
    shape = tensor_info(slice_.results[0].type).shape
    type_ = emit.tensor_type(shape, tensor_info(value.type).element)
    if op is not None and copied:
        operands = [known.get(x, x) for x in op.operands]
        return ir.Operation.create(op.name, [type_], operands, dict(op.attributes.items())).results[0]
    number = number_behind(value)
    if isinstance(number, float):
        return emit.splat(type_, number)
    if op is not None and op.name == _BROADCAST and not tensor_info(op.operands[0].type).rank:
        return ir.Operation.create(_BROADCAST, [type_], [op.operands[0]], dict(op.attributes.items())).results[0]
    return ir.Operation.create("stablehlo.slice", [type_], [value], dict(slice_.attributes.items())).results[0]
