"""Multiplicative operations: f(s x, t y) = f(s, t) f(x, y). Scales multiply, divide and take roots by algebra."""

import math

from scalify_hlo import budget
from scalify_hlo.bindings import ir
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.plain import note_product
from scalify_hlo.rules.registry import rule
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, SMALLEST_EXPONENT, Scale
from scalify_hlo.size.moments import UNIT, UNKNOWN, Moments, of_constant
from scalify_hlo.types import FLOAT_RANGE

from .bounded_divisors import bounded_quotient, bounded_root, may_leave_range, nonzero, quotient_in_f32
from .free_choices import free_choice
from .nonlinear import on_values


def power_of_two(number: float | None) -> int | None:
    """The exponent k for 2^k, None for anything else."""
    mantissa, exponent = math.frexp(number or 0.0)  # 1/2 of no zero, infinity or NaN
    return exponent - 1 if mantissa == 0.5 else None


# 2^150 x is a number of f64; a scale of 2^150 is none of f32
def _fits_scale(r: OpRewrite, index: int, exponent: int) -> bool:
    """Whether a power of two may become part of an operand's scale: one that leaves f32's range stays with the data."""
    if r.info(index).real != "f64":
        return True
    before = r.scaled(index).scale.exponent
    return abs(before + exponent) <= max(abs(before), budget.SCALE_OF_F64)


def _pass_through(r: OpRewrite, x: ScaledValue, scale: Scale) -> None:
    """The result is the operand's data at another scale; the operation disappears."""
    r.result(scale, x.moments, data=x.data, indifferent=x.indifferent)
    r.erase()


# (s x) (t y) = (s t) (x y);  (s x) 2^k = (s 2^k) x
@rule("multiply", family="multiplicative", law="(s x)(t y) = (s t)(x y)", scale="s t", shaped=True)
def multiply(r: OpRewrite) -> None:
    if r.rewriter.free_choices and free_choice(r):
        return None
    for i in (0, 1):
        number = r.splat(i) if r.inputs[i] is None else None
        if number is None:
            continue
        factor = r.inputs[1 - i]
        if factor is not None and _keeps_constant(r, factor, number):
            constant = ScaledValue(r.operand(i), ONE, of_constant(number))
            note_product(r.rewriter, r.value(), factor, constant)
            return r.result(factor.scale, factor.moments.times(number))
        exponent = power_of_two(number)
        if exponent is not None and _fits_scale(r, 1 - i, exponent):
            x = r.scaled(1 - i)
            return _pass_through(r, x, x.scale.shifted(exponent))
    x, y = r.scaled(0), r.scaled(1)
    scale = x.scale * y.scale
    if scale.degree > budget.LARGEST_POWER:
        return _near_values(r, scale)
    if x.data == y.data and not r.info(0).is_complex:
        # The scales may differ, as in (2 x) x.
        ratio = y.scale / x.scale
        x = with_headroom(r, x)
        y = ScaledValue(x.data, x.scale * ratio, x.moments)
        scale = x.scale * y.scale
    r.set_operand(0, x.data)
    r.set_operand(1, y.data)
    moments = r.expected(x, y)
    if x.indifferent or y.indifferent:
        return r.result(y.scale if x.indifferent else x.scale, moments, indifferent=True)
    note_product(r.rewriter, r.value(), x, y)
    return scaled_result(r, scale, moments)


# x^6 = t (x^6 / t), t the number next to 1 from which s^6 is no further than HIGH_POWER_ERROR
def _near_values(r: OpRewrite, scale: Scale) -> None:
    """Compute a high power on values, for `scale` may leave the range of f32. Their size is then not known.

    Nor is it in a narrow type, for the power of an estimate is off by the same power of its error: but the values are
    not to leave the range of the type if the estimate is anywhere near them. Products of gates, which are estimated
    too small, are the values: they fit it, however many they are.
    """
    if not r.is_stored_narrow(moved=True) or r.rewriter.paper or scale.shape:
        return on_values(r, UNIT if r.rewriter.narrow else UNKNOWN)
    error, emit = budget.HIGH_POWER_ERROR, r.emit
    largest = emit.minimum([Scale(budget.FURTHEST_HIGH_POWER), scale.shifted(-error)])
    if any(power > 0 for _, power in scale.factors):
        return on_values(r, UNIT, [emit.maximum([ONE, largest])])
    smallest = emit.maximum([Scale(-budget.FURTHEST_HIGH_POWER), emit.minimum([ONE, scale.shifted(error)])])
    return on_values(r, UNIT, [emit.maximum([smallest, largest])])


