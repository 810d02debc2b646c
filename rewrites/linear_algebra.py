"""Linear algebra: decompositions and solves take scales through them by their degree; normalisation needs values."""

import math

from scalify_hlo.bindings import ir
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.plain import unscaled
from scalify_hlo.rules.registry import rule
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import Scale
from scalify_hlo.size.moments import Moments
from scalify_hlo.types import tensor_info

from .multiplicative import take_root
from .nonlinear import on_values


def _matrix(r: OpRewrite, index: int) -> list[int]:
    """The last two dimensions."""
    rank = r.info(index).rank
    return [rank - 2, rank - 1]


# chol(2^(2m+r) A) = 2^m chol(2^r A)
@rule("cholesky", family="multiplicative", law="cholesky(s x) = sqrt(s) cholesky(x)",
      scale="sqrt(s), the odd power of two in the data", mixes=_matrix)  # fmt: skip
def cholesky(r: OpRewrite) -> None:
    take_root(r, 2, 1)


def _mixed_by_solving(r: OpRewrite, index: int) -> list[int]:
    """A whole matrix; of the right sides, the dimension of the unknowns."""
    if index == 0:
        return _matrix(r, 0)
    left = ir.BoolAttr(r.op.attributes["left_side"]).value
    return [r.info(1).rank - (2 if left else 1)]


# (s A)^-1 (t B) = (t/s) A^-1 B
@rule("triangular_solve", family="multiplicative", law="solve(s x, t y) = (t/s) solve(x, y)", scale="t / s",
      note="unit_diagonal: A is unscaled in f32 or wider, its diagonal being 1; the scale is t",
      mixes=_mixed_by_solving)  # fmt: skip
def triangular_solve(r: OpRewrite) -> None:
    a, b = r.scaled(0), r.scaled(1)
    solve(r, a, b, r.expected(a, b), unit_diagonal=ir.BoolAttr(r.op.attributes["unit_diagonal"]).value)


# A^-1 (t B) = t A^-1 B where the diagonal of A counts as ones
def solve(r: OpRewrite, a: ScaledValue, b: ScaledValue, moments: Moments, *, unit_diagonal: bool) -> None:
    """Solve by operand 0 for operand 1, given their scaled forms. moments: of the result, unless the diagonal is 1."""
    r.set_operand(1, b.data)
    if not unit_diagonal:
        r.set_operand(0, a.data)
        return r.result(b.scale / a.scale, moments, indifferent=b.indifferent)
    matrix = unscaled(r.rewriter, a)
    element = tensor_info(matrix.type).element
    if element == r.result_info().element:
        r.set_operand(0, matrix)
        return r.result(b.scale, b.moments, indifferent=b.indifferent)
    type_ = r.emit.tensor_type(r.op.results[0].type, element)
    wide = r.rebuilt([matrix, r.emit.convert(b.data, element)], [type_]).results[0]
    data = r.emit.convert(wide, r.result_info().element)
    return r.result(b.scale, b.moments, data=data, indifferent=b.indifferent)


_EPSILON = "epsilon is an attribute, so the values are needed: f32 or wider"


# (X - mean) / sqrt(var + eps) * G + B is as large as the larger of G and B
@rule("batch_norm_training", law="(norm(X) g G + b B, s mean(x), s^2 var(x))", scale="max(g, b), s, s^2",
      family="nonlinear", note=_EPSILON)  # fmt: skip
def batch_norm_training(r: OpRewrite) -> None:
    x, gain, offset = (r.scaled(i) for i in range(3))
    scales = [r.common_scale((gain, offset)), x.scale, x.scale**2]
    moments = [Moments(), Moments(x.moments.rms, x.moments.mean), Moments(x.moments.rms**2, x.moments.rms**2, True)]
    on_values(r, moments, scales)


@rule("batch_norm_inference", law="norm(X) g G + b B", scale="max(g, b)", family="nonlinear", note=_EPSILON)
def batch_norm_inference(r: OpRewrite) -> None:
    on_values(r, Moments(), [r.common_scale((r.scaled(1), r.scaled(2)))])


# dX = G / sqrt(var) (dY - ...), dG = sum dY norm(X), dB = sum dY
@rule("batch_norm_grad", law="(G/sqrt(V) (dY - ...), sum dY norm(X), sum dY)", scale="g t / sqrt(v), t 2^k, t 2^k",
      family="nonlinear", note=_EPSILON)  # fmt: skip
def batch_norm_grad(r: OpRewrite) -> None:
    _, gain, _, variance, gradient = (r.scaled(i) for i in range(5))
    deviation, rest = variance.scale.halved()
    if not rest.is_constant:  # an unknown root: the gradient's own size will do
        deviation = Scale()
    channels = r.result_info(1).size
    count = max(r.result_info(0).size // max(channels, 1), 1)
    summed = gradient.scale.shifted(math.floor(math.log2(count) / 2))
    on_values(r, Moments(), [gain.scale * gradient.scale / deviation, summed, summed])
