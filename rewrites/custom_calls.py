"""Custom calls: by a table of known targets, to which a third party can add (see docs/extending.md)."""

from collections.abc import Callable

from scalify_hlo.bindings import ir
from scalify_hlo.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.registry import rule
from scalify_hlo.shapes import to_rank_0
from scalify_hlo.types import tensor_info

from .collectives import equal_everywhere

# Target name -> rule. Filled by `custom_call`.
TARGETS: dict[str, Callable[[OpRewrite], None]] = {}


def custom_call(*targets: str) -> Callable[[Callable[[OpRewrite], None]], Callable[[OpRewrite], None]]:
    """Register a function as the rule of `stablehlo.custom_call @target`."""

    def register(function: Callable[[OpRewrite], None]) -> Callable[[OpRewrite], None]:
        for target in targets:
            TARGETS[target] = function
        return function

    return register


@rule("custom_call", family="opaque", law="by its target", scale="by its target", shaped=True,
      note="an unknown target is refused, or computed on recombined values")  # fmt: skip
def custom_call_rule(r: OpRewrite) -> None:
    target = ir.StringAttr(r.op.attributes["call_target_name"]).value
    found = TARGETS.get(target)
    if found is None:
        raise UnsupportedError(f"no scale rule for custom call '{target}'")
    found(r)


# how a value is laid out over devices, or annotated, does not change it
@custom_call("Sharding", "SPMDFullToShardShape", "annotate_device_placement", "LayoutConstraint", "MoveToHost",
             "MoveToDevice", "xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape")  # fmt: skip
def layout(r: OpRewrite) -> None:
    for i, result in enumerate(r.op.results):
        x = r.inputs[i] if i < len(r.inputs) else None
        if x is not None and tensor_info(result.type).carries_scale:
            flat = to_rank_0(r.rewriter, x)
            r.set_operand(i, flat.data)
            r.result(flat.scale, flat.moments, index=i, indifferent=flat.indifferent)


# per-device code ends: its scale becomes the scale of a whole tensor
@custom_call("SPMDShardToFullShape", "xla.sdy.LocalToGlobalShape")
def to_whole(r: OpRewrite) -> None:
    x = r.scaled(0)
    if not equal_everywhere(r, x.scale):
        raise UnsupportedError("per-device code ends with a scale that may differ from device to device")
    layout(r)


def _on_values(r: OpRewrite) -> None:
    """A library routine for f32 or f64, which have range enough: on values."""
    r.through_plain()


# --- LAPACK and its relatives ------------------------------------------------------------------------------------

_LAPACK_REAL = ("gees", "geev", "gehrd", "geqp3", "geqrf", "gesdd", "gesvd", "getrf", "gtsv", "orgqr", "ormqr", "potrf",
                "syevd", "sytrd", "trsm", "tridiagonal_solve_perturbed")  # fmt: skip
_LAPACK_COMPLEX = (*_LAPACK_REAL, "heevd", "hetrd", "ungqr", "unmqr")
_SOLVER = ("csrlsvqr", "geev", "geqrf", "gesdd", "gesvd", "gesvdj", "gesvdp", "getrf", "orgqr", "ormqr", "potrf",
           "syevd", "syrk", "sytrd")  # fmt: skip


# QR: A = Q R; s A = Q (s R): Q has scale 1. LU: s A = L (s U). The packed results hold both: on values.
for _target in [
    *(f"lapack_{kind}{name}{suffix}" for kind in "sd" for name in _LAPACK_REAL for suffix in ("_ffi", "")),
    *(f"lapack_{kind}{name}{suffix}" for kind in "cz" for name in _LAPACK_COMPLEX for suffix in ("_ffi", "")),
    *(f"{prefix}solver_{name}_ffi" for prefix in ("cu", "hip") for name in _SOLVER),
    *(f"{prefix}{name}" for prefix in ("cu", "hip")
      for name in ("_cholesky_update_ffi", "sparse_gtsv2_ffi", "_lu_pivots_to_permutation")),
    "Qr", "ProductOfElementaryHouseholderReflectors", "Eigh", "Cholesky", "LuDecomposition", "LuPivotsToPermutation",
]:  # fmt: skip
    TARGETS.setdefault(_target, _on_values)


# the largest of s x are s times the largest of x; the initial value is an infinity
@custom_call("TopK", "ApproxTopK", "PartialReduce")
def top_k(r: OpRewrite) -> None:
    x = to_rank_0(r.rewriter, r.scaled(0))
    floats = [i for i in range(1, len(r.inputs)) if r.info(i).carries_scale]
    if not r.result_info().carries_scale or any(not r.scaled(i).indifferent for i in floats):
        return _on_values(r)
    r.set_operand(0, x.data)
    for i in floats:
        r.set_operand(i, r.scaled(i).data)
    return r.result(x.scale, x.moments, indifferent=x.indifferent)


# a debugging callback or a host computation sees the values
for _target in ("xla_python_cpu_callback", "xla_python_gpu_callback", "xla_ffi_python_cpu_callback",
                "xla_ffi_python_gpu_callback", "xla_ffi_partitioned_python_cpu_callback",
                "xla_ffi_partitioned_python_gpu_callback"):  # fmt: skip
    TARGETS.setdefault(_target, _on_values)


# integers or values that do not depend on the elements' size
@custom_call("shape_assertion", "dim_size")
def untouched(r: OpRewrite) -> None:
    for i, x in enumerate(r.inputs):
        if x is not None:
            raise UnsupportedError(f"operand {i} of this custom call is a scaled value")