def _keeps_constant(r: OpRewrite, x: ScaledValue, number: float, power: int = 1) -> bool:
    """Whether a constant factor (power -1: divisor) of x stays in the data as it is.

    No exponent of it has to be multiplied into a scale later then.
    Not so for the paper's rules, nor where the data would come too far from unit scaling.
    """
    if number == 1 or not 0 < abs(number) < math.inf or x.indifferent or r.rewriter.paper:
        return False
    size = power * math.log2(abs(number))
    slack = r.rewriter.slack
    if r.result_info().is_narrow:
        slack = 0.0 if size == round(size) else budget.FACTOR_NARROW
    return abs(size) <= slack and abs(x.moments.log2 + size) <= slack


def scaled_result(r: OpRewrite, scale: Scale, moments: Moments, data: ir.Value | None = None) -> None:
    """Declare a product or quotient: the operation's own result, or `data`, which takes its place.

    A product of many scales is made one value, so that what follows does not multiply them again.
    """
    rest = r.emit.unfloored(scale)
    if rest is not ONE:
        with r.after():
            data = r.emit.rescale(data or r.value(), rest)
        return r.settled(scale / rest, moments, data=data)
    if len(scale.factors) > budget.MOST_FACTORS:
        scale = r.emit.single(Scale(0, scale.factors)).shifted(scale.exponent)
    return r.settled(scale, moments, data=data)


def with_headroom(r: OpRewrite, x: ScaledValue) -> ScaledValue:
    """A value about to be squared in f16, made smaller if its squares are summed.

    A square has twice the dynamic range of its operand, f16 2^-24..2^16. Of a sum of squares, as in a variance, the
    largest decide: those that vanish do not count, one that overflows spoils it.
    """
    if r.info(0).element != "f16" or r.rewriter.paper or x.indifferent or x.moments.least:
        return x
    exponent = round(x.moments.log2) + (budget.SUMMED_SQUARES if _is_summed(r.op.results[0]) else 0)
    return r.rebalanced(x, exponent) if exponent else x


def _is_summed(value: ir.Value) -> bool:
    """Whether a value is used by sums over a dimension alone."""
    users = [use.owner.operation for use in value.uses]
    return bool(users) and all(
        _is_summed(user.results[0]) if user.name == "stablehlo.convert" else user.name == "stablehlo.reduce"
        for user in users
    )


# (s x)^2 = s^2 x^2
@rule("chlo.square", family="multiplicative", law="(s x)^2 = s^2 x^2", scale="s^2", shaped=True,
      note="of real numbers: written as a product first")  # fmt: skip
def square(r: OpRewrite) -> None:
    x = with_headroom(r, r.scaled(0))
    r.set_operand(0, x.data)
    moments = r.expected(x)
    if x.indifferent:
        return r.result(x.scale, moments, indifferent=True)
    return r.settled(x.scale**2, moments)


def _leave_room(r: OpRewrite) -> None:
    """Keep the scale that a dividend was divided by, of a sum of zeros perhaps, away from the end of f32.

    XLA computes (x / s) / c as x / (s c), and that would be 0 / 0.
    """
    x = r.inputs[0]
    if x is None or x.indifferent or not x.scale.factors or isinstance(x.data.owner, ir.Block):
        return
    if x.data.owner.name == "stablehlo.divide":
        r.emit.raised(x.scale, budget.LEAST_DIVISOR)


