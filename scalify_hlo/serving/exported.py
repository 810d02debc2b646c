"""A `jax.export.Exported` with its scales pinned: the same function of the same trees, its weights as data."""

import dataclasses
from typing import Any

import jax
import jax.core
import numpy as np
from jax.export import Exported

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.exported import ScaledExported, module_of, with_second_inputs, with_types_of
from scalify_hlo.io.serialization import to_artifact
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.guard import guarded_tensors
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import Precision, precision_pipeline
from scalify_hlo.serving.packing import block_dimensions, own_arguments, read_packed
from scalify_hlo.serving.tensors import match


def pin_exported(
    exported: Exported,
    pin_scales: str,
    *,
    precision: Precision | None = None,
    guard: bool = False,
    transpose_weights: bool = False,
    options: ScalifyOptions = ScalifyOptions(),
    remarks: list[Diagnostic] | None = None,
) -> Exported:
    """Specialise an exported function to scales: what `scalify-opt --pin-scales` does to a file.

    pin_scales: a file that `scalify-calibrate` wrote for this function and precision. precision, options: as of
    `scalify_exported`. guard: the result is a pair of the original's results and the counts that
    `scalify_hlo.passes.guard` adds. transpose_weights: matrices are taken as `pack` makes them, transposed.

    The result is called like the original: weights are arrays of data in the types of the precision (f8E4M3FN for FP8),
    as `scalify_hlo.serving.packing.pack` makes them, everything else are plain values. With `nvfp4` a weight is a tuple
    of its elements (f4E2M1FN) and the scales of their blocks (f8E4M3FN). It has no derivative. Raises
    ScalifyError for a module that cannot be rewritten and for scales that do not fit.
    """
    pipeline = precision_pipeline(precision, options, pin_scales, guard, transpose_weights)
    return through(exported, pipeline, [] if remarks is None else remarks)


def through(exported: Exported, pipeline: Pipeline, remarks: list[Diagnostic], target: str = "4weeks") -> Exported:
    """An Exported whose module has gone through a pipeline that leaves no pairs in its signature: with pinned scales,
    or without scales. Raises ScalifyError."""
    with make_context() as context, ir.Location.unknown():
        module = module_of(exported, context)
    pipeline.run(module, remarks)
    watched = guarded_tensors(module)
    if watched is not None:
        exported = _with_guard(exported, len(watched))
    exported = _with_block_scales(exported, module)
    data, _ = to_artifact(module, target)
    changed = dataclasses.replace(with_types_of(exported, module), mlir_module_serialized=data, _get_vjp=None)
    fields: dict[str, Any] = {field.name: getattr(changed, field.name) for field in dataclasses.fields(changed)}
    return ScaledExported(**fields)


def packed_arguments(exported: Exported, path: str) -> tuple[Any, ...]:
    """The positional arguments of a served function with the arrays of a file in their places.

    path: what `scalify-pack` wrote, or any file of arrays by the names of the arguments. Leaves that it has no array
    for (the inputs) are None; those that the module does not use are zeros. Raises ScalifyError for a file that cannot
    be read, for arrays that fit no argument, and for a file that was packed for other scales or another layout.
    """
    with make_context() as context:
        module = module_of(exported, context)
        specs = entry_signature(module, symbolic=True).arguments
        tensors = read_packed(module, path)
    specs = specs[len(specs) - len(exported.module_kept_var_idx) :]  # behind the index of the platform, and tokens
    untyped: Any = exported
    leaves: list[Any] = [None] * untyped.in_tree.num_leaves
    for i in set(range(len(leaves))) - set(exported.module_kept_var_idx):
        if all(isinstance(size, int) for size in exported.in_avals[i].shape):
            leaves[i] = np.zeros(exported.in_avals[i].shape, exported.in_avals[i].dtype)
    for i, name in match(specs, tensors, path).items():
        array = tensors[name]
        if (array.shape, array.dtype) != (specs[i].shape, specs[i].dtype):
            kind = f"{array.dtype}{list(array.shape)}"
            raise ScalifyError(Diagnostic(f"array '{name}' is {kind}, the argument a {specs[i]}: pack it", path))
        leaves[exported.module_kept_var_idx[i]] = array
    return tuple(untyped.in_tree.unflatten(leaves)[0])


def _with_block_scales(exported: Exported, module: ir.Module) -> Exported:
    """An Exported that takes a tuple (elements, scales of their blocks) of each weight that is stored so."""
    blocks = block_dimensions(module)
    if not blocks:
        return exported
    specs, own = entry_signature(module, symbolic=True).arguments, own_arguments(module)
    flat = dict(zip(own[len(own) - len(exported.module_kept_var_idx) :], exported.module_kept_var_idx, strict=True))
    scales = {flat[i]: jax.core.ShapedArray(specs[i + 1].shape, specs[i + 1].dtype) for i in blocks}
    return with_second_inputs(exported, scales)


def _with_guard(exported: Exported, tensors: int) -> Exported:
    """An Exported that returns a pair: what it returned, and an i32 vector."""
    tree: Any = jax.tree
    results = tree.unflatten(exported.out_tree, [0] * len(exported.out_avals))
    out_tree = tree.structure((results, 0))
    counts = jax.core.ShapedArray((tensors,), np.dtype(np.int32))
    fields: dict[str, Any] = {"out_tree": out_tree, "out_avals": (*exported.out_avals, counts)}
    for field in dataclasses.fields(exported):
        if "out" in field.name and "sharding" in field.name:
            shardings = getattr(exported, field.name)
            fields[field.name] = None if shardings is None else (*shardings, None)
    return dataclasses.replace(exported, **fields)
