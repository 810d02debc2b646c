"""Operations with a small region: reductions, windows, scatter, sort, map. Their law follows from the region's."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.emit.widening import widened
from scalify_hlo.module.bodies import body_kind, compared_kind
from scalify_hlo.rules.bodies import open_scale, with_body
from scalify_hlo.rules.oprewrite import Create, OpRewrite, UnsupportedError
from scalify_hlo.rules.plain import unscaled
from scalify_hlo.rules.registry import rule
from scalify_hlo.rules.shapes import to_rank_0, uniform_along
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, Scale
from scalify_hlo.size.moments import UNIT, Moments
from scalify_hlo.types import tensor_info

from .additive import combined, finish_combined, relative
from .contraction import as_written, growth
from .multiplicative import product_scale
from .selection import is_far, is_left_by_its_loop, mask, write_at_its_scale

# --- reductions -----------------------------------------------------------------------------------------------


# sum(s x) = s sum(x);  max(s x) = s max(x);  prod(s x) over n = s^n prod(x)
@rule("reduce", family="accumulation", law="sum(s x) = (s 2^k) (sum(x) 2^-k); max(s x) = s max(x)",
      scale="add: s 2^k, k = floor(log2 sqrt(N)), N for a mean, N^(3/4) in f16 and f8; "
            "max, min, selecting bodies: s; product: s^N",
      shaped=True, note="other bodies: derived from their operations, else on values")  # fmt: skip
def reduce(r: OpRewrite) -> None:
    dims = r.attribute_ints("dimensions")
    for i in range(len(r.op.results)):
        x = r.inputs[i]
        if x is not None and x.scale.shape:
            r.inputs[i] = flat = uniform_along(r.rewriter, x, dims)
            r.set_operand(i, flat.data)
    count = 1
    for d in dims:
        count *= max(r.info(0).shape[d], 1)
    kept = [d for d in range(r.info(0).rank) if d not in dims]
    accumulate(r, count, kept, counted=all(r.info(0).shape[d] >= 0 for d in dims))


def _mixed_by_windows(r: OpRewrite, index: int) -> list[int]:
    """The dimensions along which windows hold more than one element, or not every one."""
    del index
    dims: set[int] = set()
    for name in ("window_dimensions", "window_strides", "base_dilations", "window_dilations"):
        dims |= {d for d, n in enumerate(r.attribute_ints(name)) if n != 1}
    if "padding" in r.op.attributes:
        dims |= {int(d) for d in np.nonzero(np.asarray(r.op.attributes["padding"]))[0]}
    return sorted(dims)


# a window is a small reduction
@rule("reduce_window", family="accumulation", law="as reduce, over each window", scale="as reduce, N = window size",
      note="padding is not counted", mixes=_mixed_by_windows)  # fmt: skip
def reduce_window(r: OpRewrite) -> None:
    count = 1
    for n in r.attribute_ints("window_dimensions"):
        count *= n
    padded = "padding" in r.op.attributes and bool(np.asarray(r.op.attributes["padding"]).any())
    dilated = any(n != 1 for n in r.attribute_ints("base_dilations"))
    accumulate(r, count, None, counted=not (padded or dilated))


def accumulate(r: OpRewrite, count: int, kept: Sequence[int] | None, *, counted: bool) -> None:
    """Declare the results of a reduction of `count` elements each by the region of the operation.

    kept: the dimensions that remain, for scales with a shape; None when all do.
    counted: each result is made of exactly `count` elements; else (padding, dynamic sizes) of about as many.
    """
    kind = body_kind(r.op) if len(r.op.results) == 1 else "other"
    if kind == "add":
        _sum(r, count, kept)
    elif kind in ("maximum", "minimum", "first", "second"):
        x = _with_bound(r, kind, 0, met=counted and 0 not in r.info(0).shape) or _with_initial(r, 0, 1)
        r.result(_without(r, x.scale, kept), x.moments, indifferent=x.indifferent)
    elif kind == "multiply" and counted:
        _product(r, 0 if 0 in r.info(0).shape else count)
    elif kind == "multiply":
        on_values(r)
    else:
        _derived(r, kept)


def _without(r: OpRewrite, scale: Scale, kept: Sequence[int] | None) -> Scale:
    """A shaped scale without the dimensions that a reduction removes."""
    if kept is None or not scale.shape:
        return scale
    target = [scale.shape[d] for d in kept]
    value = r.emit.op("reshape", ir.RankedTensorType.get(target, r.emit.f32), r.emit.scale_value(scale))
    return r.emit.as_scale(value, positive=scale.positive, trials=scale.trials)


def _with_initial(r: OpRewrite, index: int, initial: int) -> ScaledValue:
    """The input, and its initial value brought to its scale; a live initial value takes part in the choice."""
    x, start = r.scaled(index), r.scaled(initial)
    if start.indifferent:
        r.set_operand(index, x.data)
        r.set_operand(initial, start.data)
        return x
    x = to_rank_0(r.rewriter, x)
    scale = r.common_scale((x, start))
    r.set_operand(index, r.bring(x, scale))
    r.set_operand(initial, r.bring(start, scale))
    return ScaledValue(r.operand(index), scale, x.moments.combined_with(start.moments.nonnegative))


# max(c, s x) = s max(c/s, x): a far start of a running maximum is a mask, whatever it is compared with; of argmax too
def _with_bound(r: OpRewrite, kind: str, index: int, *, met: bool) -> ScaledValue | None:
    """The input, and a far constant that a maximum or minimum starts from at its scale; None if it starts otherwise.

    met: every result has elements to compare with the constant, so that one on their far side need not be a mask.
    """
    initial = index + len(r.op.results)
    number, x = r.splat(initial), r.scaled(index)
    if number is None or not number or not math.isfinite(number) or x.indifferent:
        return None
    if kind not in ("maximum", "minimum") or (number > 0) != (kind == "minimum"):
        return None
    if not is_far(r.info(initial), number) and (r.rewriter.paper or not met):
        return None
    x = to_rank_0(r.rewriter, x)
    r.inputs[index] = x
    r.set_operand(index, x.data)
    scale = mask(r, initial, index, number)
    return ScaledValue(r.operand(index), scale, relative(x, scale))


def _sum(r: OpRewrite, count: int, kept: Sequence[int] | None) -> None:
    x = _with_initial(r, 0, 1)
    moments = r.expected(x)
    if moments.least:  # of values; rows of causal attention have as few terms as one
        moments = dataclasses.replace(moments, least=1.0 if x.scale.is_one else 0.0)
    scale = _without(r, x.scale, kept)
    if x.indifferent:
        return r.result(scale, moments, indifferent=True)
    if not r.result_info().is_narrow:
        return r.settled(scale, moments, slack=r.rewriter.slack, unit=math.log2(max(count, 1)))
    # Accumulate in f32, multiply by the power of two, then round to the narrow type.
    exponent = growth(r, r.rewriter.moments(x.moments).rms, moments, count)
    if r.splat(1) == 0 and as_written(r, 0, count, exponent, scale, moments):
        return None
    return r.accumulated(widened(r).results[0], exponent, scale, moments)


def _product(r: OpRewrite, count: int) -> None:
    x, start = (to_rank_0(r.rewriter, r.scaled(i)) for i in (0, 1))
    try:
        scale = product_scale(x, count, narrow=r.rewriter.narrow) * start.scale
    except UnsupportedError:
        return on_values(r)
    r.set_operand(0, x.data)
    r.set_operand(1, start.data)
    return r.result(scale, indifferent=start.indifferent if r.info(0).is_empty else x.indifferent)


def _derived(r: OpRewrite, kept: Sequence[int] | None) -> None:
    """Any other region: rewritten with one open scale for each scaled input."""
    inputs = len(r.op.results)
    scales: list[Scale | None] = [None] * inputs
    for i in range(inputs):
        if r.inputs[i] is not None or r.inputs[inputs + i] is not None:
            scales[i] = open_scale(r.rewriter)
    copy = with_body(r.rewriter, r.op, [*scales, *scales], scales)
    if copy is None:
        return on_values(r)
    members = {
        i: _with_bound(r, compared_kind(r.op, i), i, met=False) or _with_initial(r, i, inputs + i)
        for i in range(inputs) if scales[i] is not None
    }  # fmt: skip
    copy.move_before(r.op)
    for i in range(2 * inputs):
        copy.operands[i] = r.operand(i)
    for i, value in enumerate(copy.results):
        member = members.get(i)
        if member is None:
            r.op.results[i].replace_all_uses_with(value)
        else:
            scale = _without(r, member.scale, kept)
            r.result(scale, member.moments, index=i, data=value, indifferent=member.indifferent)
    return r.erase()


def on_values(r: OpRewrite, moments: Moments = UNIT, scales: Sequence[Scale] | None = None) -> None:
    """Compute on values, in types wide enough for them, the region included.

    scales: of the results beside data of a narrow type; by default that of operand i, unless it is smaller than 1.
    """
    scales = scales or [_growing_scale(r, i) for i in range(len(r.op.results))]
    narrow = any(tensor_info(v.type).is_narrow for v in [*r.op.operands, *r.op.results])
    for i, found in enumerate(r.inputs):
        if found is not None:
            r.set_operand(i, unscaled(r.rewriter, found))
    op = widened(r) if narrow else r.op
    for i, value in enumerate(op.results):
        old = r.op.results[i]
        if not tensor_info(old.type).carries_scale:
            if op != r.op:
                old.replace_all_uses_with(value)
        elif op != r.op:
            with r.after():
                r.value_result(value, moments, i, scales[i])
        else:
            r.result(ONE, moments, index=i)


def _growing_scale(r: OpRewrite, index: int) -> Scale:
    x = r.inputs[index] if index < len(r.inputs) else None
    if x is None or x.indifferent or not r.result_info(index).is_narrow:
        return ONE
    return r.maximum([to_rank_0(r.rewriter, x).scale, ONE])


# --- scatter --------------------------------------------------------------------------------------------------


def _mixed_by_scattering(r: OpRewrite, index: int) -> list[int]:
    """All dimensions but those that are whole, and in the same place, in operand and updates."""
    count = len(r.op.results)
    operand, updates = r.info(0).shape, r.info(count + 1).shape
    numbers = stablehlo.ScatterDimensionNumbers(r.op.attributes["scatter_dimension_numbers"])
    moved = {
        *numbers.inserted_window_dims, *numbers.input_batching_dims, *numbers.scattered_dims_to_operand_dims
    }  # fmt: skip
    windows = [d for d in range(len(operand)) if d not in {*numbers.inserted_window_dims, *numbers.input_batching_dims}]
    whole = {
        d for d, u in zip(windows, numbers.update_window_dims, strict=True)
        if d == u and d not in moved and operand[d] == updates[u] and len(operand) == len(updates)
    }  # fmt: skip
    return [d for d in range(r.info(index).rank) if d not in whole]


# s x with s u added in places: s (x with u added there)
@rule("scatter", family="selection", law="scatter(m x, m u) = m scatter(x, u)", scale="m = max(s, t)",
      note="multiplying bodies: on values; a far constant takes the other's scale",
      mixes=_mixed_by_scattering)  # fmt: skip
def scatter(r: OpRewrite) -> None:
    count = len(r.op.results)
    kind = body_kind(r.op) if count == 1 else "other"
    pairs = [(i, count + 1 + i) for i in range(count)]
    if kind in ("add", "maximum", "minimum", "first", "second"):
        x, u = (r.scaled(i) for i in pairs[0])
        if x.indifferent and u.indifferent:
            return r.result(u.scale, u.moments, indifferent=True)
        if kind == "second" and is_left_by_its_loop(r, 0):
            return write_at_its_scale(r, *pairs[0])
        both = kind != "add" and not x.indifferent and not u.indifferent
        for i, j in (pairs[0], pairs[0][::-1]) if both else ():
            number = r.splat(i)
            if number is not None and is_far(r.info(i), number):
                r.because("constant")
                scale = mask(r, i, j, number)
                return r.result(scale, relative(r.scaled(j), scale).combined_with(number >= 0))
        live, nonnegative = u if x.indifferent else x, x.moments.nonnegative and u.moments.nonnegative
        scale = combined(r, pairs[0], (x, u))
        return finish_combined(r, scale, relative(live, scale).combined_with(nonnegative))
    if kind == "multiply":
        x, u = (r.scaled(i) for i in pairs[0])
        return on_values(r, scales=[r.maximum([x.scale, x.scale * u.scale])])
    scales: list[Scale | None] = [
        open_scale(r.rewriter) if r.inputs[i] is not None or r.inputs[j] is not None else None for i, j in pairs
    ]
    copy = with_body(r.rewriter, r.op, [*scales, *scales], scales)
    if copy is None:
        return on_values(r, scales=[_live_scale(r, pair) for pair in pairs])
    members = {i: r.aligned(pair) for i, pair in enumerate(pairs) if scales[i] is not None}
    copy.move_before(r.op)
    for i in range(len(r.inputs)):
        copy.operands[i] = r.operand(i)
    for i, value in enumerate(copy.results):
        if i in members:
            r.result(members[i], index=i, data=value)
        else:
            r.op.results[i].replace_all_uses_with(value)
    return r.erase()


def _live_scale(r: OpRewrite, pair: tuple[int, int]) -> Scale:
    """The scale of what is not replaced; of the updates where that is indifferent to scale."""
    x, u = (r.scaled(i) for i in pair)
    return u.scale if x.indifferent else x.scale


# the source is scattered to where the operand, at any scale, is selected
@rule("select_and_scatter", family="accumulation", law="f(s x, t y) = t f(x, y)", scale="t", mixes=_mixed_by_windows)
def select_and_scatter(r: OpRewrite) -> None:
    x, source, start = (r.scaled(i) for i in range(3))
    operand, r.inputs[0] = open_scale(r.rewriter), x
    keeps_scale = body_kind(r.op, 1) in ("add", "maximum", "minimum")
    copy = with_body(r.rewriter, r.op, [operand, operand], [None]) if keeps_scale else None
    scale, moments = r.common_scale((source, start)), r.expected(x, source, start)
    if copy is None:
        return on_values(r, scales=[scale])
    copy.operands[0] = x.data
    copy.operands[1] = r.bring(source, scale)
    copy.operands[2] = r.bring(start, scale)
    copy.move_before(r.op)
    r.result(scale, moments, data=copy.results[0], indifferent=source.indifferent and start.indifferent)
    return r.erase()


# --- sort -----------------------------------------------------------------------------------------------------


def _mixed_by_sorting(r: OpRewrite, index: int) -> list[int]:
    dimension = ir.IntegerAttr(r.op.attributes["dimension"]).value
    return [dimension % r.info(index).rank]


# sort(s x) = s sort(x): a positive scale keeps the order
@rule("sort", family="homogeneous", law="sort(s x, t y) = (s, t) sort(x, y)", scale="its operand's",
      note="a comparator that looks at magnitudes: on values", mixes=_mixed_by_sorting)  # fmt: skip
def sort(r: OpRewrite) -> None:
    scales: list[Scale | None] = []
    for i, x in enumerate(r.inputs):
        scales.append(open_scale(r.rewriter) if x is not None else None)
        if x is not None:
            r.set_operand(i, x.data)
    copy = with_body(r.rewriter, r.op, [s for s in scales for _ in (0, 1)], [None])
    if copy is None:
        return on_values(r, scales=[ONE if x is None else x.scale for x in r.inputs])
    for i, value in enumerate(copy.results):
        x = r.inputs[i]
        if x is None:
            r.op.results[i].replace_all_uses_with(value)
        else:
            r.result(x.scale, x.moments, index=i, data=value, indifferent=x.indifferent)
    return r.erase()


def _last_dimension(r: OpRewrite, index: int) -> list[int]:
    return [r.info(index).rank - 1]


# the largest of s x are s times the largest of x
@rule("chlo.top_k", family="homogeneous", law="top_k(s x) = s top_k(x)", scale="s", mixes=_last_dimension)
def top_k(r: OpRewrite) -> None:
    x = r.scaled(0)
    r.result(x.scale, x.moments, indifferent=x.indifferent)


# --- map ------------------------------------------------------------------------------------------------------


# map(f)(x) is f on every element: the region's operations are elementwise and take whole tensors as well
@rule("map", family="structural", law="map(f)(x) = f(x), elementwise", scale="by the rules of the region's operations",
      shaped=True, legalised=True, note="a region with calls or regions of its own: on values")  # fmt: skip
def map_(r: OpRewrite) -> None:
    block = r.op.regions[0].blocks[0]
    *operations, terminator = (inner.operation for inner in block.operations)
    if any(len(inner.regions) or len(inner.results) != 1 or inner.name == "func.call" for inner in operations):
        return _map_whole(r)

    def build(operands: list[ir.Value], create: Create) -> ir.Value:
        like = r.op.results[0]
        values = dict(zip(block.arguments, operands, strict=True))

        def whole(scalar: ir.Value) -> ir.Value:
            """A value of the region, at the shape of the result."""
            if scalar not in values:  # a constant, or captured from outside
                type_ = r.emit.tensor_type(like.type, tensor_info(scalar.type).element)
                dims: dict[str, ir.Attribute] = {"broadcast_dimensions": ir.DenseI64ArrayAttr.get([])}
                if r.result_info().is_static:
                    values[scalar] = create("stablehlo.broadcast_in_dim", type_, [scalar], dims)
                else:
                    sizes = r.emit.shape_of(r.operand(0))
                    values[scalar] = create("stablehlo.dynamic_broadcast_in_dim", type_, [scalar, sizes], dims)
            return values[scalar]

        for inner in operations:
            if not len(inner.operands):
                inner.move_before(r.op)
                continue
            type_ = r.emit.tensor_type(like.type, tensor_info(inner.results[0].type).element)
            arguments = [whole(v) for v in inner.operands]
            values[inner.results[0]] = create(inner.name, type_, arguments, dict(inner.attributes.items()))
        return whole(terminator.operands[0])

    return r.expand(build)


def _map_whole(r: OpRewrite) -> None:
    """A map that cannot be expanded: on data where the region is homogeneous, else on values."""
    floats = [i for i in range(len(r.inputs)) if r.info(i).carries_scale]
    opened = open_scale(r.rewriter)
    arguments = [opened if i in floats else None for i in range(len(r.inputs))]
    copy = with_body(r.rewriter, r.op, arguments, [opened])
    if copy is None:
        return on_values(r)
    for i in floats:
        r.inputs[i] = flat = to_rank_0(r.rewriter, r.scaled(i))
        r.set_operand(i, flat.data)
    scale = r.aligned(floats)
    copy.move_before(r.op)
    for i in floats:
        copy.operands[i] = r.operand(i)
    r.result(scale, data=copy.results[0])
    return r.erase()