# (s x) / (t y) = (s / t) (x / y)
@rule("divide", family="multiplicative", law="(s x)/(t y) = (s/t)(x/y)", scale="s / t", shaped=True)
def divide(r: OpRewrite) -> None:
    if r.rewriter.free_choices and free_choice(r):
        return None
    _leave_room(r)
    number, dividend = r.splat(1) if r.inputs[1] is None else None, r.inputs[0]
    if number is not None and dividend is not None and _keeps_constant(r, dividend, number, -1):
        return r.result(dividend.scale, dividend.moments.times(1 / number))
    exponent = power_of_two(number)
    if exponent is not None and _fits_scale(r, 0, -exponent):
        x = r.scaled(0)
        return _pass_through(r, x, x.scale.shifted(-exponent))
    x, y = r.scaled(0), r.scaled(1)
    scale = x.scale / y.scale
    if scale.degree > budget.LARGEST_POWER:
        return _near_values(r, scale)
    moments = r.expected(x, y)
    if r.rewriter.bounded_divisors:
        if bounded_quotient(r, x, y, moments):
            return None
        y = nonzero(r, y, x.data)
    r.set_operand(0, x.data)
    r.set_operand(1, y.data)
    if x.indifferent or y.indifferent:
        return r.result(y.scale if x.indifferent else x.scale, moments, indifferent=True)
    data = quotient_in_f32(r, x, y) if may_leave_range(r, y) else None
    return scaled_result(r, scale, moments, data)


