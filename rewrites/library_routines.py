"""Routines of LAPACK and its relatives that factorise a matrix or solve by one, by the degree of their results in it.

They compute in f32 or f64. What becomes of a result in a narrower type is decided by its scale: the inverse of a matrix
of 2^24 is 2^-24, and 0 in f16 at the scale 1. Routines for complex matrices are computed on values.
"""

import math

from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import number_behind
from scalify_hlo.module.traits import CARRYING
from scalify_hlo.rules.oprewrite import OpRewrite
from scalify_hlo.rules.shapes import to_rank_0
from scalify_hlo.scale import ONE
from scalify_hlo.size.laws.contractions import solved
from scalify_hlo.size.moments import Moments

from .custom_calls import custom_call
from .linear_algebra import solve
from .multiplicative import take_root

_UNIT_DIAGONAL = ord("U")  # LAPACK's letter


def _kinds(*names: str) -> list[str]:
    """The names of LAPACK's routines for f32 and f64."""
    return [f"lapack_{kind}{name}_ffi" for kind in "sd" for name in names]


def _gpu_kinds(*names: str) -> list[str]:
    """The names of cuSOLVER's routines, and hipSOLVER's."""
    return [f"{prefix}solver_{name}_ffi" for prefix in ("cu", "hip") for name in names]


# (s A)^-1 (t B) = (t/s) A^-1 B
@custom_call(*_kinds("trsm"))
def triangular_solve(r: OpRewrite) -> None:
    a, b = (to_rank_0(r.rewriter, r.scaled(i)) for i in (0, 1))
    options = ir.DictAttr(r.op.attributes["mhlo.backend_config"])
    moments = solved(a.moments, b.moments)
    solve(r, a, b, moments, unit_diagonal=ir.IntegerAttr(options["diag"]).value == _UNIT_DIAGONAL)


# T(s l, s d, s u)^-1 (t B) = (t/s) T(l, d, u)^-1 B, and the factors of T grow with s
@custom_call(*_kinds("gtsv"), "cusparse_gtsv2_ffi", "hipsparse_gtsv2_ffi")
def tridiagonal_solve(r: OpRewrite) -> None:
    r.inputs[:] = [to_rank_0(r.rewriter, r.scaled(i)) for i in range(4)]
    scale, b = r.aligned((0, 1, 2)), r.scaled(3)
    r.set_operand(3, b.data)
    solution = min(3, len(r.op.results) - 1)
    for i in range(solution):
        r.result(scale, r.scaled(i).moments, index=i)
    moments = solved(r.scaled(1).moments, b.moments)
    r.result(b.scale / scale, moments, index=solution, indifferent=b.indifferent)


# as above, of values: what is added to a pivot of 0 is not multiplied by s
@custom_call("tridiagonal_solve_perturbed_ffi", "cu_tridiagonal_solve_perturbed", "hip_tridiagonal_solve_perturbed")
def tridiagonal_solve_perturbed(r: OpRewrite) -> None:
    members = [to_rank_0(r.rewriter, r.scaled(i)) for i in range(4)]
    scale, b = r.common_scale(members[:3]), members[3]
    r.through_plain()
    if r.rewriter.narrow and not b.indifferent:
        with r.after():
            r.value_result(r.value(), solved(members[1].moments, b.moments), scale=b.scale / scale)


# chol(2^(2m+r) A) = 2^m chol(2^r A)
@custom_call(*_kinds("potrf"), *_gpu_kinds("potrf"), "Cholesky")
def cholesky(r: OpRewrite) -> None:
    r.inputs[0] = to_rank_0(r.rewriter, r.scaled(0))
    take_root(r, 2, 1)


# s A = V (s W) V^T, s A = U (s S) V^T: vectors stay, values grow.  # sum of w^2 = sum of a^2
@custom_call(*_kinds("syevd", "gesdd", "gesvd"), *_gpu_kinds("syevd", "gesdd", "gesvd", "gesvdj", "gesvdp"))
def spectrum(r: OpRewrite) -> None:
    a = to_rank_0(r.rewriter, r.scaled(0))
    r.set_operand(0, a.data)
    largest = max(r.info(0).shape[-2:])
    for i in range(len(r.op.results)):
        if not r.result_info(i).carries_scale:
            continue
        if i == 1:
            values = Moments(a.moments.rms * math.sqrt(largest))
            r.result(a.scale, values, index=i, indifferent=a.indifferent)
        else:
            r.result(ONE, Moments(1 / math.sqrt(max(largest, 1))), index=i)


# s A = Q (s R): the reflectors beside R are read by their own routine, which is given values
@custom_call(*_kinds("geqrf", "geqp3"), *_gpu_kinds("geqrf"), "cuhybrid_geqp3", "hiphybrid_geqp3")
def orthogonal(r: OpRewrite) -> None:
    _packed(r)


# s A = L (s U): one matrix holds the factor that grows and the one that does not
@custom_call(*_kinds("getrf"), *_gpu_kinds("getrf"))
def triangular(r: OpRewrite) -> None:
    _packed(r, apart=_is_taken_apart(r.value()))


def _packed(r: OpRewrite, *, apart: bool = False) -> None:
    """Result 0 at the scale of the matrix where its type may become narrower. apart: its factors are used as two."""
    a = to_rank_0(r.rewriter, r.scaled(0))
    r.through_plain()
    if apart or a.indifferent or not r.rewriter.narrow:
        return
    with r.after():
        r.value_result(r.value(), a.moments, scale=a.scale)


def _is_taken_apart(packed: ir.Value) -> bool:
    """Whether a triangle is chosen of a matrix, by itself or behind what replaces a failed one by NaN."""
    for use in packed.uses:
        op = use.owner.operation
        chooses = op.name == "stablehlo.select"
        if chooses and any(number_behind(value) == 0 for value in list(op.operands)[1:]):
            return True
        if (chooses or op.name in CARRYING) and _is_taken_apart(op.results[0]):
            return True
    return False
