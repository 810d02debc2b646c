"""Quotients by what cannot come near 0: they are bounded, and their scale is not far below that of the bound.

    |y| >= c: |x / y| <= |x| / c

By the law of quotients x / y has the scale s / t. Where t is far above c, as that of 1 + z^2 for a large z, the
elements with a z near 0 are t / c times larger than the others, and products of such quotients, as in a gradient,
leave the range of f16. Their scale is s / m instead, m = min(t, c 2^k), but not so far below t that the others vanish.

Of a guard, 1e-6 of |x| + 1e-6, a narrow type may have nothing left beside larger elements, and 0 / (0 + 1e-6) be 0 / 0:
data of a divisor that cannot be 0 are the smallest number of their type there.
"""

import math

from scalify_hlo import budget
from scalify_hlo.analysis.intervals import Expression
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import number_behind
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.plain import unscaled
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, Scale
from scalify_hlo.size.moments import Moments
from scalify_hlo.types import smallest_exponent


# (s x) / Y = (s / m) (x / Y m), m = min(t, c 2^k) or more, Y the value of t y
def bounded_quotient(r: OpRewrite, x: ScaledValue, y: ScaledValue, moments: Moments) -> bool:
    """Declare a quotient of a narrow type if its divisor is bounded and may be far above the bound; whether it was."""
    scale = None if x.indifferent else _at_most(r, y.scale)
    if scale is None:
        return False
    if r.result_info().is_narrow:
        dividend, divisor = r.emit.convert(x.data, "f32"), _divisor(r)
        quotient = r.emit.rescale(r.emit.op("divide", divisor.type, dividend, divisor), scale)
    else:  # the data of the divisor are as good as its value
        quotient = r.emit.rescale(r.emit.op("divide", x.data.type, x.data, y.data), scale / y.scale)
    return _declare(r, quotient, x.scale / scale, moments)


# Y^(-1/n) = (1 / m) (Y^(-1/n) m), m = min(t^(1/n), c^(1/n) 2^k)
def bounded_root(r: OpRewrite, root: Scale, degree: float, moments: Moments) -> bool:
    """Declare an inverse root, likewise. root: that of the operand's scale."""
    scale = _at_most(r, root, degree)
    if scale is None:
        return False
    divisor = _divisor(r)
    exponents = [r.emit.splat(divisor, r.splat(1) or 0.0)] if r.name == "stablehlo.power" else []
    value = r.emit.op(r.name.removeprefix("stablehlo."), divisor.type, divisor, *exponents)
    return _declare(r, r.emit.rescale(value, scale), scale**-1, moments)


# |Y| >= c > 0, Y = t y: y is not 0, but c / t may be less than the type holds
def nonzero(r: OpRewrite, y: ScaledValue, dividend: ir.Value | None = None, degree: float = 1) -> ScaledValue:
    """A divisor, or the operand of an inverse root, of which no data are 0 if no value can be.

    dividend: what is divided by y^degree, by default 1. Of a number data whose quotient would be infinite count as
        larger, for what is infinite is NaN times 0.
    """
    known = r.rewriter.bounded_divisors.get(r.value())
    if known is None or y.indifferent or not y.info.is_narrow:
        return y
    smallest = smallest_exponent(y.info.element)
    number = 1.0 if dividend is None else number_behind(dividend)
    if number and math.isfinite(number):
        smallest = max(smallest, math.ceil((math.log2(abs(number)) - y.info.max_exponent) / degree))
    if math.log2(abs(known.bound)) - y.scale.most >= smallest:
        return y
    name, sign = ("maximum", 1) if known.bound > 0 else ("minimum", -1)
    data = r.emit.op(name, y.data.type, y.data, r.emit.splat(y.data, sign * 2.0**smallest))
    return ScaledValue(data, y.scale, y.moments)


def may_leave_range(r: OpRewrite, y: ScaledValue) -> bool:
    """Whether 1 / y is infinite in y's narrow type for data that it can have.

    XLA forms it: x / broadcast(v) becomes x * broadcast(1 / v) (algebraic_simplifier.cc), 0 * inf of a row of zeros
    whose divisor is sqrt(0 + eps) / s.
    """
    known = r.rewriter.bounded_divisors.get(r.value())
    if known is None or y.indifferent or not y.info.is_narrow:
        return False
    return math.log2(abs(known.bound)) - y.scale.most < -y.info.max_exponent


def quotient_in_f32(r: OpRewrite, x: ScaledValue, y: ScaledValue) -> ir.Value:
    """x / y of data, formed in f32, where the inverse of y has room, in the place of the operation."""
    dividend, divisor = r.emit.convert(x.data, "f32"), r.emit.convert(y.data, "f32")
    quotient = r.emit.op("divide", divisor.type, dividend, divisor)
    r.erase()
    return r.emit.convert(quotient, r.result_info().element)


# log Y, Y >= c > 0: data that have become 0 would make it infinite
def logarithm(r: OpRewrite) -> None:
    """Bring the operand of a logarithm to its value, which is at least as large as it can be."""
    known, y = r.rewriter.bounded_divisors.get(r.value()), r.inputs[0]
    if known is None or known.bound < 0 or y is None or y.indifferent:
        return
    value = unscaled(r.rewriter, y)
    value = r.emit.op("maximum", value.type, value, r.emit.splat(value, known.bound))
    r.inputs[0] = ScaledValue(value, ONE, y.moments)


def _at_most(r: OpRewrite, scale: Scale, degree: float = 1) -> Scale | None:
    """A divisor's scale, or that of its root, but not far above its bound; None where it cannot be."""
    known = r.rewriter.bounded_divisors.get(r.value())
    if known is None or known.formed is None or r.rewriter.paper or not scale.is_scalar:
        return None
    above = budget.ABOVE_BOUND if r.result_info().is_narrow else budget.ABOVE_BOUND_OF_F32
    most = Scale(math.floor(math.log2(abs(known.bound)) / degree) + above)
    if scale.most <= most.exponent:
        return None
    return r.emit.maximum([r.emit.minimum([scale, most]), scale.shifted(-budget.BELOW_DIVISOR)])


def _divisor(r: OpRewrite) -> ir.Value:
    """The value that is divided by, formed in f32: beside larger elements f16 loses those that matter most here."""
    known = r.rewriter.bounded_divisors[r.value()]
    assert known.formed is not None  # of what has a scale `_at_most`
    value = _formed(r, known.formed)
    # Where squares have vanished beside a constant in f32, too.
    return r.emit.op("maximum" if known.bound > 0 else "minimum", value.type, value, r.emit.splat(value, known.bound))


def _formed(r: OpRewrite, expression: Expression) -> ir.Value:
    if isinstance(expression, float | int):
        return r.emit.constant(r.emit.tensor_type(r.value().type, "f32"), expression)
    if isinstance(expression, tuple):
        name, operands = expression
        key = ("formed", expression)
        cache = r.emit.scope.cache
        if key not in cache:
            values = [_formed(r, operand) for operand in operands]
            cache[key] = r.emit.op(name.removeprefix("stablehlo."), values[0].type, *values)
        return cache[key]
    found = r.rewriter.scaled.get(expression)
    return r.emit.convert(expression, "f32") if found is None else unscaled(r.rewriter, found, element="f32")


def _declare(r: OpRewrite, data: ir.Value, scale: Scale, moments: Moments) -> bool:
    r.because("bound")
    r.erase()
    r.result(scale, moments, data=r.emit.convert(data, r.result_info().element))
    return True
