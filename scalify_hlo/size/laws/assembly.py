"""Tensors made of elements of others: selections, padding, concatenation, slices written into a buffer."""

import math
from collections.abc import Sequence

from scalify_hlo import budget
from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.size.algebra import Size, of_number
from scalify_hlo.size.laws.arithmetic import smaller
from scalify_hlo.size.moments import Moments
from scalify_hlo.size.view import View, law, root
from scalify_hlo.types import tensor_info


def beside(v: View, members: Sequence[Size], shares: Sequence[float]) -> Size:
    """The size of a tensor whose elements come from `members`, in these shares.

    # E[x^2] = sum of share_i E[x_i^2]

    Infinities have no size, and are left out of the mean square of the others; so are numbers that stand for them.
    """
    live = [(m, s) for m, s in zip(members, shares, strict=True) if not m.is_indifferent]
    numbers = [each for each in live if not _stands_for_infinity(each[0])]
    live = numbers or live
    infinite = any(m.moments.infinite for m in members)
    nonnegative = all(m.moments.nonnegative or m.is_zero for m in members)
    if not live:
        splats = {m.splat for m in members}
        return members[0] if len(splats) == 1 or members[0].splat is None else of_number(0.0)
    lost = sum(
        s
        for m, s in zip(members, shares, strict=True)
        if (m.is_indifferent and not m.is_zero) or (numbers and _stands_for_infinity(m))
    )
    weights = [s / max(1 - lost, 1e-9) for _, s in live]
    parts = [m.with_moments(m.moments.times(math.sqrt(w))) for (m, _), w in zip(live, weights, strict=True)]
    if all(m.factors == live[0][0].factors for m, _ in live):
        rms = math.sqrt(sum(p.moments.rms**2 for p in parts))
        mean = sum(m.moments.mean * w for (m, _), w in zip(live, weights, strict=True))
        share = sum(m.moments.share * w for (m, _), w in zip(live, weights, strict=True))
        return live[0][0].with_moments(Moments(rms, mean, nonnegative, infinite=infinite, share=share))
    found = v.algebra.sum(parts)
    return found.with_moments(Moments(found.moments.rms, found.moments.mean, nonnegative, infinite=infinite))


# nan_to_num(x) has finfo.max where x is infinite
def _stands_for_infinity(member: Size) -> bool:
    """Whether a member is a number so large that nothing is computed with it."""
    return member.splat is not None and abs(member.splat) >= 2.0**budget.FURTHEST_CONSTANT


@law("select", "chlo.broadcast_select")
def select(v: View) -> Size:
    members = v.sizes[1:3]
    if v.x.splat is not None:
        return members[0 if v.x.splat else 1]
    if v.info(0).rank == 0 < v.result.rank:  # all of one or all of the other
        live = [m for m in members if not m.is_indifferent]
        return (
            v.algebra.sum(live) if len(live) == 2 and live[0].factors != live[1].factors else _larger(live or members)
        )
    share = v.x.moments.share if 0 < v.x.moments.share < 1 else 0.5
    zeros = [m.is_zero for m in members]
    if any(zeros) and not _depends_on_values(v.value(0)):
        return members[zeros.index(False)] if not all(zeros) else members[0]
    return beside(v, members, (share, 1 - share))


def _depends_on_values(predicate: ir.Value) -> bool:
    """Whether a mask is computed of floats, as that of relu is.

    One of positions alone (causal attention) is asked for twice: what it takes away on the way back is 0 already.
    """
    op = defining_op(root(predicate))
    return op is None or op.name != "stablehlo.compare" or tensor_info(op.operands[0].type).is_float


def _larger(members: Sequence[Size]) -> Size:
    return max(members, key=lambda m: m.moments.rms)


# relu of a zero-mean Gaussian: mean 0.4, second moment 1/2
@law("maximum", "minimum", "chlo.broadcast_maximum", "chlo.broadcast_minimum")
def extremum(v: View) -> Size:
    x, y = v.x, v.y
    largest = "maximum" in v.name
    for one, other in ((x, y), (y, x)):
        if one.splat is not None and _stands_for_infinity(one) and (one.splat < 0) == largest:
            return other
        if one.splat is not None and one.is_indifferent:
            if one.splat != 0:
                return other
            if other.moments.nonnegative:
                return other if largest else one
            rms, mean = other.moments.rms, other.moments.mean * (1 if largest else -1)
            half = Moments(math.sqrt(0.5) * rms, max(0.4 * rms, mean), largest, share=0.5)
            return other.with_moments(half if largest else half.times(-1))
        if largest and one.splat is not None and one.splat < 0 and other.splat is None:
            return other  # a lower bound below 0: as large as it was, where it is not below
    both = x.moments.nonnegative and y.moments.nonnegative
    if not largest and both:
        return smaller(v, x, y)
    if not largest and (x.splat is not None or y.splat is not None):
        found = x if y.splat is not None else y
        return found.with_moments(found.moments.combined_with(both))
    if x.factors == y.factors:
        found = _larger([x, y])
        return found.with_moments(found.moments.combined_with(both or largest))
    found = v.algebra.sum([x, y])
    either = largest and (x.moments.nonnegative or y.moments.nonnegative)
    return found.with_moments(Moments(found.moments.rms, found.moments.mean, either or both))


# between the bounds: the smaller of x and them, where they are on both sides of 0
@law("clamp")
def clamp(v: View) -> Size:
    low, x, high = v.sizes
    if low.splat is None and high.splat is None:
        return smaller(v, x, _larger((low, high)))
    if low.splat is None or high.splat is None or not low.splat <= 0 <= high.splat:
        return x.with_moments(x.moments.combined_with(high.moments.nonnegative))
    bound = max(-low.splat, high.splat)
    found = smaller(v, x, of_number(bound)) if math.isfinite(bound) else x
    return found.with_moments(Moments(found.moments.rms, 0.0, low.splat == 0 or x.moments.nonnegative))


@law("concatenate")
def concatenate(v: View) -> Size:
    return beside(v, v.sizes, [v.share(i) for i in range(len(v.sizes))])


@law("pad", "dynamic_pad")
def pad(v: View) -> Size:
    return beside(v, v.sizes[:2], (v.share(0), 1 - v.share(0)))


# a buffer that a loop writes slice by slice is full of them in the end
@law("dynamic_update_slice")
def update_slice(v: View) -> Size:
    if v.value(0) in v.iterated:
        count = v.iterated[v.value(0)]
        share = 1.0 if count is None else min(1.0, count * v.share(1))
        return beside(v, v.sizes[:2], (1 - share, share)) if share < 1 else v.y
    return beside(v, v.sizes[:2], (1 - v.share(1), v.share(1)))
