"""Sums, products, quotients, powers: x and y independent, unless they are one value."""

import math

from scalify_hlo.size.algebra import Size, inverse, of_number, product
from scalify_hlo.size.moments import Moments
from scalify_hlo.size.view import View, base_and_power, law, root


# E[(x + y)^2] = var x + var y + (mean x + mean y)^2
@law("add", "subtract", "chlo.broadcast_add", "chlo.broadcast_subtract", "complex", "chlo.broadcast_complex")
def add(v: View) -> Size:
    x, y = v.x, v.y
    sign = -1 if "subtract" in v.name else 1
    if x.is_indifferent or y.is_indifferent:
        live = y.times(sign) if x.is_indifferent else x
        both = x.splat is not None and y.splat is not None
        return of_number(x.splat + sign * y.splat) if both and x.splat is not None and y.splat is not None else live
    if v.same(0, 1) and sign > 0:
        return x.times(2)
    if x.factors != y.factors:
        return v.algebra.sum([x, y.times(sign)])
    share = min(1.0, x.moments.share + y.moments.share)
    moments = x.moments.plus(y.moments, sign)
    if x.moments.share + y.moments.share <= 1:  # zeros that leave room for each other, as gradients of slices have
        moments = Moments(math.hypot(x.moments.rms, y.moments.rms), moments.mean, moments.nonnegative, share=share)
    return x.with_moments(moments)


# E[(x y)^2] = E[x^2] E[y^2]; of x x, Gaussian: 3 var^2 + 6 var mean^2 + mean^4; of x^m x^n: a power
@law("multiply", "chlo.broadcast_multiply")
def multiply(v: View) -> Size:
    x, y = v.x, v.y
    for a, b in ((x, y), (y, x)):
        if a.splat is not None:
            return b.times(a.splat) if math.isfinite(a.splat) else b.with_moments(a.moments.product(b.moments))
    roots = root(v.value(0)), root(v.value(1))
    if roots[0] == roots[1]:
        return square(v)
    base, power = base_and_power(*roots)
    known = v.known.get(base) if power > 1 and v.name == "stablehlo.multiply" else None
    if known is not None and not known.moments.mean:
        return _gaussian_power(known, power)
    return Size(product(x.factors, y.factors), x.moments.product(y.moments))


def _gaussian_power(x: Size, n: int) -> Size:
    """# E[x^2n] = (2n - 1)!! E[x^2]^n, E[x^n] = (n - 1)!! E[x^2]^(n/2) for even n, of a Gaussian of zero mean"""
    raised = x**n
    rms = raised.moments.rms * math.sqrt(math.prod(range(1, 2 * n, 2)))
    mean = raised.moments.rms * math.prod(range(1, n, 2)) if n % 2 == 0 else 0.0
    return raised.with_moments(Moments(rms, mean, n % 2 == 0))


# E[x^4] = 3 var^2 + 6 var mean^2 + mean^4
@law("chlo.square")
def square(v: View) -> Size:
    x = v.x.moments
    return Size(product(v.x.factors, v.x.factors), Moments(x.rms**2) if v.info(0).is_complex else x.squared())


# E[(x / y)^2] = E[x^2] E[1/y^2]
@law("divide", "chlo.broadcast_divide")
def divide(v: View) -> Size:
    x, y = v.x, v.y
    if y.splat is not None:
        return x.times(1 / y.splat) if y.splat and math.isfinite(y.splat) else x
    if v.same(0, 1):
        return of_number(1.0)
    over = y.moments
    size = over.reciprocal_rms
    mean = x.moments.mean * math.copysign(size, over.mean) if over.mean else 0.0
    nonnegative = x.moments.nonnegative and over.nonnegative
    moments = Moments(x.moments.rms * size, mean, nonnegative, infinite=x.moments.infinite)
    return Size(product(x.factors, inverse(y.factors)), moments)


# |x|: E|x| = sqrt(2 / pi) rms of a Gaussian
@law("abs")
def absolute(v: View) -> Size:
    return v.x.with_moments(v.x.moments.absolute())


# E[sqrt(x)^2] = E[x]
@law("sqrt")
def sqrt(v: View) -> Size:
    found = v.x**0.5
    rms, mean = _root(v.x.moments)
    return found.with_moments(Moments(rms, mean, True, found.moments.least, found.moments.infinite))


# 1/sqrt(x) is as large as one over the root, of an x that differs little
@law("rsqrt")
def rsqrt(v: View) -> Size:
    found = v.x**-0.5
    rms, mean = _root(v.x.moments)
    if not rms:
        return found
    return found.with_moments(Moments(1 / rms, mean / rms**2, True, infinite=found.moments.infinite))


def _root(moments: Moments) -> tuple[float, float]:
    """RMS and mean of a square root.

    # E[sqrt(x)] / sqrt(E[x]) = 1 of equal numbers, sqrt(2 / pi) of a Gaussian's square, E[x] / rms = 1 / sqrt(3)
    """
    if not moments.nonnegative or moments.mean <= 0:
        rms = math.sqrt(moments.rms)
        return rms, math.sqrt(2 / math.pi) * rms
    rms = math.sqrt(moments.mean)
    return rms, rms * min(1.0, moments.mean / moments.rms) ** 0.41


@law("cbrt")
def cbrt(v: View) -> Size:
    return v.x ** (1 / 3)


# x^n of a constant n; b^t of a constant b < 1 is at most 1
@law("power", "chlo.broadcast_power")
def power(v: View) -> Size:
    x, n = v.x, v.y.splat
    if n is None:
        return Size((), Moments(nonnegative=x.moments.nonnegative))
    if n == 2:
        return square(v)
    if abs(n) == 0.5:
        return sqrt(v) if n > 0 else rsqrt(v)
    if n.is_integer() and 2 < n <= 6 and not x.moments.mean:
        return _gaussian_power(x, int(n))
    raised = x**n
    even = float(n).is_integer() and int(n) % 2 == 0
    nonnegative = even or x.moments.nonnegative
    return raised.with_moments(Moments(raised.moments.rms, raised.moments.mean, nonnegative))


# |x mod y| < |y|, |x|
@law("remainder", "chlo.broadcast_remainder")
def remainder(v: View) -> Size:
    return smaller(v, v.x, v.y)


def smaller(v: View, x: Size, y: Size) -> Size:
    """The size of what is bounded by two values, one of them perhaps far larger than the other.

    # 1/z^2 = 1/x^2 + 1/y^2
    """
    if x.is_zero or y.is_zero:
        return of_number(0.0)
    nonnegative = x.moments.nonnegative and y.moments.nonnegative
    if x.factors == y.factors:
        found = x if x.moments.rms <= y.moments.rms else y
        return found.with_moments(found.moments.combined_with(nonnegative))
    found = v.algebra.sum([_plain(x) ** -1, _plain(y) ** -1], Moments()) ** -1
    return found.with_moments(Moments(found.moments.rms, 0.0, nonnegative))


def _plain(x: Size) -> Size:
    return Size(x.factors, Moments(x.moments.rms))


# negation, and what else is homogeneous of degree one
@law("negate", "real", "imag", "chlo.conj")
def negate(v: View) -> Size:
    return v.x.times(-1 if v.name == "stablehlo.negate" else 1)
