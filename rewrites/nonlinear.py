"""Nonlinear operations: they need the value. It is formed in a type wide enough for it, never in f16 or f8."""

import math

from scalify_hlo.bindings import ir
from scalify_hlo.moments import UNIT, Moments
from scalify_hlo.oprewrite import OpRewrite
from scalify_hlo.plain import wide_element
from scalify_hlo.registry import rule
from scalify_hlo.scale import ONE
from scalify_hlo.types import tensor_info

_LAW = {"family": "nonlinear", "law": "f(s x), computed on the value in f32 or wider", "scale": "1", "shaped": True}
# Results whose size is known whatever the operand.
_BOUNDED = {
    "stablehlo.tanh": Moments(0.63, 0.0),
    "stablehlo.logistic": Moments(0.54, 0.5, True),
    "stablehlo.sine": Moments(math.sqrt(0.5), 0.0),
    "stablehlo.cosine": Moments(math.sqrt(0.5), 0.0),
    "chlo.erf": Moments(0.63, 0.0),
    "chlo.erfc": Moments(1.1, 1.0, True),
}
_NONNEGATIVE = Moments(1.0, 0.75, True)


def on_values(r: OpRewrite, moments: Moments = UNIT) -> None:
    """Compute an elementwise operation on values; its float results have scale 1."""
    element = r.result_info().element
    operands: list[ir.Value] = []
    for i, operand in enumerate(r.op.operands):
        info = tensor_info(operand.type)
        operands.append(r.plain(i) if info.carries_scale else operand)
    if wide_element(element) == element or not r.result_info().is_float:
        for i, operand in enumerate(operands):
            r.set_operand(i, operand)
        for i in range(len(r.op.results)):
            r.result(ONE, moments, index=i)
        return
    types = [
        r.emit.tensor_type(v.type, wide_element(tensor_info(v.type).element)) if tensor_info(v.type).is_float else v.type
        for v in r.op.results
    ]
    wide = r.rebuilt(operands, types)
    for i, value in enumerate(wide.results):
        r.plain_result(value, moments, i)


# exp(s x) and friends: no scale comes out of them
@rule(
    "exponential", "exponential_minus_one", "log", "log_plus_one", "tanh", "logistic", "sine", "cosine", "tan",
    "floor", "ceil", "round_nearest_afz", "round_nearest_even", **_LAW,
)  # fmt: skip
def nonlinear(r: OpRewrite) -> None:
    moments = _BOUNDED.get(r.name, _NONNEGATIVE if r.name == "stablehlo.exponential" else UNIT)
    on_values(r, moments)


# chlo has elementwise functions that are legalised to long polynomials; on values they can stay as they are
@rule(
    "chlo.acos", "chlo.acosh", "chlo.asin", "chlo.asinh", "chlo.atan", "chlo.atanh", "chlo.bessel_i1e", "chlo.cosh",
    "chlo.digamma", "chlo.erf", "chlo.erf_inv", "chlo.erfc", "chlo.lgamma", "chlo.sinh", "chlo.tan",
    "chlo.polygamma", "chlo.zeta", "chlo._asin_acos_kernel", **_LAW,
)  # fmt: skip
def nonlinear_chlo(r: OpRewrite) -> None:
    on_values(r, _BOUNDED.get(r.name, UNIT))


# atan2(s y, s x) = atan2(y, x): only the ratio of the scales counts
@rule("atan2", family="nonlinear", law="atan2(s y, s x) = atan2(y, x)", scale="1", shaped=True)
def atan2(r: OpRewrite) -> None:
    y, x = r.scaled(0), r.scaled(1)
    if y.scale == x.scale and not (y.indifferent or x.indifferent):
        r.set_operand(0, y.data)
        r.set_operand(1, x.data)
        return r.result(ONE, Moments(1.5))
    return on_values(r, Moments(1.5))


# the next float after x is one unit in the last place of the value away: in its own type
@rule("chlo.next_after", family="nonlinear", law="needs the value in its own type", scale="1", shaped=True)
def next_after(r: OpRewrite) -> None:
    r.through_plain()
