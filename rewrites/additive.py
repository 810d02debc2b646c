"""Additive operations, s x + t y: the operands are brought to one scale, the larger of the two.

max(s, t) is what the paper's sqrt(s^2 + t^2) rounds down to (section 3.2).
"""

import math
from collections.abc import Sequence

from scalify_hlo import budget
from scalify_hlo.bindings import ir
from scalify_hlo.emit.shared_sums import noted
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.plain import unscaled, unscaled_key, wide_element
from scalify_hlo.rules.registry import rule
from scalify_hlo.rules.sizing import Operand
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, Scale, floor
from scalify_hlo.size.moments import UNIT, Moments, of_constant
from scalify_hlo.size.state import StateSum, new_states
from scalify_hlo.types import tensor_info

from .nonlinear import at_one_scale_in_f32
from .residual_streams import note_stream, scale_of_terms, stream_scale


# s x + t y = m (x s/m + y t/m), m = max(s, t)
@rule("add", "subtract", family="additive", law="s x + t y = m (x s/m + y t/m)", scale="m = max(s, t)", shaped=True)
def add(r: OpRewrite) -> None:
    x, y = r.scaled(0), r.scaled(1)
    if x.indifferent or y.indifferent:
        other = y if x.indifferent else x
        r.set_operand(0, x.data)
        r.set_operand(1, y.data)
        r.because("any")
        return r.result(other.scale, r.expected(x, y), indifferent=x.indifferent and y.indifferent)
    if r.rewriter.paper:
        return sum_at_common_scale(r, x, y)
    for i in (0, 1):
        number = r.splat(i) if r.inputs[i] is None else None
        scale = None if number is None else constant_operand(r, i, 1 - i, number)
        if number is not None and scale is not None:
            r.because("constant")
            moments = r.scaled(1 - i).moments.combined_with(number >= 0 and r.name == "stablehlo.add")
            if not scale.factors and abs(number) >= 2 * moments.rms * 2.0**scale.exponent:
                moments = _beside_number(r, i, of_constant(number * 2.0**-scale.exponent), moments)
            return finish_combined(r, scale, moments)
    if r.op.results[0] in r.rewriter.range_reductions:
        r.because("range")
        bring_together(r, (0, 1), (x, y), ONE)
        return finish_combined(r, ONE)
    if r.rewriter.settled and _settled_sum(r, (x, y)):
        return None
    known = r.rewriter.state_sums.get(r.value())
    if known is not None and _state_sum(r, x, y, known):
        return None
    low = (_polynomial(r, x, y) if r.rewriter.polynomials else None) or lower_degree(r, x, y)
    if low is not None:
        r.because("polynomial")
        bring_together(r, (0, 1), (x, y), low.scale)
        nonnegative = x.moments.nonnegative and y.moments.nonnegative and r.name == "stablehlo.add"
        return finish_combined(r, low.scale, low.moments.combined_with(nonnegative))
    return sum_at_common_scale(r, x, y)


# s x + t y = s (x + y t/s), where a loop leaves the sum at s: x, which a product can add to, stays as it is
def _settled_sum(r: OpRewrite, members: tuple[ScaledValue, ScaledValue]) -> bool:
    """Declare a sum that a loop adds up, if it is one whose scale is known before the loop."""
    for i, state in enumerate(members):
        if r.op.operands[i] in r.rewriter.settled and state.scale.is_scalar:
            r.because("settled")
            bring_together(r, (0, 1), members, state.scale)
            finish_combined(r, state.scale, state.moments)
            r.rewriter.mark_settled(r.value())
            return True
    return False


def _state_sum(r: OpRewrite, x: ScaledValue, y: ScaledValue, known: StateSum) -> bool:
    """Declare the sum that makes the new value of a state; whether its terms are at hand to do so."""
    members = (x, y)
    state = _visible(r, known.state) if known.operand is None else members[known.operand]
    if state is None or state.indifferent:
        return False
    if known.kind == "update":
        r.because("update")
        other = (y if state is x else x) if known.operand is not None else None
        _note_sign(r, other)
        added = None if known.operand is None or r.inputs[1 - known.operand] is not None else r.splat(1 - known.operand)
        if added:  # n + 64, from n = 1e-4: no estimate
            scale = r.maximum([state.size, Scale(math.floor(math.log2(abs(added))))])
        else:
            scale = held_scale(r, state, other)
        bring_together(r, (0, 1), members, scale)
        finish_combined(r, scale, relative(state, scale))
        return True
    entering = None if known.enters is None else _visible(r, known.enters)
    if entering is None and known.operand is not None and known.forgets:
        # What enters is there as a term alone: it is smaller than what the average settles at, t / (1 - a).
        term = members[1 - known.operand]
        entering = ScaledValue(term.data, term.scale, term.moments.times(1 / known.forgets))
    if entering is None:
        return False
    _note_sign(r, entering)
    r.because("average")
    (_narrow_average if r.is_stored_narrow() else _wide_average)(r, members, state, entering, known)
    return True


