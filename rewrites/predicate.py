"""Predicates: the result is no scaled float. A positive scale changes neither sign nor finiteness."""

from scalify_hlo import budget
from scalify_hlo.module.constants import rounded
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.plain import unscaled
from scalify_hlo.rules.registry import rule
from scalify_hlo.scale import ONE

from .free_choices import free_choice
from .nonlinear import at_one_scale_in_f32


# s x < s y  <=>  x < y
@rule("compare", family="predicate", law="s x < s y <=> x < y", scale="none", shaped=True,
      note="unlike scales are compared on values, in f16 and f8 at one scale in f32")  # fmt: skip
def compare(r: OpRewrite) -> None:
    if r.rewriter.free_choices and free_choice(r):
        return
    x, y = r.scaled(0), r.scaled(1)
    if x.indifferent or y.indifferent or x.scale == y.scale:
        r.set_operand(0, x.data)
        r.set_operand(1, y.data)
        return
    for i, other in ((0, y), (1, x)):
        number = r.splat(i)
        if number and r.info(i).is_narrow and not rounded(number, r.info(i).element):
            # A divisor's guard that f16 cannot hold is kept, but what is compared with it is compared with 0.
            r.set_operand(i, r.emit.splat(other.data, 0.0))
            r.set_operand(1 - i, other.data)
            return
        if number is None or not other.scale.is_constant:
            continue
        quotient = number * 2.0**-other.scale.exponent
        # A constant follows the other operand for free, if nothing of it is lost.
        if 2.0**-budget.COMPARED_BELOW < abs(quotient) < 2.0**budget.COMPARED_ABOVE:
            r.set_operand(i, r.emit.splat(other.data, quotient))
            r.set_operand(1 - i, other.data)
            return
    if r.info(0).is_narrow:
        wide = at_one_scale_in_f32(r, (0, 1))
    else:
        wide = [unscaled(r.rewriter, member) for member in (x, y)]
    for i, value in enumerate(wide):
        r.set_operand(i, value)
    return


# sign(s x) = sign(x)
@rule("sign", family="predicate", law="sign(s x) = sign(x)", scale="1", shaped=True)
def sign(r: OpRewrite) -> None:
    x = r.scaled(0)
    r.result(ONE, x.moments if x.indifferent else x.moments.times(1 / max(x.moments.rms, 1e-30)))


# isfinite(s x) = isfinite(x)
@rule("is_finite", "chlo.is_inf", "chlo.is_pos_inf", "chlo.is_neg_inf", family="predicate",
      law="isfinite(s x) = isfinite(x)", scale="none", shaped=True)  # fmt: skip
def is_finite(r: OpRewrite) -> None:
    del r


# only the shape of the operand counts
@rule(
    "get_dimension_size", family="predicate", law="the shape does not depend on the elements", scale="none", shaped=True
)
def shape_only(r: OpRewrite) -> None:
    del r
