"""`scalify-samples`: samples of computed tensors are computed from samples of what these are computed from.

# slice(f(x, y)) = f(slice(x), slice(y)), f elementwise

A statistic of a new state decides the scale that it is stored at. Computed from the state, it makes one kernel write
the state in f32 and another one read it, multiply it and round it, where some hundred elements are asked for. So it is
with large gradients whose root mean square is asked for (`sample_of_rows`).
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.bodies import body_kind
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
# One of so many rows is measured, if there are so many then: each has a thousand elements, or they are more.
_ROW_STRIDES = range(32, 7, -1)
_FEWEST_ROWS = 512
# How many times fewer elements a sample has at least: half a tensor is read no faster than it is.
_FEWER = 4
_BROADCAST, _REDUCE, _RESHAPE = "stablehlo.broadcast_in_dim", "stablehlo.reduce", "stablehlo.reshape"
_REDUCED = ("add", "maximum", "minimum")


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
    limits = list(tensor_info(x.type).shape)
    return emit.slice_(x, [0] * len(limits), limits, strides)


def _sample_sources(op: ir.Operation) -> bool:
    """Replace a sample of what is computed elementwise, with strides; whether it was one."""
    if not tensor_info(op.operands[0].type).is_static or not _has_strides(op):
        return False
    source = defining_op(op.operands[0])
    sizes = [tensor_info(value.type).size for value in (op.results[0], op.operands[0])]
    if source is None or _FEWER * sizes[0] > sizes[1] or not _is_elementwise(source, op.operands[0]):
        return False
    with ir.InsertionPoint(op), op.location:
        sampled = _Sampling().of(op.operands[0], _taken(op))
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


class _Range(NamedTuple):
    """What is taken of one dimension, as `stablehlo.slice` takes it."""

    start: int
    limit: int
    stride: int


_Ranges = tuple[_Range, ...]


def _sizes(ranges: _Ranges) -> list[int]:
    """How many elements are taken of each dimension."""
    return [-(-(each.limit - each.start) // each.stride) for each in ranges]


def _taken(op: ir.Operation) -> _Ranges:
    """What a slice takes of each dimension."""
    starts, limits, strides = (
        ir.DenseI64ArrayAttr(op.attributes[name]) for name in ("start_indices", "limit_indices", "strides")
    )
    return tuple([_Range(starts[d], limits[d], strides[d]) for d in range(len(starts))])


class _Sampling:
    """Samples of values, each computed once. Needs a current insertion point and location."""

    def __init__(self) -> None:
        self._known: dict[tuple[ir.Value, _Ranges], ir.Value] = {}

    def of(self, value: ir.Value, ranges: _Ranges) -> ir.Value:
        """What is taken of a value, computed from what is taken of those that it is computed from."""
        pending = [(value, ranges)]
        while pending:  # operands first, without recursion
            current = pending[-1]
            if current in self._known:
                pending.pop()
                continue
            op = defining_op(current[0])
            inner = _samples_of_operands(op, *current) if op is not None else None
            missing = [each for each in inner or () if each is not None and each not in self._known]
            if missing:
                pending += missing
                continue
            if op is None or inner is None:
                self._known[current] = _slice(*current)
            else:
                operands = [self._known[each] if each else x for each, x in zip(inner, op.operands, strict=True)]
                self._known[current] = _computed(op, operands, current[1])
            pending.pop()
        return self._known[value, ranges]


def _samples_of_operands(
    op: ir.Operation, value: ir.Value, ranges: _Ranges
) -> Sequence[tuple[ir.Value, _Ranges] | None] | None:
    """What is to be taken of each operand so that what is taken of the result follows; None: of one that is whole.

    None where the result itself is taken a slice of.
    """
    if isinstance(number_behind(value), float):
        return None
    if op.name == _BROADCAST:
        return [_of_broadcast(op, ranges)]
    if op.name == _RESHAPE:
        return _of_reshape(op, ranges)
    if op.name == _REDUCE:
        return _of_reduction(op, ranges)
    if not _is_elementwise(op, value) or _adds_scattered(op):
        return None
    shape = tensor_info(value.type).shape
    return [(x, ranges) if tensor_info(x.type).shape == shape else None for x in op.operands]


# slice(broadcast(x)) = broadcast(slice(x))
def _of_broadcast(op: ir.Operation, ranges: _Ranges) -> tuple[ir.Value, _Ranges] | None:
    (x,) = op.operands
    shape, dimensions = tensor_info(x.type).shape, list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
    taken: _Ranges = tuple([ranges[int(dimensions[i])] if n > 1 else _Range(0, 1, 1) for i, n in enumerate(shape)])
    return (x, taken) if _sizes(taken) != list(shape) else None


# slice(reshape(x)) = reshape(slice(x)), where dimensions of size 1 come and go
def _of_reshape(op: ir.Operation, ranges: _Ranges) -> list[tuple[ir.Value, _Ranges] | None] | None:
    (x,) = op.operands
    before, after = tensor_info(x.type).shape, tensor_info(op.results[0].type).shape
    if [n for n in before if n > 1] != [n for n in after if n > 1]:
        return None
    remaining = iter([each for each, n in zip(ranges, after, strict=True) if n > 1])
    return [(x, tuple([next(remaining) if n > 1 else _Range(0, 1, 1) for n in before]))]


# slice(reduce(x)) = reduce(slice(x)), of dimensions that are kept
def _of_reduction(op: ir.Operation, ranges: _Ranges) -> list[tuple[ir.Value, _Ranges] | None] | None:
    """Of rows of a large tensor: what a sample of their sums reads keeps XLA from one kernel for all of a softmax."""
    x = op.operands[0]
    info = tensor_info(x.type)
    if len(op.operands) != 2 or body_kind(op) not in _REDUCED or number_behind(op.operands[1]) is None:
        return None
    if not info.is_static or _reduced(op) != [info.rank - 1]:
        return None
    width, rows = info.shape[-1], math.prod(_sizes(ranges))
    is_worth = width == 1 or (info.size >= _LARGE and _FEWER * rows * width <= info.size)
    return [(x, (*ranges, _Range(0, width, 1))), None] if is_worth else None


def _reduced(op: ir.Operation) -> list[int]:
    return [int(d) for d in ir.DenseI64ArrayAttr(op.attributes["dimensions"])]


def _slice(value: ir.Value, ranges: _Ranges) -> ir.Value:
    number = number_behind(value)
    if isinstance(number, float):
        return emit.splat(emit.tensor_type(_sizes(ranges), tensor_info(value.type).element), number)
    return emit.slice_(value, *zip(*ranges, strict=True))


def _computed(op: ir.Operation, operands: Sequence[ir.Value], ranges: _Ranges) -> ir.Value:
    """The operation on samples of its operands."""
    if op.name == _REDUCE:
        initial = float(number_behind(op.operands[1]) or 0)
        return emit.reduce(operands[0], body_kind(op), initial, _reduced(op))
    type_ = emit.tensor_type(_sizes(ranges), tensor_info(op.results[0].type).element)
    return ir.Operation.create(op.name, [type_], operands, dict(op.attributes.items())).results[0]


def _adds_scattered(op: ir.Operation) -> bool:
    """Whether an operation adds what is scattered: into zeros, XLA scatters into the other term instead."""
    terms = [defining_op(operand) for operand in op.operands] if op.name == "stablehlo.add" else []
    return any(term is not None and term.name == "stablehlo.scatter" for term in terms)