def _note_sign(r: OpRewrite, entering: ScaledValue | None) -> None:
    """Remember of a new state that what entered it is nonnegative: where it is stored in a narrow type."""
    if entering is not None and entering.moments.nonnegative and r.name == "stablehlo.add":
        r.rewriter.nonnegative_states.update(new_states(r.value(), r.rewriter.returned_states))


def _polynomial(r: OpRewrite, x: ScaledValue, y: ScaledValue) -> ScaledValue | None:
    """Of a polynomial of one tensor, c x + b(x) x, what it is as large as; None for other sums."""
    known = r.rewriter.polynomials.get(r.value())
    if known is None:
        return None
    base = None if known.base is None else _visible(r, known.base)
    return base if base is not None and base.scale.is_scalar else (x, y)[known.low]


def _visible(r: OpRewrite, value: ir.Value) -> ScaledValue | None:
    """The scaled form of another value of the program where it is known, and its scale exists, at the operation.

    A scale with a shape is one of its own tensor's elements: it says nothing of a tensor of another shape.
    """
    found = r.rewriter.scaled.get(value)
    if found is None or found.indifferent or found.scale.depth > r.emit.scope.depth:
        return None
    return found if found.scale.is_scalar or tensor_info(value.type).shape == r.info(0).shape else None


def held_scale(r: OpRewrite, state: ScaledValue, update: ScaledValue | None) -> Scale:
    """The scale of a state after an update, w - u: the one that it has.

    The size of an update is estimated from all scales that its gradient is computed from, and its rate may be known at
    run time only. An estimate that became the scale of the state would enter the next step's estimates. Only a state
    of zeros, which has the smallest scale, takes that of its update; in a narrow type with room to grow.
    """
    if update is None or update.scale.factors == state.scale.factors:
        return state.scale
    if state.scale.is_constant or r.emit.is_live(state.scale):
        return state.scale
    if state.scale.shape or update.scale.shape:
        return r.maximum([state.size, update.size.shifted(-budget.UPDATE)])
    return r.emit.if_zeros(state.scale, update.size.shifted(budget.FIRST_UPDATE if r.is_stored_narrow() else 0))


