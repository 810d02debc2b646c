"""Custom calls: by a table of known targets, to which a third party can add (see docs/extending.md)."""

from collections.abc import Callable

from scalify_hlo.bindings import ir
from scalify_hlo.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.registry import rule
from scalify_hlo.scale import Scale
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


# --- LAPACK and its relatives: homogeneous routines on data, the others on values ------------------------------


def _lapack(*names: str) -> list[str]:
    return [f"lapack_{kind}{name}{suffix}" for name in names for kind in "sd" for suffix in ("_ffi", "")]


# QR: A = Q R; s A = Q (s R): Q has scale 1. LU: s A = L (s U). The packed results hold both: on values.
for _target in [
    *_lapack("geqrf", "getrf", "gesdd", "gesvd", "gees", "geev", "gehrd", "sytrd", "gtsv", "gqr", "orgqr", "ormqr",
             "syevd", "potrf", "trsm", "gtsv"),
    *(f"lapack_{kind}{name}_ffi" for kind in "cz" for name in ("geqrf", "getrf", "gesdd", "ungqr", "heevd", "potrf",
                                                               "trsm", "gees", "geev", "gehrd", "hetrd")),
    *(f"{lib}_{name}" for lib in ("cusolver", "hipsolver", "cuhybrid")
      for name in ("geqrf_ffi", "orgqr_ffi", "syevd_ffi", "gesvd_ffi", "gesvdj_ffi", "getrf_ffi", "potrf_ffi",
                   "sytrd_ffi", "csrlsvqr_ffi")),
    "Qr", "ProductOfElementaryHouseholderReflectors", "Eigh", "Cholesky", "LuDecomposition", "TopK", "ApproxTopK",
    "cu_lu_pivots_to_permutation", "LuPivotsToPermutation",
]:  # fmt: skip
    TARGETS.setdefault(_target, _on_values)


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


__all__ = ["Scale"]
