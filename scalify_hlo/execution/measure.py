"""Running a module with statistics of its tensors."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from scalify_hlo.analysis.roots import under_roots
from scalify_hlo.bindings import ir
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array, is_float_array
from scalify_hlo.execution.inputs import ScaleMode, draw_inputs, split_scales
from scalify_hlo.execution.modules import clone
from scalify_hlo.execution.signature import Signature, TensorSpec, check_arrays, entry_function, entry_signature
from scalify_hlo.passes.instrument import Instrument
from scalify_hlo.reports.health import TensorHealth, read_health


def measure(
    module: ir.Module,
    options: Instrument | None = None,
    seed: int = 0,
    arrays: Sequence[Array] | None = None,
    *,
    values: Sequence[Array] | None = None,
    scales: ScaleMode = "rms",
) -> list[TensorHealth]:
    """Run an instrumented copy of `module` once on XLA:CPU and read the statistics.

    arrays: one for each argument; made of `values` when None, for a rewritten module as (data, scale) pairs.
    values: one for each argument of the program before it was rewritten, floats also in wider types than the module has
        them in; drawn from `seed` when None, and where normal
        ones make results NaN, those positive that roots or logarithms are taken of.
    scales: of the pairs, as in `CheckOptions`.

    Raises ScalifyError where no tensor is called as `options` say, where arrays do not fit, or the module cannot be
    run.
    """
    signature = entry_signature(module)
    instrumented = clone(module)
    (options or Instrument()).apply(instrumented, [])
    if arrays is None:
        whole = whole_values(signature)
        drawn = values is None
        values = draw_inputs(whole, seed) if values is None else values
        check_arrays(_as_given(whole.arguments, values), values)
        program = xla.compile(instrumented)
        results = program(_pairs(signature, values, scales, seed))
        if drawn and any(map(_has_nan, results[:-2])):
            # Of a normal draw, roots and logarithms of what is never negative in a real run are NaN. All arguments are
            # positive only where that does not do: sums of positive numbers are larger than those of a real run.
            some = draw_inputs(whole, seed, positive=_rooted(module, signature))
            for arrays in (some, draw_inputs(whole, seed, "positive")):
                again = program(_pairs(signature, arrays, scales, seed))
                if sum(map(_has_nan, again[:-2])) < sum(map(_has_nan, results[:-2])):
                    results = again
                if not any(map(_has_nan, results[:-2])):
                    break
        return read_health(instrumented, results)
    return read_health(instrumented, xla.compile(instrumented)(arrays))


def _rooted(module: ir.Module, signature: Signature) -> list[int]:
    """Which of `whole_values` roots or logarithms are taken of."""
    found = under_roots(module, entry_function(module).operation)
    values = [i for i, spec in enumerate(signature.arguments) if spec.role != "scale"]
    return [k for k, i in enumerate(values) if i in found]


def _has_nan(array: Array) -> bool:
    return is_float_array(array) and bool(np.isnan(array.astype(np.float32)).any())


def whole_values(signature: Signature) -> Signature:
    """The arguments of a module without those that are scales: of a rewritten module, the original's."""
    return Signature(tuple(spec for spec in signature.arguments if spec.role != "scale"), ())


def _as_given(arguments: Sequence[TensorSpec], values: Sequence[Array]) -> list[TensorSpec]:
    """The arguments, with floats of wider types where a value is one: a program stores it in less."""
    wider = {np.dtype(np.float64): "f64", np.dtype(np.float32): "f32"}
    given: list[TensorSpec] = []
    for spec, value in zip(arguments, values, strict=False):
        wide = dataclasses.replace(spec, element_type=wider.get(value.dtype, spec.element_type))
        given.append(wide if wide.is_wider_than(spec) else spec)
    return [*given, *arguments[len(given) :]]


def _pairs(signature: Signature, values: Sequence[Array], scales: ScaleMode, seed: int) -> list[Array]:
    splits = iter(zip(values, split_scales(values, scales, seed), strict=True))
    arrays: list[Array] = []
    for spec, following in zip(signature.arguments, [*signature.arguments[1:], None], strict=True):
        if spec.role == "scale":
            continue
        value, split = next(splits)
        if following is not None and following.role == "scale":
            scale = np.float32(1 if split.scale is None else split.scale)
            arrays += [split.data.astype(spec.dtype), np.broadcast_to(scale, following.shape)]
        else:
            arrays.append(value.astype(spec.dtype))
    return arrays
