"""A `jax.export.Exported` with its scales pinned: the same function of the same trees, its weights as data."""

import dataclasses
from typing import Any

from jax.export import Exported

from scalify_hlo.bindings import ir, make_context, stablehlo
from scalify_hlo.errors import Diagnostic
from scalify_hlo.exported import ScaledExported, with_types_of
from scalify_hlo.io.serialization import to_artifact
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import Precision, precision_pipeline


def pin_exported(
    exported: Exported,
    pin_scales: str,
    *,
    precision: Precision | None = None,
    options: ScalifyOptions = ScalifyOptions(),
    remarks: list[Diagnostic] | None = None,
) -> Exported:
    """Specialise an exported function to scales: what `scalify-opt --pin-scales` does to a file.

    pin_scales: a file that `scalify-calibrate` wrote for this function and precision. precision, options: as of
    `scalify_exported`.

    The result is called like the original: weights are arrays of data in the types of the precision (f8E4M3FN for FP8),
    as `scalify_hlo.serving.packing.pack` makes them, everything else are plain values. It has no derivative. Raises
    ScalifyError for a module that cannot be rewritten and for scales that do not fit.
    """
    return pinned(exported, precision_pipeline(precision, options, pin_scales), [] if remarks is None else remarks)


def pinned(exported: Exported, pipeline: Pipeline, remarks: list[Diagnostic], target: str = "4weeks") -> Exported:
    """An Exported whose module has gone through a pipeline that ends with pinned scales. Raises ScalifyError."""
    with make_context() as context, ir.Location.unknown():
        module = stablehlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)
    pipeline.run(module, remarks)
    data, _ = to_artifact(module, target)
    changed = dataclasses.replace(with_types_of(exported, module), mlir_module_serialized=data, _get_vjp=None)
    fields: dict[str, Any] = {field.name: getattr(changed, field.name) for field in dataclasses.fields(changed)}
    return ScaledExported(**fields)
