"""Selections: the members of the result come from several operands, which are brought to one scale.

Members that are indifferent to scale (zeros, infinities, NaN) take any (paper, section 3.4 and appendix B).
"""

import math
import sys

from scalify_hlo import budget
from scalify_hlo.bindings import ir
from scalify_hlo.emit.emitter import Emitter
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.registry import Law, rule
from scalify_hlo.rules.shapes import to_rank_0, uniform_along
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, Scale, joined
from scalify_hlo.size.moments import Moments
from scalify_hlo.types import LARGEST, LARGEST_F16, TensorInfo, smallest_exponent, tensor_info

from .additive import bring_together, combined, constant_operand, finish_combined, relative, together
from .free_choices import free_choice
from .nonlinear import on_values

_LAW: Law = {"family": "selection", "law": "f(s x, t y) = m f(x s/m, y t/m)", "scale": "m = max(s, t)"}


def select_members(r: OpRewrite, indices: tuple[int, ...], *, filled: bool = False) -> None:
    """Bring the members `indices` to one scale and declare the result."""
    members = tuple(r.scaled(i) for i in indices)
    live = [m for m in members if not m.indifferent]
    if len(indices) == 2 and len(live) == 2:
        for i, j in (indices, indices[::-1]):
            number = r.splat(i)
            if number is None:
                continue
            other = r.scaled(j)
            scale = mask(r, i, j, number) if _is_beside(r, i, number) else None
            aligned = constant_operand(r, i, j, number) if scale is None else None
            nonnegative = number >= 0 or r.name == "stablehlo.maximum"
            if aligned is not None:
                r.because("constant")
                return finish_combined(r, aligned, other.moments.combined_with(nonnegative))
            if scale is not None:
                r.because("constant")
                return r.result(scale, relative(other, scale).combined_with(nonnegative))
    if not live:
        for i, m in zip(indices, members, strict=True):
            r.set_operand(i, m.data)
        return r.result(members[0].scale, members[0].moments, indifferent=True)
    scale = combined(r, indices, members)
    if r.name == "stablehlo.select":
        return finish_combined(r, scale, _either(members, scale))
    return finish_combined(r, scale, together(r, indices, scale, filled=filled))


def _either(members: tuple[ScaledValue, ...], scale: Scale) -> Moments:
    """Moments of what is chosen, half and half; zeros and infinities do not count.

    The law of size asks which share a mask holds for. Here it made GPT-2's step in f32 dearer by 2% and took first
    moments of 6 layers beyond 2^8: masks are asked for twice, on the way there and back.
    """
    live = [relative(m, scale) for m in members if not m.indifferent]
    rest = [m.moments for m in members if m.indifferent]
    found = live[0]
    for other in live[1:]:
        found = found.mixed(other)
    nonnegative = found.nonnegative and all(m.nonnegative for m in rest)
    infinite = found.infinite or any(m.infinite for m in rest)
    return Moments(found.rms, found.mean, nonnegative, infinite=infinite)


def is_far(info: TensorInfo, number: float) -> bool:
    """Whether a constant would crush what it is selected beside: a mask, or the largest number of an f8 type."""
    return abs(number) >= min(budget.MASK, LARGEST.get(info.element, math.inf))


def mask(r: OpRewrite, index: int, other: int, number: float) -> Scale:
    """Give a constant the other member's scale, which is returned: s select(p, x, c/s).

    In narrow types c/s saturates, so that of a mask at least c 2^-MASK_LOSS is left. The scale of a member that is
    smaller still (zeros have the smallest one) gives way: a mask must stay one, and its square be finite. In f64 every
    scale, a f32, leaves c/s in range, or next to it, if it is divided in f64.
    """
    emit, member = r.emit, r.scaled(other)
    info = r.info(index)
    if info.element == "f64":
        return _mask_in_f64(r, index, other, number)
    scale = emit.maximum([member.scale, least_mask_scale(info, number, narrow=r.rewriter.narrow)])
    r.set_operand(index, masked(emit, r.operand(index), scale, number))
    r.set_operand(other, r.bring(member, scale))
    return scale