def take_root(r: OpRewrite, degree: int, sign: int) -> None:
    """A root of data and scale, where the scale's exponent may not be a multiple of the degree.

    # root_n(2^(n m + r) x) = 2^m root_n(2^r x)
    """
    x = r.scaled(0)
    moments = r.expected(x)
    if x.indifferent:
        return r.result(x.scale, moments, indifferent=True)
    root, rest = x.scale.rooted(degree)
    emit = r.emit
    if rest.is_constant:
        if sign < 0 and r.rewriter.bounded_divisors:
            if bounded_root(r, root, degree, moments):
                return None
            x = nonzero(r, x, None, 1 / degree)
        r.set_operand(0, emit.rescale(x.data, rest))
        return r.result(root**sign, moments)
    # A run-time rest: its root rounded to a power of two goes into the scale, what is left into the data.
    value = emit.scale_value(rest)
    key = ("root", value, degree)
    found = emit.scope.cache.get(key)
    if found is None:
        rounded = emit.rounded_power_of_two(emit.op("sqrt" if degree == 2 else "cbrt", value.type, value))
        one, larger, smaller = rest.trials
        trials = one / degree, larger / degree, smaller / degree
        # Rounded to the nearest power of two, so by one at most.
        least = max(SMALLEST_EXPONENT, rest.least // degree - 1) if rest.positive else SMALLEST_EXPONENT
        found = emit.cache_scale(key, rounded, positive=rest.positive, least=least, trials=trials)
        emit.note_root(found, degree)
    if sign < 0 and r.rewriter.bounded_divisors and bounded_root(r, root * found, degree, moments):
        return None
    if r.info(0).is_narrow:
        data = emit.rescale(x.data, rest / found**degree)
        if sign < 0 and r.rewriter.bounded_divisors:
            data = nonzero(r, ScaledValue(data, x.scale, moments), None, 1 / degree).data
        r.set_operand(0, data)
        return r.result((root * found) ** sign, moments)
    r.set_operand(0, emit.rescale(x.data, rest))
    with r.after():
        value = r.op.results[0]
        # The reciprocal of a zero scale counts as 2^126, here as in the result's scale.
        size = found if found.positive else emit.as_scale(emit.divisor(found), positive=True)
        data = emit.unscale_by(value, found) if sign > 0 else emit.rescale(value, size)
    return r.result((root * found) ** sign, moments, data=data)


# sqrt(2^(2m+r) x) = 2^m sqrt(2^r x)
@rule("sqrt", family="multiplicative", law="sqrt(s x) = sqrt(s) sqrt(x)", scale="sqrt(s), the odd power in the data",
      shaped=True)  # fmt: skip
def sqrt(r: OpRewrite) -> None:
    take_root(r, 2, 1)


# 1/sqrt(2^(2m+r) x) = 2^-m / sqrt(2^r x)
@rule("rsqrt", family="multiplicative", law="rsqrt(s x) = rsqrt(s) rsqrt(x)", scale="1 / sqrt(s)", shaped=True)
def rsqrt(r: OpRewrite) -> None:
    take_root(r, 2, -1)


# cbrt(2^(3m+r) x) = 2^m cbrt(2^r x)
@rule(
    "cbrt",
    family="multiplicative",
    law="cbrt(s x) = cbrt(s) cbrt(x)",
    scale="cbrt(s), the rest in the data",
    shaped=True,
)
def cbrt(r: OpRewrite) -> None:
    take_root(r, 3, 1)


# (s x)^n = s^n x^n for integers n
@rule("power", family="multiplicative", law="(s x)^n = s^n x^n", scale="s^n for a small n; else 1",
      note="exponents that are no integers, 1/2 or -1/2: of narrow types on values in f32, at a power of two near s^n; "
      "of others, and exponents beyond 4: nonlinear, on the unscaled value", shaped=True)  # fmt: skip
def power(r: OpRewrite) -> None:
    exponent = r.splat(1)
    if exponent is not None and 0 < abs(exponent) <= budget.LARGEST_POWER and exponent == int(exponent):
        x = r.scaled(0)
        moments = r.expected(x)
        if x.indifferent:
            return r.result(x.scale, moments, indifferent=True)
        if exponent < 0 and r.rewriter.bounded_divisors:
            if bounded_root(r, x.scale ** -int(exponent), -1 / exponent, moments):
                return None
            r.set_operand(0, nonzero(r, x, None, -exponent).data)
        return r.settled(x.scale ** int(exponent), moments)
    if exponent in (0.5, -0.5):
        # x^0.5 differs from sqrt only at -0 and -inf; the operation stays a power.
        return take_root(r, 2, 1 if exponent > 0 else -1)
    if exponent is not None and float(exponent).is_integer() and r.rewriter.narrow and not r.scaled(0).indifferent:
        return _near_values(r, r.scaled(0).scale ** int(exponent))
    if exponent is not None and 0 < abs(exponent) <= budget.LARGEST_POWER and r.rewriter.narrow:
        x = r.scaled(0)
        if not x.indifferent and not r.rewriter.paper:
            return on_values(r, r.expected(x), [_raised(r, x.scale, exponent)])
    return on_values(r)


# s^p = 2^round(p k) of s = 2^k
def _raised(r: OpRewrite, scale: Scale, exponent: float) -> Scale:
    """A power of two near a power of a scale that is no integer: what is left of it, less than 2, is in the data."""
    furthest = min(budget.FURTHEST_HIGH_POWER / abs(exponent), -FLOAT_RANGE["f32"][1])
    if scale.is_constant:
        return Scale(round(exponent * max(-furthest, min(scale.exponent, furthest))))
    emit = r.emit
    value = emit.scale_value(scale)
    key = ("raised", value, exponent)
    found = emit.scope.cache.get(key)
    if found is None:
        for name, limit in (("minimum", furthest), ("maximum", -furthest)):
            value = emit.op(name, value.type, value, emit.splat(value, 2.0**limit))
        value = emit.op("power", value.type, value, emit.splat(value, exponent))
        one, larger, smaller = (exponent * max(-furthest, min(each, furthest)) for each in scale.trials)
        found = emit.cache_scale(
            key,
            emit.rounded_power_of_two(value),
            positive=True,
            least=-budget.FURTHEST_HIGH_POWER,
            trials=(one, larger, smaller),
        )
    return found


# prod(s x_i) over n elements = s^n prod(x_i)
def product_scale(x: ScaledValue, count: int, *, narrow: bool) -> Scale:
    """Scale of a product of `count` elements. Raises UnsupportedError when s^count is no scale that f32 can hold.

    narrow: data or what they are rounded to next have less range, and hold no product of many that are even 2 from
    their values: 2^100 of 100.
    """
    furthest = 1 if narrow else budget.LARGEST_PRODUCT
    fits = x.scale.is_constant and abs(x.scale.exponent * count) < furthest
    if count > budget.LARGEST_POWER and not fits:
        raise UnsupportedError(f"the product of {count} scaled elements has no scale in the range of f32")
    return x.scale**count
