"""Nonlinear functions of the value: what is bounded has a size whatever the operand; others follow a small one.

A unit Gaussian stands for operands of about unit size.
"""

import math

from scalify_hlo.size.algebra import Size, of_number
from scalify_hlo.size.laws.arithmetic import smaller
from scalify_hlo.size.masks import share_of
from scalify_hlo.size.moments import Moments
from scalify_hlo.size.view import View, law

# Of functions that are not 0 at 0 and bounded: sqrt(E[f(x)^2]), E[f(x)] of a unit Gaussian.
_FIXED = {
    "logistic": Moments(0.54, 0.5, True),
    "cosine": Moments(math.sqrt(0.5), 0.0),
    "chlo.erfc": Moments(1.2, 1.0, True),
    "chlo.acos": Moments(math.pi / 2, math.pi / 2, True),
}
# Of those that follow x up to a bound: sqrt(E[f(x)^2]) of a large x, relative to it there.
_SATURATING = {
    "tanh": 1.0, "chlo.erf": 1.0, "sine": math.sqrt(0.5), "chlo.atan": math.pi / 2, "chlo.asin": math.pi / 2,
    "chlo.bessel_i1e": 0.2,
}  # fmt: skip


@law(*_FIXED)
def fixed(v: View) -> Size:
    return Size((), _FIXED[v.name.removeprefix("stablehlo.")])


# f(x) = x near 0, |f| < bound: 1/f^2 = 1/x^2 + 1/bound^2
@law(*_SATURATING)
def saturating(v: View) -> Size:
    bound, x = _SATURATING[v.name.removeprefix("stablehlo.")], v.x
    if x.factors or x.is_indifferent:
        return smaller(v, x, of_number(bound))
    return Size((), Moments((x.moments.rms**-2 + bound**-2) ** -0.5, 0.0, x.moments.nonnegative))


@law("atan2", "chlo.broadcast_atan2")
def angle(v: View) -> Size:
    del v
    return Size((), Moments(math.pi / math.sqrt(3)))


# exp(x - max(x)) <= 1, and 1 somewhere; exp(x) of an x of about unit size
@law("exponential", "chlo.cosh")
def exponential(v: View) -> Size:
    # Of rows that are masked in part sums differ from row to row.
    return Size((), Moments(1.0, 0.5, True, infinite=v.x.moments.infinite))


# f(x) = x near 0: what grows faster is not known at compile time
@law(
    "exponential_minus_one", "log_plus_one", "tan", "chlo.tan", "chlo.asinh", "chlo.atanh", "chlo.sinh", "chlo.erf_inv"
)
def like_its_operand(v: View) -> Size:
    return v.x.with_moments(Moments(v.x.moments.rms, 0.0, v.x.moments.nonnegative))


# of sums of N exponentials, the largest of which is 1: log N / 2
@law("log")
def logarithm(v: View) -> Size:
    if v.x.splat is not None:
        return of_number(math.log(v.x.splat)) if v.x.splat > 0 else of_number(-math.inf)
    at_one = abs(v.algebra.at_one(v.x)) * math.log(2) if not v.x.factors else 0.0
    return Size((), Moments(max(1.0, at_one)))


@law("floor", "ceil", "round_nearest_afz", "round_nearest_even")
def rounded(v: View) -> Size:
    return v.x


@law("sign")
def sign(v: View) -> Size:
    return of_number(1.0) if v.x.moments.nonnegative and v.x.moments.least else Size((), Moments())


# the share of the elements that a comparison holds for: one of n with an index or with the largest of n, none or all
# with an infinity or with itself, else half
@law("compare", "chlo.broadcast_compare", "is_finite")
def compare(v: View) -> Size:
    if v.name == "stablehlo.is_finite":
        return of_number(1.0)
    direction = str(v.op.attributes["comparison_direction"])
    infinite = [size.splat is not None and math.isinf(size.splat) for size in v.sizes[:2]]
    equal = 0.0 if any(infinite) else 1.0 if v.same(0, 1) else None  # NaN does not count
    if equal is not None and ("EQ" in direction or "NE" in direction):
        return of_number(equal if "EQ" in direction else 1 - equal)
    return mask(share_of(v.op.results[0]))


def mask(share: float) -> Size:
    """Of ones, and zeros elsewhere.  # E[x^2] = E[x] = share"""
    return Size((), Moments(math.sqrt(share), share, True, share=share))
