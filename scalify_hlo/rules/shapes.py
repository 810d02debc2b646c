"""Scales with a shape: one number per slice of the data along some dimensions.

A shaped scale has the rank of its data, each dimension 1 or full. Elementwise rules need nothing special: scales
broadcast like data. Data movement moves the scale likewise. Contracting or reducing over a scaled dimension first
brings the data to one scale along it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalify_hlo.bindings import ir
from scalify_hlo.rules.rewriting import Rewriting
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import Scale
from scalify_hlo.types import tensor_info

if TYPE_CHECKING:
    from scalify_hlo.emit.emitter import Emitter


def joined(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The smallest shape that scales of these shapes broadcast to."""
    return tuple(max(sizes) for sizes in zip(*(shape for shape in shapes if shape), strict=True))


def to_rank_0(rewriter: Rewriting, scaled: ScaledValue) -> ScaledValue:
    """The same value with one scale for all its elements: the largest."""
    shape = scaled.scale.shape
    if not shape:
        return scaled
    return uniform_along(rewriter, scaled, range(len(shape)), collapse=True)


def uniform_along(
    rewriter: Rewriting, scaled: ScaledValue, dims: Sequence[int], *, collapse: bool = False
) -> ScaledValue:
    """The same value with a scale of size 1 along `dims`: the largest there; of rank 0 when nothing is left.

    collapse: the scale becomes rank 0.
    """
    emit = rewriter.emit
    scale = scaled.scale
    shape = scale.shape
    dims = [d for d in dims if shape and shape[d] != 1]
    if not shape or not (dims or collapse):
        return scaled
    value = emit.scale_value(scale)
    key = ("uniform", value, tuple(dims), collapse)
    found = emit.scope.cache.get(key)
    if found is None:
        kept = [d for d in range(len(shape)) if d not in dims]
        peak = reduce_maximum(rewriter, value, dims)
        if collapse or all(shape[d] == 1 for d in kept):
            target: list[int] = []
        else:
            target = [1 if d in dims else n for d, n in enumerate(shape)]
        if list(tensor_info(peak.type).shape) != target:
            peak = emit.op("reshape", ir.RankedTensorType.get(target, emit.f32), peak)
        found = emit.cache_scale(key, peak, positive=scale.positive, trials=scale.trials)
    data = scaled.data if scaled.indifferent else emit.rescale(scaled.data, scale / found)
    return ScaledValue(data, found, scaled.moments, scaled.indifferent)


def reduce_maximum(rewriter: Rewriting, value: ir.Value, dims: Sequence[int]) -> ir.Value:
    """The maximum of a f32 scale tensor over `dims`, which disappear."""
    emit = rewriter.emit
    shape = [n for d, n in enumerate(tensor_info(value.type).shape) if d not in dims]
    zero = emit.scale_value(Scale(-126))
    reduce = emit.create(
        "stablehlo.reduce",
        [ir.RankedTensorType.get(shape, emit.f32)],
        [value, zero],
        {"dimensions": ir.DenseI64ArrayAttr.get(list(dims))},
        regions=1,
    )
    body = reduce.regions[0].blocks.append(emit.scalar, emit.scalar, arg_locs=[emit.location] * 2)
    with emit.at(ir.InsertionPoint(body)):
        peak = emit.op("maximum", emit.scalar, body.arguments[0], body.arguments[1])
        ir.Operation.create("stablehlo.return", [], [peak], loc=emit.location, ip=emit.ip)
    return reduce.results[0]


def placed(emit: "Emitter", scale: Scale, dims: Sequence[int], where: Sequence[int], rank: int) -> Scale:
    """A shaped scale with its dimensions `dims` moved to the dimensions `where` of a result of `rank`."""
    shape = scale.shape
    if not shape:
        return scale
    kept = [(w, d) for w, d in zip(where, dims, strict=True) if shape[d] != 1]
    value = emit.scale_value(scale)
    order = [d for _, d in sorted(kept)]
    by_source = sorted(order)
    compact = emit.op("reshape", ir.RankedTensorType.get([shape[d] for d in by_source], emit.f32), value)
    target = [1] * rank
    for w, d in kept:
        target[w] = shape[d]
    positions = {d: w for w, d in kept}
    moved = emit.op(
        "broadcast_in_dim", ir.RankedTensorType.get(target, emit.f32), compact,
        broadcast_dimensions=ir.DenseI64ArrayAttr.get([positions[d] for d in by_source]),
    )  # fmt: skip
    return emit.as_scale(moved, positive=scale.positive, trials=scale.trials)