def least_mask_scale(info: TensorInfo, number: float, *, narrow: bool = False) -> Scale:
    """The smallest scale at which enough of a number is left; the square of a mask is finite there.

    What a narrow type does not hold at all is as far as its largest number.

    The largest number of f32, which `nan_to_num` selects, has no finite square: beside it only scales give way at
    which it would be infinite itself, not those of ordinary values. A number that is no mask, a bound of a ratio, only
    stays in range: zeros are told by their scale, 2^-126, which lasts beside one.
    """
    exponent = math.ceil(math.log2(abs(number)))
    if info.is_narrow:
        return Scale(min(0, exponent - info.max_exponent) - budget.MASK_LOSS)
    if abs(number) < budget.MASK:
        return Scale(exponent - 126)
    if narrow and exponent > budget.FURTHEST_CONSTANT:
        return Scale(budget.FURTHEST_CONSTANT - 126)
    room = max(budget.MASK_ROOM, exponent + budget.MASK_ROOM // 2)
    return Scale(exponent - min(room, 126))


def masked(emit: Emitter, like: ir.Value, scale: Scale, number: float) -> ir.Value:
    """The data of a mask, or what its type holds of it, at a scale."""
    element = tensor_info(like.type).element
    largest = {"f16": LARGEST_F16, **LARGEST}.get(element, 3.0e38)
    if scale.is_constant:
        quotient = number * 2.0**-scale.exponent
        return emit.splat(like, max(-largest, min(largest, quotient)))
    one = emit.scale_value(ONE)
    quotient = emit.scale_op("divide", emit.splat(one, number), emit.divisor(scale))
    low, high = (emit.splat(one, bound) for bound in (-largest, largest))
    quotient = emit.op("clamp", quotient.type, low, quotient, high)
    return emit.broadcast_like(emit.scale_as(quotient, element), like)


def _mask_in_f64(r: OpRewrite, index: int, other: int, number: float) -> Scale:
    """The same in f64, whose constants may be far beyond what a scale can be (the least f64 number)."""
    emit, member = r.emit, r.scaled(other)
    scale, largest = member.scale, sys.float_info.max
    if scale.is_constant:
        mantissa, exponent = math.frexp(number)
        exponent -= round(scale.exponent)
        bounded = math.ldexp(mantissa, exponent) if exponent < 1024 else math.copysign(largest, number)
        r.set_operand(index, emit.splat(r.operand(index), bounded))
    else:
        divisor = emit.convert(emit.divisor(scale), "f64")
        quotient = emit.op("divide", divisor.type, emit.splat(divisor, number), divisor)
        low, high = (emit.splat(divisor, bound) for bound in (-largest, largest))
        r.set_operand(index, emit.broadcast_like(emit.op("clamp", divisor.type, low, quotient, high), r.operand(index)))
    r.set_operand(other, r.bring(member, scale))
    return scale


# max(s x, c) = s max(x, c/s): the result has the size of s x where c bounds it from outside, as -448 does. From inside,
# c > 0, it is at least as large as c, which is no mask however large it is.
def _is_beside(r: OpRewrite, index: int, number: float) -> bool:
    """Whether a constant takes the scale of the other member: a mask, or a bound that ordinary values stay within."""
    far = is_far(r.info(index), number)
    if r.name not in ("stablehlo.maximum", "stablehlo.minimum"):
        return far
    return (number < 0) == (r.name == "stablehlo.maximum") and (far or not r.rewriter.paper)


# p ? s x : t y = m (p ? x s/m : y t/m)
@rule("select", **_LAW, shaped=True, note="a far constant (a mask) takes the other member's scale; "
      "as does a number that is replaced again; in narrow types far multiples of one tensor, chosen by its size: on "
      "values")  # fmt: skip
def select(r: OpRewrite) -> None:
    if r.rewriter.free_choices and free_choice(r):
        return None
    if r.op.results[0] in r.rewriter.range_reductions:
        r.because("range")
        return on_values(r)
    if r.op.results[0] in r.rewriter.replaced_numbers and _replaced_number(r):
        return None
    if r.rewriter.narrow and r.op.results[0] in r.rewriter.stand_ins and _stand_in(r):
        return None
    return select_members(r, (1, 2))


# s x == 0 ? c : s x = m (x == 0 ? c/m : x s/m), m = max(s, c 2^-k): c is exact, and not 0 however large s is
def _stand_in(r: OpRewrite) -> bool:
    for i, j in ((1, 2), (2, 1)):
        number, other = r.splat(i), r.scaled(j)
        if number is None or r.splat(j) is not None or other.indifferent:
            continue
        least = Scale(math.floor(math.log2(number)) - budget.STAND_IN)
        scale = r.emit.maximum([other.scale, least])
        data = masked(r.emit, r.operand(i), scale, number)
        if r.info(i).is_narrow:
            least_data = r.emit.splat(data, 2.0 ** smallest_exponent(r.info(i).element))
            data = r.emit.op("maximum", data.type, data, least_data)
        r.set_operand(i, data)
        r.set_operand(j, r.bring(other, scale))
        r.because("constant")
        r.result(scale, relative(other, scale))
        return True
    return False


# p ? c : s x = s (p ? c/s : x), where c is not read: any number that the type holds serves
def _replaced_number(r: OpRewrite) -> bool:
    for i, j in ((1, 2), (2, 1)):
        number, other = r.splat(i), r.scaled(j)
        if number is not None and r.splat(j) is None and not other.indifferent:
            r.set_operand(i, masked(r.emit, r.operand(i), other.scale, number))
            r.set_operand(j, other.data)
            r.because("constant")
            r.result(other.scale, other.moments)
            return True
    return False


# max(s x, s y) = s max(x, y), s > 0
@rule("maximum", "minimum", **_LAW, shaped=True, note="a non-negative value below a constant: min(s, constant)")
def maximum(r: OpRewrite) -> None:
    for i, j in ((0, 1), (1, 0)):
        number = r.splat(i)
        if r.name == "stablehlo.minimum" and number is not None and 0 < number < math.inf:
            x = r.scaled(j)
            if x.moments.nonnegative and not x.indifferent and not x.scale.is_constant:
                return bounded(r, (0, 1), x, number)
    return select_members(r, (0, 1))


def bounded(r: OpRewrite, indices: tuple[int, ...], x: ScaledValue, most: float, least: float = 0.0) -> None:
    """A value that constants keep below `most` in size, and above `least`, has its own scale or that of the nearer.

    # clamp(m a, s x, m b) = m clamp(a, x s/m, b), m = max(min(s, |b|), |a|): where x s/m overflows, b takes its place
    """
    scale = x.size
    if math.isfinite(most):
        scale = r.emit.minimum([scale, Scale(math.floor(math.log2(most)))])
    if least:
        scale = r.emit.maximum([scale, Scale(math.floor(math.log2(least)))])
    at_scale(r, indices, scale, relative(x, scale))


def at_scale(r: OpRewrite, indices: tuple[int, ...], scale: Scale, moments: Moments) -> None:
    """Bring members to a scale and declare the result."""
    bring_together(r, indices, tuple(r.scaled(i) for i in indices), scale)
    finish_combined(r, scale, moments)


def _mixed_by_clamp(r: OpRewrite, index: int) -> list[int]:
    """None, unless a bound is a scalar for all elements."""
    del index
    scalars = any(r.info(i).rank != r.info(1).rank for i in (0, 2))
    return list(range(r.info(1).rank)) if scalars else []


# clamp(s a, s x, s b) = s clamp(a, x, b)
@rule("clamp", family="selection", law="clamp(s a, s x, s b) = s clamp(a, x, b)",
      scale="max of the bounds'; min(s, bound) where constant bounds enclose 0; s or the nearer one where they do not",
      note="what leaves the data's range on the way to that scale lies beyond a bound",
      mixes=_mixed_by_clamp)  # fmt: skip
def clamp(r: OpRewrite) -> None:
    x = r.scaled(1)
    members = tuple(r.scaled(i) for i in range(3))
    low, high = (r.splat(i) for i in (0, 2))
    moments = x.moments.combined_with(members[2].moments.nonnegative)
    x = ScaledValue(x.data, x.scale, moments, indifferent=x.indifferent)
    if low == high == 0:
        return on_values(r)
    if low is not None and high is not None and -math.inf < low <= 0 <= high < math.inf and not x.scale.is_constant:
        return bounded(r, (0, 1, 2), x, max(-low, high))
    if any(m.indifferent for m in members):
        scale = combined(r, (0, 1, 2), members)
        return finish_combined(r, scale, relative(x, scale))
    if low is not None and high is not None and low * high > 0:
        return bounded(r, (0, 1, 2), x, max(abs(low), abs(high)), min(abs(low), abs(high)))
    return at_scale(r, (0, 1, 2), r.common_scale((members[0], members[2])), moments)


def _mixed_by_concatenation(r: OpRewrite, index: int) -> list[int]:
    del index
    return [ir.IntegerAttr(r.op.attributes["dimension"]).value]


@rule("concatenate", **_LAW, mixes=_mixed_by_concatenation)
def concatenate(r: OpRewrite) -> None:
    select_members(r, tuple(range(len(r.inputs))))


def _mixed_by_padding(r: OpRewrite, index: int) -> list[int]:
    """The padded dimensions, where the padding has any scale; else all, the padding being a scalar."""
    rank = r.info(index).rank
    if not r.scaled(1).indifferent:
        return list(range(rank))
    edges = ("edge_padding_low", "edge_padding_high", "interior_padding")
    amounts = zip(*(r.attribute_ints(edge) for edge in edges), strict=True)
    return [d for d, amount in enumerate(amounts) if any(amount)]


# padding with s v and data s x: s pad(x, v)
@rule("pad", **_LAW, mixes=_mixed_by_padding)
def pad(r: OpRewrite) -> None:
    select_members(r, (0, 1))


@rule("dynamic_pad", **_LAW)
def dynamic_pad(r: OpRewrite) -> None:
    select_members(r, (0, 1))


@rule("dynamic_update_slice", **_LAW, shaped=True,
      note="in a loop, updating one slice of a stacked buffer: one slice of data and one slice of scale")  # fmt: skip
def dynamic_update_slice(r: OpRewrite) -> None:
    buffer, update = r.scaled(0), r.scaled(1)
    if is_left_by_its_loop(r, 0):
        return write_at_its_scale(r, 0, 1)
    carried = r.rewriter.is_carried(r.op.operands[0])
    dimension = _stacked_dimension(r)
    if dimension is not None and not (update.indifferent and buffer.indifferent):
        stacked = bool(buffer.scale.shape) and buffer.scale.shape[dimension] != 1
        if stacked or (carried and buffer.scale != update.scale):
            return _update_slice_and_scale(r, buffer, update, dimension)
    # Along dimensions that the update fills, each index keeps its scale.
    differing = [d for d, (m, n) in enumerate(zip(r.info(0).shape, r.info(1).shape, strict=True)) if m != n or m < 0]
    flat = tuple(uniform_along(r.rewriter, v, differing) for v in (buffer, update))
    for i, v in enumerate(flat):
        r.inputs[i] = v
        r.set_operand(i, v.data)
    return select_members(r, (0, 1), filled=carried)


def is_left_by_its_loop(r: OpRewrite, index: int) -> bool:
    """Whether a loop leaves an operand, which it carries, at the one number that its scale is."""
    value = r.op.operands[index]
    return (value in r.rewriter.settled or value in r.rewriter.held) and r.scaled(index).scale.is_scalar


# s x, t u written into it: s (x with u t/s written into it), where a loop leaves the whole at s
def write_at_its_scale(r: OpRewrite, buffer: int, update: int) -> None:
    """Rewrite what writes one operand into another, of rank 0 in scale: the buffer keeps its scale."""
    x, u = r.scaled(buffer), r.scaled(update)
    held = r.op.operands[buffer] in r.rewriter.held
    r.set_operand(buffer, x.data)
    r.set_operand(update, r.bring(to_rank_0(r.rewriter, u), x.scale))
    if held:
        r.rewriter.mark_carried(r.op.results[0])
        r.rewriter.held.add(r.op.results[0])
    else:
        r.rewriter.mark_settled(r.op.results[0])
    r.because("settled")
    r.result(x.scale, together(r, (buffer, update), x.scale, filled=True))


def _stacked_dimension(r: OpRewrite) -> int | None:
    """The dimension along which the update is one slice of the buffer, whole in all others; None if it is not."""
    buffer, update = r.info(0).shape, r.info(1).shape
    differing = [d for d, (m, n) in enumerate(zip(buffer, update, strict=True)) if m != n]
    one_slice = len(differing) == 1 and update[differing[0]] == 1 and buffer[differing[0]] > 0  # of known size
    return differing[0] if one_slice else None


def _update_slice_and_scale(r: OpRewrite, buffer: ScaledValue, update: ScaledValue, dimension: int) -> None:
    emit = r.emit
    each = [1] * r.info(0).rank
    others = [n if d != dimension else 1 for d, n in enumerate(buffer.scale.shape)]
    slices = joined(each, update.scale.shape, others)
    shape = [r.info(0).shape[dimension] if d == dimension else n for d, n in enumerate(slices)]
    # Zeros never written carry the smallest scale.
    scale = Scale(-126) if buffer.indifferent else buffer.scale
    old = emit.broadcast_to(emit.scale_value(scale), shape)
    new = emit.broadcast_to(emit.scale_value(Scale(-126) if update.indifferent else update.scale), slices)
    indices = list(r.op.operands)[2:]
    scales = emit.create("stablehlo.dynamic_update_slice", [old.type], [old, new, *indices]).results[0]
    r.set_operand(0, buffer.data)
    r.set_operand(1, update.data)
    stack = emit.as_scale(scales)
    if update.scale.is_scalar and not update.indifferent:
        emit.stacks.note(stack, None if buffer.indifferent else buffer.scale, update.scale)
    r.result(stack, buffer.moments.mixed(update.moments))
