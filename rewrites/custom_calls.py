"""Custom calls: by a table of known targets, to which a third party can add (see docs/extending.md)."""

from collections.abc import Callable

from scalify_hlo.bindings import ir
from scalify_hlo.rules.foreign_rules import check_callable, check_names, checked, is_foreign
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.registry import TARGETS, DuplicateRuleError, rule, source_of
from scalify_hlo.rules.shapes import to_rank_0
from scalify_hlo.scale import Scale
from scalify_hlo.types import tensor_info

from .collectives import equal_everywhere


def custom_call(
    *targets: str, replace: bool = False, shaped: bool = False
) -> Callable[[Callable[[OpRewrite], None]], Callable[[OpRewrite], None]]:
    """Register a function as the rule of `stablehlo.custom_call @target`.

    shaped: whether the rule of a plugin holds for scales with a shape, one number for each row, say; if not, its
        operands come with one scale each.
    Raises TypeError without targets or for what is no name or no function, and DuplicateRuleError for a plugin's rule
    of a target that has one already, unless `replace` is set.
    """
    check_names("custom_call", targets)

    def register(function: Callable[[OpRewrite], None]) -> Callable[[OpRewrite], None]:
        check_callable("custom_call", function)
        for target in targets:
            if TARGETS.get(target) is not None and is_foreign(function) and not replace:
                places = f"{source_of(TARGETS[target])} and {source_of(function)}"
                raise DuplicateRuleError(f"two rules for custom call '{target}': {places}")
            TARGETS[target] = checked(function, shaped=shaped)
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
@custom_call("Sharding", "annotate_device_placement", "LayoutConstraint", "MoveToHost",
             "MoveToDevice", "xla.sdy.FuncResultSharding")  # fmt: skip
def layout(r: OpRewrite) -> None:
    for i, result in enumerate(r.op.results):
        x = r.inputs[i] if i < len(r.inputs) else None
        if x is not None and tensor_info(result.type).carries_scale:
            flat = to_rank_0(r.rewriter, x)
            r.set_operand(i, flat.data)
            r.result(flat.scale, flat.moments, index=i, indifferent=flat.indifferent)


# per-device code begins, and ends: a scale goes the way of its data, as a number that each device has
@custom_call("SPMDFullToShardShape", "xla.sdy.GlobalToLocalShape")
def to_local(r: OpRewrite) -> None:
    _across(r)


@custom_call("SPMDShardToFullShape", "xla.sdy.LocalToGlobalShape")
def to_whole(r: OpRewrite) -> None:
    if not equal_everywhere(r, r.scaled(0).scale):
        raise UnsupportedError("per-device code ends with a scale that may differ from device to device")
    _across(r)


def _across(r: OpRewrite) -> None:
    if len(r.op.operands) > 1:
        # Of Shardy's round trip: XLA takes what stands between two of these for one function of just their results.
        raise UnsupportedError(
            "per-device code of several operands in Shardy's round-trip form (xla.sdy.*): export the program with jax "
            "0.7 or newer, which writes sdy.manual_computation"
        )
    x = to_rank_0(r.rewriter, r.scaled(0))
    r.set_operand(0, x.data)
    name = "mhlo.sharding"
    if x.indifferent or x.scale.is_constant or name not in r.op.attributes:
        return r.result(x.scale, x.moments, indifferent=x.indifferent)
    emit = r.emit
    product = Scale(0, x.scale.factors)
    inside = "{manual}"
    enters = ir.StringAttr(r.op.attributes[name]).value == inside
    ends = ("{replicated}", inside) if enters else (inside, "{replicated}")
    attributes = dict(r.op.attributes.items())
    targets = (ir.StringAttr.get("Sharding"), attributes["call_target_name"])
    value = emit.scale_value(product)
    for target, sharding in zip(targets, ends, strict=True):
        attributes |= {"call_target_name": target, name: ir.StringAttr.get(sharding)}
        value = emit.create(r.name, [value.type], [value], attributes).results[0]
    if equal_everywhere(r, x.scale):
        r.rewriter.functions.everywhere.add(value)
    scale = emit.as_scale(value, positive=product.positive, trials=product.trials)
    return r.result(scale.shifted(x.scale.exponent), x.moments)


def _on_values(r: OpRewrite) -> None:
    """A library routine for f32 or f64, which have range enough: on values."""
    r.through_plain()


# --- LAPACK and its relatives ------------------------------------------------------------------------------------

_LAPACK_REAL = ("gees", "geev", "gehrd", "geqp3", "geqrf", "gesdd", "gesvd", "getrf", "gtsv", "orgqr", "ormqr", "potrf",
                "syevd", "sytrd", "trsm", "tridiagonal_solve_perturbed")  # fmt: skip
_LAPACK_COMPLEX = (*_LAPACK_REAL, "heevd", "hetrd", "ungqr", "unmqr")
_SOLVER = ("csrlsvqr", "geev", "geqrf", "gesdd", "gesvd", "gesvdj", "gesvdp", "getrf", "orgqr", "ormqr", "potrf",
           "syevd", "syrk", "sytrd")  # fmt: skip


# What is in library_routines.py has a degree, of real matrices.
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


def _callback(r: OpRewrite) -> None:
    """A function of the host sees the values: where it returns nothing, f16 and f8 ones as f32, which holds them."""
    narrow = [i for i, x in enumerate(r.inputs) if x is not None and r.info(i).is_narrow]
    r.through_plain()
    if not any(isinstance(result.type, ir.RankedTensorType) for result in r.op.results):  # tokens at most
        for i in narrow:
            r.set_operand(i, r.plain(i, "f32"))


# a debugging callback or a host computation sees the values
for _target in ("xla_python_cpu_callback", "xla_python_gpu_callback", "xla_ffi_python_cpu_callback",
                "xla_ffi_python_gpu_callback", "xla_ffi_partitioned_python_cpu_callback",
                "xla_ffi_partitioned_python_gpu_callback"):  # fmt: skip
    TARGETS.setdefault(_target, _callback)


# integers or values that do not depend on the elements' size
@custom_call("shape_assertion", "dim_size")
def untouched(r: OpRewrite) -> None:
    for i, x in enumerate(r.inputs):
        if x is not None:
            raise UnsupportedError(f"operand {i} of this custom call is a scaled value")
