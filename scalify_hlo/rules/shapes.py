"""Scales with a shape: one number per slice of the data along some dimensions.

A shaped scale has the rank of its data, each dimension 1 or full. Elementwise rules need nothing special: scales
broadcast like data. Data movement moves the scale likewise. Contracting or reducing over a scaled dimension first
brings the data to one scale along it.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scalify_hlo.bindings import ir
from scalify_hlo.rules.plain import unscaled
from scalify_hlo.rules.rewriting import Rewriting
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, SMALLEST, Scale
from scalify_hlo.types import tensor_info

if TYPE_CHECKING:
    from scalify_hlo.emit.emitter import Emitter


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


def at_own_size(rewriter: Rewriting, scaled: ScaledValue) -> ScaledValue:
    """Few numbers, at the power of two that the largest is nearest to; zeros, infinities and NaN at scale 1."""
    emit = rewriter.emit
    value = unscaled(rewriter, scaled, element=scaled.info.element)
    wide = emit.convert(value, "f32")
    size = emit.op("abs", wide.type, wide)
    size = reduce_maximum(rewriter, size, range(scaled.info.rank)) if scaled.info.rank else size
    one = emit.scale_value(ONE)
    size = emit.where_less(size, emit.scale_value(SMALLEST), one, size)
    size = emit.where_less(emit.scale_value(Scale(126)), size, one, size)
    power = emit.rounded_power_of_two(size)
    data = emit.op("divide", wide.type, wide, emit.broadcast_like(power, wide))
    return ScaledValue(emit.convert(data, scaled.info.element), emit.as_scale(power, positive=True))


# s x = p (s/p x), p the power of two above s
def at_power_of_two(rewriter: Rewriting, scaled: ScaledValue) -> ScaledValue:
    """The same value at a scale that is a power of two: no smaller, so that no data leave their range."""
    emit, scale = rewriter.emit, scaled.scale
    if scale.is_constant:
        found = Scale(math.ceil(scale.exponent))
    else:
        value = emit.scale_value(scale)
        bounded = emit.op("minimum", value.type, value, emit.splat(value, 2.0**127))
        near = emit.rounded_power_of_two(bounded)
        twice = emit.op("multiply", near.type, near, emit.splat(near, 2.0))
        power = emit.where_less(near, bounded, twice, near)
        found = emit.as_scale(power, positive=scale.positive, trials=scale.trials)
    data = scaled.data
    if not scaled.indifferent:
        data = emit.rescale(data, scale / found, infinite=scaled.moments.infinite)
    return ScaledValue(data, found, scaled.moments, scaled.indifferent)


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
