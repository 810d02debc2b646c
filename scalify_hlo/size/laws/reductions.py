"""Elements that become one: sums, maxima, windows, scatters. The law follows from the region's operation."""

import dataclasses
import math

from scalify_hlo.analysis.origins import are_exponentials
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.manual import group_size
from scalify_hlo.size.algebra import Size
from scalify_hlo.size.laws.arithmetic import add
from scalify_hlo.size.laws.assembly import beside
from scalify_hlo.size.moments import Moments
from scalify_hlo.size.view import View, law


def combined(v: View, count: float) -> Size:
    """The size of `count` elements made one by the operation's region."""
    x = v.sizes[v.index]
    moments = x.moments
    match body_kind(v.op):
        case "add":
            total = aligned_sum(moments, count, v.alignment)
            if moments.nonnegative and are_exponentials(v.value(v.index)):
                # The largest is 1: of masked rows the sum may be as small, else half-way between that and N.
                least = 1.0 if moments.infinite else total.rms ** (1 / 3)
                total = dataclasses.replace(total, least=least, infinite=False)
            return x.with_moments(total)
        case "maximum" | "minimum" as kind:
            if moments.nonnegative or count <= 1:
                return x.with_moments(dataclasses.replace(moments, mean=moments.rms)) if count > 1 else x
            rms = moments.rms * _largest_of(count)
            return x.with_moments(Moments(rms, rms if kind == "maximum" else -rms))
        case "multiply":
            return x**count
        case _:
            return x


def aligned_sum(moments: Moments, count: float, alignment: float) -> Moments:
    """Moments of a sum of `count` elements of one tensor, which have something in common.

    # sqrt(N) < N^(3/4) < N

    The terms of a bias's gradient agree at the start of training, and so do the activations of a channel: half-way
    between independent terms and equal ones. Measured by `benchmarks.sizes` in GPT-2 and ResNet: N^0.7, as a median.
    """
    variance = max(moments.rms**2 - moments.mean**2, 0.0) * count ** (1 + alignment)
    mean = count * moments.mean
    return Moments(math.sqrt(variance + mean**2), mean, moments.nonnegative, infinite=moments.infinite)


def _largest_of(count: float) -> float:
    """Mean of the largest of N unit Gaussians.

    # Gumbel: b = sqrt(2 log N) - (log log N + log 4 pi) / (2 sqrt(2 log N)), and Euler's constant / sqrt(2 log N) more
    """
    if count < 4:
        return 0.8
    root = math.sqrt(2 * math.log(count))
    return root - (math.log(math.log(count)) + math.log(4 * math.pi)) / (2 * root) + 0.5772 / root


@law("reduce")
def reduce(v: View) -> Size:
    shape = v.info(v.index).shape
    return combined(v, math.prod(max(shape[d], 1) for d in v.ints("dimensions")))


# padding of cumulative sums is half of the windows
@law("reduce_window")
def reduce_window(v: View) -> Size:
    count = math.prod(v.ints("window_dimensions"))
    cumulative = count > 1 and count in v.info(v.index).shape and v.result.shape == v.info(v.index).shape
    return combined(v, max(1.0, count / 2) if cumulative else count)


# what is written, and what is left of the target
@law("scatter")
def scatter(v: View) -> Size:
    count = len(v.op.results)
    target, updates = v.sizes[v.index], v.sizes[len(v.sizes) - count + v.index]
    size, written = v.result.size, v.info(len(v.sizes) - count + v.index).size
    share = min(1.0, written / size) if size else 1.0
    if body_kind(v.op) == "add":
        rms, mean = (
            updates.moments.rms * math.sqrt(written / max(size, 1)),
            updates.moments.mean * written / max(size, 1),
        )
        spread = updates.with_moments(Moments(rms, mean, updates.moments.nonnegative, share=share))
        if target.is_zero:
            return spread
        return target.with_moments(target.moments.plus(spread.moments)) if target.factors == spread.factors else (
            v.algebra.sum([target, spread])
        )  # fmt: skip
    return beside(v, (target, updates), (1 - share, share))


# each source element goes to one of its window
@law("select_and_scatter")
def select_and_scatter(v: View) -> Size:
    source = v.y
    share = min(1.0, v.info(1).size / max(v.info(0).size, 1))
    return source.with_moments(Moments(source.moments.rms * math.sqrt(share), source.moments.mean * share,
                                       source.moments.nonnegative, share=share))  # fmt: skip


# a sum over devices, as many as the groups have
@law("all_reduce", "reduce_scatter", "collective_reduce", "cross-replica-sum")
def over_devices(v: View) -> Size:
    count = group_size(v.op)
    if v.name == "stablehlo.cross-replica-sum":
        return v.sizes[v.index].with_moments(aligned_sum(v.sizes[v.index].moments, count, v.alignment))
    return combined(v, count)


# every operand keeps its elements
@law("sort", "optimization_barrier")
def each_its_own(v: View) -> Size:
    return v.sizes[min(v.index, len(v.sizes) - 1)]


@law("map")
def mapped(v: View) -> Size:
    return add(v) if body_kind(v.op) in ("add", "subtract") else v.x
