"""In which element types a precision stores the inputs and results of a jaxpr."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun

from scalify_hlo.bindings import ir
from scalify_hlo.engine.normal_form import to_normal_form
from scalify_hlo.engine.signature import public_function, set_places
from scalify_hlo.frontend.varying import varying_axes
from scalify_hlo.module.manual import inline_regions
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.precision_pipeline import passes_around_scalify
from scalify_hlo.precision import PrecisionPolicy

# What state can be stored in, in NumPy's names.
_NARROW = {"f16": "float16", "bf16": "bfloat16"}


def stored_types(
    jaxpr: Any, names: Sequence[str], precision: PrecisionPolicy, places: Sequence[tuple[int, int]] = ()
) -> tuple[list[str], list[str]]:
    """NumPy names of the element types of a jaxpr's inputs and results.

    names: of the inputs, for the policy's patterns. places: (input, result) of state. Raises ScalifyError for patterns
        that match no input.
    """
    own = [str(aval.dtype) for aval in jaxpr.in_avals], [str(aval.dtype) for aval in jaxpr.out_avals]
    if not precision.changes_state:
        return _as_returned(*own, places)
    module: Any = _lowered(jaxpr)
    with module.context:
        main = public_function(module)
        # Effects and dimension variables come before the inputs and results.
        arguments = list(main.regions[0].blocks[0].arguments)
        for argument, name in zip(arguments[len(arguments) - len(names) :], names, strict=True):
            argument.set_location(ir.Location.name(name))
        set_places(main, len(names), len(own[1]), places)
        before, _ = passes_around_scalify(precision)
        to_normal_form(module)
        cast = next(each for each in before if isinstance(each, Cast))
        found = cast.stored_types(module)
    return _as_returned(_narrowed(found[0], own[0]), _narrowed(found[1], own[1]), places)


def _as_returned(
    inputs: list[str], results: list[str], places: Sequence[tuple[int, int]]
) -> tuple[list[str], list[str]]:
    """The types where state that the program itself returns in a narrow type, such as bf16 averages, is stored so.

    Programs are traced on f32, whatever type their state has by now.
    """
    stored = list(inputs)
    for i, result in places:
        if results[result] in _NARROW.values() and inputs[i] in ("float32", *_NARROW.values()):
            stored[i] = results[result]
    return stored, results


def _lowered(jaxpr: Any) -> Any:
    """The jaxpr as a module of its own; of per-device code, what one device computes."""
    shapes = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in jaxpr.in_avals]
    function = jaxpr_as_fun(jaxpr)
    mesh = jax.sharding.get_abstract_mesh()
    of_types = _mesh_of_types(jaxpr) if mesh.empty else None
    if of_types is not None:  # of which this knows no devices: only that there are so many
        with jax.sharding.use_abstract_mesh(of_types):
            traced: Any = jax.jit(function, keep_unused=True).trace(*shapes)
            return traced.lower(lowering_platforms=(jax.default_backend(),)).compiler_ir("stablehlo")
    if not mesh.manual_axes:
        return jax.jit(function, keep_unused=True).lower(*shapes).compiler_ir("stablehlo")
    # Inside of shard_map: under a shard_map of its own, over a mesh of which no axis is manual yet. What varies over
    # devices is said to do so, and is returned for each device.
    whole = mesh.update_axis_types(dict.fromkeys(mesh.manual_axes, jax.sharding.AxisType.Auto))
    varying_in, varying_out = ([varying_axes(aval) for aval in avals] for avals in (jaxpr.in_avals, jaxpr.out_avals))

    def local(*arrays: Any) -> list[Any]:
        given = [
            jax.lax.pcast(x, axes, to="varying") if axes else x for x, axes in zip(arrays, varying_in, strict=True)
        ]
        return [
            jnp.reshape(y, (1,)) if axes and not y.ndim else y
            for y, axes in zip(function(*given), varying_out, strict=True)
        ]

    with jax.sharding.use_abstract_mesh(whole):
        spec = jax.sharding.PartitionSpec
        mapped = jax.shard_map(
            local, mesh=whole, in_specs=spec(), out_specs=[spec(axes) if axes else spec() for axes in varying_out],
            axis_names=set(mesh.manual_axes), check_vma=any((*varying_in, *varying_out)),
        )  # fmt: skip
        module: Any = jax.jit(mapped, keep_unused=True).trace(*shapes).lower().compiler_ir("stablehlo")
    with module.context:
        inline_regions(module)
    return module


def _mesh_of_types(jaxpr: Any) -> Any:
    """The mesh that types of arguments have, of explicit axes, whether somebody has entered it or not; None if none."""
    shardings = [getattr(aval, "sharding", None) for aval in jaxpr.in_avals]
    return next((each.mesh for each in shardings if each is not None and not each.mesh.empty), None)


def _narrowed(elements: list[str], dtypes: list[str]) -> list[str]:
    """NumPy's names of the last of the elements, as many as there are dtypes; of f32 ones that have become narrow."""
    last = elements[len(elements) - len(dtypes) :]
    return [
        _NARROW.get(element, dtype) if dtype == "float32" else dtype
        for element, dtype in zip(last, dtypes, strict=True)
    ]