def settled_average(r: OpRewrite, scale: Scale) -> tuple[Scale, float]:
    """The scale of a moving average: that of its new term, which the state forgets its own for.

    Returns it with the power of two by which the new term's scale is larger.

    # b m + (1 - b) g, E[g^2] constant: the average has the size of g, whatever m started from

    No maximum with the state's scale is taken, so an average cannot keep a scale that it has outgrown, and a state of
    zeros plays no part. A floor keeps the old state from overflowing should the new term's scale collapse.
    """
    if scale.is_constant or not scale.is_scalar:
        return scale, 0
    power = math.gcd(*(abs(p) for _, p in scale.factors))
    factors = tuple((symbol, p // power) for symbol, p in scale.factors)
    key = ("average", factors)
    cache = r.emit.scope.cache
    exponent = math.floor(scale.exponent / power)
    if key not in cache:
        # The power of two is part of it: a value at this scale was formed with it, so that it costs no operation.
        average = Scale(exponent, factors)
        known = average.least >= floor().exponent
        cache[key] = (exponent, average if known else r.emit.emitted_extremum("maximum", [average, floor()]))
    # The averages of g and of g^2 share one root.
    found, root = cache[key]
    rest = (exponent - found) * power
    if abs(rest) <= 2 * budget.AVERAGE_BELOW:
        return root**power, rest + scale.exponent - exponent * power
    return (root**power).shifted(rest), scale.exponent - exponent * power


def _wide_average(
    r: OpRewrite, members: tuple[ScaledValue, ScaledValue], state: ScaledValue, entering: ScaledValue, known: StateSum
) -> None:
    """A moving average in a type with the range of f32, at the scale that it settles at."""
    del state, known
    scale, offset = settled_average(r, entering.scale)
    bring_together(r, (0, 1), members, scale)
    # In its first steps the average is smaller than that: (1 - b) g after one.
    finish_combined(r, scale, entering.moments.shifted(offset), slack=budget.AVERAGE_ABOVE, below=budget.AVERAGE_BELOW)


def _narrow_average(
    r: OpRewrite, members: tuple[ScaledValue, ScaledValue], state: ScaledValue, entering: ScaledValue, known: StateSum
) -> None:
    """A moving average stored in a narrow type: the larger of the state's scale and of that which suits the average.

    # b m + (1 - b) g, E[g^2] constant: from zeros it grows from (1 - b) g to the size of g

    Half-way between the two, so that 1 - b = 1/1000 costs 2^5 of f16's range at either end.
    """
    forgets = known.forgets or 1.0
    growth = math.ceil(-math.log2(forgets) * budget.AVERAGE_GROWTH)
    average = ScaledValue(entering.data, entering.scale.shifted(growth), entering.moments.times(forgets))
    # 0.95 times a state is no smaller than the state, or an average would halve its scale at every step.
    before = ScaledValue(state.data, state.scale, state.moments.times(1 / (1 - forgets) if forgets < 1 else 1))
    scale = r.common_scale((before, average))
    if entering.moments.nonnegative and not r.info(0).is_narrow:
        # Sizes of gradients vary, squares twice so: the average moves down while it grows.
        least = average.size.shifted(budget.AVERAGE_OF_SQUARES)
        scale = r.maximum([scale, r.emit.minimum([before.size.shifted(1), least])])
    # The floor keeps quotients of two averages of zeros from becoming 0/0: XLA computes (a/s)/(b/t) as a t / (s b).
    scale = r.emit.maximum([scale, floor()])
    bring_together(r, (0, 1), members, scale)
    finish_combined(r, scale, relative(average, scale))


def lower_degree(r: OpRewrite, x: ScaledValue, y: ScaledValue) -> ScaledValue | None:
    """Of two terms of different degrees in the same run-time scales, as in x + x^3 or 1 + x^2, the lower; else None.

    Such a sum is a nonlinear function of one tensor, not a sum of unlike tensors: it does not grow with the power of
    the scale (a polynomial is evaluated where its terms balance), and it takes the scale of its lower term. Types of
    narrow range, and what is rounded to one next, take the larger scale as long as they can.
    """
    if x.scale.factors == y.scale.factors:
        return None
    scales = r.emit.expanded(x.scale, floors=False), r.emit.expanded(y.scale, floors=False)
    powers = [power for _, power in (scales[0] / scales[1]).factors]
    if not powers or _is_unlike(*scales):
        return None
    if min(powers) * max(powers) < 0:
        difference = _difference_in_common(*scales)
        return None if abs(difference) < 2 or r.is_stored_narrow() else x if difference < 0 else y
    degrees = [sum(abs(p) for _, p in scale.factors) for scale in scales]
    low = x if degrees[0] <= degrees[1] else y
    least = 4 if r.is_stored_narrow() else 2 if low.scale.is_constant else 1
    if math.gcd(*powers) < least or (low.scale.is_constant and _is_norm(r, int(low is y), x if low is y else y)):
        return None
    return low


def _is_norm(r: OpRewrite, index: int, other: ScaledValue) -> bool:
    """Whether it adds a positive constant, operand `index`, to a square, or to what is not negative.

    # v + 10, the variance of pixels: as large as v, wherever it is; no polynomial, whose terms balance

    Of other degrees it is one: # 1 + t, 1 + t (1 + t), ... of t = 1/x^2
    """
    number = r.splat(index) if r.inputs[index] is None and r.name == "stablehlo.add" else None
    if number is None or number <= 0 or not all(0 < power <= 2 for _, power in other.scale.factors):
        return False
    return other.moments.nonnegative or _is_square(other.scale)


def _is_square(scale: Scale) -> bool:
    """Whether it is that of a square, which may have come through a function that hides its sign."""
    return all(power % 2 == 0 for _, power in scale.factors)


def _is_unlike(x: Scale, y: Scale) -> bool:
    """Whether both are known at run time alone, of nothing that they share: s and 1/t say nothing of each other."""
    return bool(x.factors and y.factors) and {s for s, _ in x.factors}.isdisjoint(s for s, _ in y.factors)


def _difference_in_common(x: Scale, y: Scale) -> int:
    """How much higher the degree of x is than that of y in what both have: a x and b x^3 with scales of their own."""
    others = dict(y.factors)
    difference = 0
    for symbol, power in x.factors:
        other = others.get(symbol, 0)
        difference += power - other if power > 0 < other else 0
    return difference


def sum_at_common_scale(r: OpRewrite, x: ScaledValue, y: ScaledValue) -> None:
    """Add two scaled values at the larger scale."""
    scale = stream_scale(r, x, y)
    terms = 0
    if scale is None:
        terms, scale = scale_of_terms(r, x, y)
    bring_together(r, (0, 1), (x, y), scale)
    a, b = relative(x, scale), relative(y, scale)
    # Of unlike scales, which of the two values is larger is known at run time only. Counting both as full would double
    # the estimate with every second sum of a residual stream, to which blocks add little.
    if x.scale.factors == y.scale.factors:
        moments = r.expected(a, b)
    else:
        moments = larger(a, b.times(-1) if r.name == "stablehlo.subtract" else b)
    finish_combined(r, scale, moments)
    if terms:
        note_stream(r, terms, (x.scale, y.scale, scale))


def relative(member: ScaledValue, scale: Scale) -> Moments:
    """Moments of a value's data at another scale; at full size where the ratio is not known at compile time."""
    if member.scale.factors == scale.factors:
        return member.moments.shifted(member.scale.exponent - scale.exponent)
    return member.centred


def together(r: OpRewrite, indices: Sequence[int], scale: Scale, *, filled: bool = False) -> Moments:
    """Moments of the result at a scale that the operands `indices` have been brought to."""
    operands: list[Operand] = []
    for i in range(len(r.inputs)):
        found = r.scaled(i) if i in indices else r.inputs[i]
        if found is None:
            operands.append(r.original(i))
        else:
            operands.append(relative(found, scale) if i in indices and not found.indifferent else found)
    return r.expected(*operands, filled=filled)


def larger(a: Moments, b: Moments) -> Moments:
    """Moments of the larger of two values; with a mean or a sign if both have it.

    Values with zeros that leave room for each other, as the gradients of slices have, are taken to do so.
    """
    found = a if a.rms >= b.rms else b
    agree = a.mean * b.mean > 0
    infinite = a.infinite or b.infinite
    disjoint = a.share + b.share <= 1
    rms = math.hypot(a.rms, b.rms) if disjoint else found.rms
    share = a.share + b.share if disjoint else 1.0
    nonnegative = a.nonnegative and b.nonnegative
    return Moments(rms, found.mean if agree else 0.0, nonnegative, infinite=infinite, share=share)


def finish_combined(
    r: OpRewrite,
    scale: Scale,
    moments: Moments = UNIT,
    index: int = 0,
    slack: float | None = None,
    below: float | None = None,
) -> None:
    """Declare the result of an operation whose operands `combined` brought together.

    moments: of the data at `scale`. slack, below: as of `OpRewrite.excess`.
    """
    if not r.on_values:
        r.settled(scale, moments, index=index, slack=slack, below=below)
        return
    value = r.value(index)
    if scale.factors and scale.exponent and not r.emit.is_emitted(scale):
        # Divide by the run-time part alone; the power of two stays in the data if they are not too far out then.
        moments, scale = moments.shifted(scale.exponent), Scale(0, scale.factors)
    # Otherwise it is part of the divisor, which is the result's scale: no operation on the data.
    exponent = r.excess(moments, index=index, slack=slack, below=below)
    if exponent:
        r.because("budget")
    moments, scale = moments.shifted(-exponent), r.emit.above_zero(scale.shifted(exponent))
    with r.after():
        data = r.emit.unscale_by(value, scale)
    info = r.result_info(index)
    r.emit.scope.cache[unscaled_key(data, scale, info.element)] = value
    static = info.rank and info.is_static and not info.is_complex
    if static and scale.factors and r.name in ("stablehlo.add", "stablehlo.subtract"):
        r.rewriter.sums.append(noted(r.op, data.owner.operation))
    r.result(scale, moments, index=index, data=data)


def combined(r: OpRewrite, indices: tuple[int, ...], members: tuple[ScaledValue, ...]) -> Scale:
    """Bring operands to one scale and return it; the result is then declared by `finish_combined`.

    Scales that differ by a constant are aligned by it. Unlike scales: narrow types multiply each operand by the
    ratio of its scale to the maximum. Types with the range of f32 compute on values and divide the result by the
    maximum, m (s x + t y) / m: no ratio is emitted, and a value that is wanted unscaled next is there already.
    """
    scale = r.common_scale(members)
    bring_together(r, indices, members, scale)
    return scale


def bring_together(r: OpRewrite, indices: tuple[int, ...], members: tuple[ScaledValue, ...], scale: Scale) -> None:
    """Bring operands to the given scale, each on its own or, in wide types, all of them on values."""
    r.on_values = False
    for member in members:
        if not member.indifferent and member.scale.factors != scale.factors:
            info = r.info(indices[0])
            r.on_values = info.is_complex or wide_element(info.element) == info.element
            break
    for i, member in zip(indices, members, strict=True):
        data = unscaled(r.rewriter, member) if r.on_values else r.bring(member, scale)
        r.set_operand(i, data)


def constant_operand(r: OpRewrite, index: int, position: int, number: float) -> Scale | None:
    """Bring the constant operand `index`, a number, to the scale of the operand at `position` where that is safe.

    Returns the scale, or None: nothing is changed then.

    # s x + c = s (x + c/s)
    """
    other = r.scaled(position)
    if 0 < number < budget.NEXT_TO_NOTHING and not r.info(index).is_narrow and other.scale.is_scalar:
        return _beside_nothing(r, position, other, number)
    if other.scale.is_constant:
        quotient = number * 2.0**-other.scale.exponent
        if abs(quotient) >= 2.0**budget.LARGEST_TERM:
            return None
        r.set_operand(index, r.emit.splat(r.operand(index), quotient))
        r.set_operand(position, other.data)
        return other.scale
    small = 0 < number <= min(budget.GUARD, 2.0 ** (other.scale.exponent - 3))
    even = _is_square(other.scale)
    if not small or not (even or other.moments.nonnegative) or r.info(index).is_narrow or not other.scale.is_scalar:
        return None
    r.on_values = True
    r.set_operand(position, unscaled(r.rewriter, other))
    if other.scale.least >= math.log2(number) - budget.FAR_EPSILON:
        return other.scale
    # Beside a value of zeros the constant is all there is, and a scale of nearly zero would be none for it.
    degree = 2 if even else 1
    root = Scale(0, tuple((symbol, power // degree) for symbol, power in other.scale.factors))
    least = math.floor((math.log2(number) - other.scale.exponent) / degree) - budget.BELOW_EPSILON
    floored = r.emit.floored(root, least, in_place=not r.rewriter.narrow)
    return (floored**degree).shifted(other.scale.exponent)


# x / (|x| + tiny), 0 at x = 0: tiny / s is subnormal for an s of 4, which XLA takes for 0
def _beside_nothing(r: OpRewrite, position: int, other: ScaledValue, number: float) -> Scale:
    """Bring what is combined with the smallest normal number, or one next to it, to a scale that leaves it normal."""
    r.on_values = True
    r.set_operand(position, unscaled(r.rewriter, other))
    most = math.floor(math.log2(number)) - r.info(position).min_exponent
    return r.emit.minimum([other.scale, Scale(most)])


# 1 + 0.1 x: as large as the number, and products of such are; 1 - x of an x as large is as large as x
def _beside_number(r: OpRewrite, index: int, number: Moments, other: Moments) -> Moments:
    """Moments of the sum of a number, operand `index`, and a smaller tensor, of which the scale is kept."""
    first, second = (number, other) if index == 0 else (other, number)
    return first.plus(second, -1 if r.name == "stablehlo.subtract" else 1)


# rem(s x, s y) = s rem(x, y); |rem(x, y)| <= |x| and |y|
@rule("remainder", family="additive", law="rem(s x, s y) = s rem(x, y)",
      scale="max(s, t); min(s, t) in f16, f8, and of a number", shaped=True)  # fmt: skip
def remainder(r: OpRewrite) -> None:
    x, y = r.scaled(0), r.scaled(1)
    one_scale = x.indifferent or y.indifferent or x.scale == y.scale
    if one_scale or r.rewriter.paper or not r.info(0).is_narrow:
        scale, number = combined(r, (0, 1), (x, y)), r.splat(1)
        if number and math.isfinite(number) and r.on_values and not r.rewriter.paper:
            # The fraction of a number, say, which is multiplied by other fractions.
            most = Scale(math.floor(math.log2(abs(number))))
            return finish_combined(r, r.emit.minimum([x.scale, most]), UNIT)
        return finish_combined(r, scale, relative(x, scale))
    # f32 holds both at the larger scale, and their remainder, to the last bit. A bit of the smaller one that f16 loses
    # there changes the result altogether.
    common, scale = r.common_scale((x, y)), r.emit.minimum([x.scale, y.scale])
    op = r.rebuilt(at_one_scale_in_f32(r, (0, 1)), [r.emit.tensor_type(r.value().type, "f32")])
    data = r.emit.convert(r.emit.unscale_by(op.results[0], scale / common), r.info(0).element)
    return r.result(scale, UNIT, data=data)
