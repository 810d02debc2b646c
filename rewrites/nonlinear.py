"""Nonlinear operations: they need the value. It is formed in a type wide enough for it, never in f16 or f8."""

import math
from collections.abc import Sequence

from scalify_hlo import budget
from scalify_hlo.bindings import ir
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.plain import wide_element
from scalify_hlo.rules.registry import Law, rule
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE, Scale
from scalify_hlo.size.moments import UNIT, Moments
from scalify_hlo.types import tensor_info

from .bounded_divisors import logarithm

_LAW: Law = {"family": "nonlinear", "law": "f(s x), computed on the value in f32 or wider", "scale": "1"}
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


def on_values(r: OpRewrite, moments: Moments | Sequence[Moments] = UNIT, scales: Sequence[Scale] | None = None) -> None:
    """Compute an operation without regions on values, in types wide enough for them.

    scales: by which the float results are divided before they return to their own type; by default 1.
    moments: of the results' data, for all or for each.
    """
    count = len(r.op.results)
    each = [moments] * count if isinstance(moments, Moments) else list(moments)
    scales = scales or [ONE] * count
    for i, operand in enumerate(list(r.op.operands)):
        if tensor_info(operand.type).carries_scale:
            r.set_operand(i, r.plain(i))
    types = [value.type for value in r.op.results]
    wide = [
        r.emit.tensor_type(t, wide_element(tensor_info(t).element)) if tensor_info(t).is_float else t for t in types
    ]
    op = r.op if wide == types else r.rebuilt(list(r.op.operands), wide)
    for i, value in enumerate(op.results):
        if not tensor_info(value.type).carries_scale:
            if op != r.op:
                r.op.results[i].replace_all_uses_with(value)
        elif op != r.op or not scales[i].is_one:
            with r.after():
                r.value_result(value, each[i], i, scales[i])
        else:
            r.result(ONE, each[i], index=i)


def at_one_scale_in_f32(r: OpRewrite, indices: Sequence[int]) -> list[ir.Value]:
    """Operands of a narrow type in f32, brought to their largest scale: for operations that only compare their sizes.

    No value is formed, so scales may be as large as f32 can hold.
    """
    members = [r.scaled(i) for i in indices]
    scale = r.common_scale(members)
    return [
        r.emit.rescale(
            r.emit.convert(m.data, "f32"), ONE if m.indifferent else m.scale / scale, infinite=m.moments.infinite
        )
        for m in members
    ]


# exp(s x) and friends: no scale comes out of them
@rule("exponential", "log", "logistic", "cosine", **_LAW, shaped=True)
def nonlinear(r: OpRewrite) -> None:
    if r.rewriter.bounded_divisors and r.name == "stablehlo.log":
        logarithm(r)
    moments = _BOUNDED.get(r.name, _NONNEGATIVE if r.name == "stablehlo.exponential" else UNIT)
    on_values(r, moments)


def _at_small_scale(r: OpRewrite, room: int = 0) -> None:
    """On the value; beside data of a narrow type at the scale of a small operand, times 2^room."""
    moments = _BOUNDED.get(r.name, UNIT)
    x = r.scaled(0)
    if x.indifferent or r.rewriter.paper or not r.is_stored_narrow():
        return on_values(r, moments)
    scale = _at_size(x).shifted(room)
    if not scale.is_constant and r.name in _BOUNDED:
        # Above the bound the scale is 1, and nothing adds up; below it, what was lost here would be in every layer.
        moments = Moments(x.moments.rms / 2.0 ** max(0, x.exponent), 0.0, x.moments.nonnegative)
    return on_values(r, moments, [r.emit.minimum([scale, ONE])])


def _at_size(x: ScaledValue) -> Scale:
    """The scale of a function that is as large as its operand: data known to be above unit size would stay there.

    Those below are not brought up: some elements may be larger.
    """
    return x.scale.shifted(max(0, x.exponent))


# tanh(X) is as small as X: beside data of a narrow type it keeps the size, unless that is larger than the unit
@rule("log_plus_one", "sine", "tanh", "chlo.asin", "chlo.asinh", "chlo.atan",
      "chlo.atanh", "chlo.bessel_i1e", "chlo.erf", "chlo.erf_inv", family="nonlinear",
      law="f(s x), computed on the value in f32 or wider; f(0) = 0", scale="1; min(s, 1) in f16 and f8",
      shaped=True)  # fmt: skip
def vanishing(r: OpRewrite) -> None:
    _at_small_scale(r)


# e^x - 1 is as small as x and grows faster: at the scale of x elements that are far larger than the others overflow
@rule("exponential_minus_one", "tan", "chlo.sinh", "chlo.tan", family="nonlinear",
      law="f(s x), computed on the value in f32 or wider; f(0) = 0; f(x) unbounded for finite x",
      scale=f"1; min({2**budget.STEEP} s, 1) in f16 and f8", shaped=True)  # fmt: skip
def steep(r: OpRewrite) -> None:
    _at_small_scale(r, budget.STEEP)


# floor(X) is as large as X: where it is narrow, or how large it is is known, it keeps the scale, unless that is smaller
# than the unit
@rule("floor", "ceil", "round_nearest_afz", "round_nearest_even", "chlo.lgamma", family="nonlinear",
      law="f(s x), computed on the value in f32 or wider", scale="1; max(s, 1) in f16 and f8", shaped=True)  # fmt: skip
def growing(r: OpRewrite) -> None:
    x = r.scaled(0)
    keeps = r.is_stored_narrow() or (r.rewriter.narrow and x.scale.is_constant and _is_read_as_float(r.value()))
    if x.indifferent or r.rewriter.paper or not keeps:
        return on_values(r)
    return on_values(r, UNIT, [r.maximum([_at_size(x), ONE])])


def _is_read_as_float(value: ir.Value) -> bool:
    users = [use.owner.operation for use in value.uses]
    return any(op.name != "stablehlo.convert" or tensor_info(op.results[0].type).is_float for op in users)


# chlo has elementwise functions that are legalised to long polynomials; on values they can stay as they are
@rule(
    "chlo.acos", "chlo.acosh", "chlo.cosh", "chlo.digamma", "chlo.erfc", "chlo.polygamma", "chlo.zeta",
    "chlo._asin_acos_kernel", **_LAW, shaped=True,
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
    if not r.result_info().is_narrow:
        return on_values(r, Moments(1.5))
    wide = at_one_scale_in_f32(r, (0, 1))
    op = r.rebuilt(wide, [r.emit.tensor_type(r.op.results[0].type, "f32")])
    return r.value_result(op.results[0], Moments(1.5))


# the next float after x is one unit in the last place of the value away: in its own type
@rule("chlo.next_after", family="nonlinear", law="needs the value in its own type", scale="1", shaped=True)
def next_after(r: OpRewrite) -> None:
    r.through_plain()
