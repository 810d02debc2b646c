"""Scales of a tree in one vector: what an exported training step takes and returns in the place of many numbers.

step = pack_exported(scalify_exported(jax.export.export(jax.jit(step))(state, batch), precision="fp8"))
(state, batch), scales = pack_scales((as_scaled_array(state), as_scaled_array(batch)))
for ...:
    (state, loss), scales = step.call(state, batch, scales)
state, batch = unpack_scales((state, batch), scales, like)
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.export import Exported

from scalify_hlo.bindings import ir, make_context, stablehlo
from scalify_hlo.engine.selection import attributes_of
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import ScalifyError
from scalify_hlo.exported import ScaledExported, artifact_version
from scalify_hlo.frontend.scaled_array import ScaledArray, is_scaled
from scalify_hlo.frontend.state_pairs import state_pairs
from scalify_hlo.passes.pack_scales import Layout, role_of
from scalify_hlo.passes.pack_scales import pack_scales as pack_module


def pack_scales(tree: Any) -> tuple[Any, jax.Array]:
    """The tree with data in the place of its ScaledArrays, and their scales as one f32[n], in the order of leaves.

    ScaledArrays whose scale is no single f32 number stay as they are, as do all other leaves.
    """
    scales: list[Any] = []

    def data_of(leaf: Any) -> Any:
        if not _is_packable(leaf):
            return leaf
        scales.append(leaf.scale)
        return leaf.data

    data = jax.tree.map(data_of, tree, is_leaf=is_scaled)
    return data, jnp.stack(scales) if scales else jnp.zeros((0,), jnp.float32)


def unpack_scales(data: Any, scales: Any, like: Any) -> Any:
    """The inverse of `pack_scales`: ScaledArrays where `like` has them, of the elements of `scales` in turn.

    like: a tree as it was given to `pack_scales`, or its shapes (`jax.eval_shape`). Raises ValueError where it has not
    as many ScaledArrays as there are scales, or `data` has another structure.
    """
    leaves, tree = jax.tree.flatten(like, is_leaf=is_scaled)
    count = sum(map(_is_packable, leaves))
    if count != np.shape(scales)[0]:
        raise ValueError(f"unpack_scales: {np.shape(scales)[0]} scales for a tree with {count} ScaledArrays")
    elements = iter(scales)
    pairs = zip(leaves, tree.flatten_up_to(data), strict=True)
    return tree.unflatten([ScaledArray(own, next(elements)) if _is_packable(leaf) else own for leaf, own in pairs])


def _is_packable(leaf: Any) -> bool:
    return is_scaled(leaf) and jnp.shape(leaf.scale) == () and leaf.scale.dtype == jnp.float32


@dataclasses.dataclass(frozen=True)
class _Side:
    """The arguments or results of an Exported, packed.

    flat: of each leaf of the packed tree, where it was among the flat values.
    scales: element of the vector -> where the scale was among the flat values.
    tree: the packed tree.
    """

    flat: list[int]
    scales: dict[int, int]
    tree: Any


def pack_exported(exported: Exported) -> Exported:
    """An Exported of `scalify_exported` that takes all scales as one vector more, and returns them so.

    `exported.call(*args)` becomes `packed.call(*args, scales)`, of data where there were ScaledArrays (`pack_scales`
    makes both of the arguments). A function of which a subtree of results is like one of arguments, as a training
    step's state is, returns `(results, scales')`: `scales'`, of as many elements, are the scales of the next call. An
    argument that nothing replaces keeps its own. Results that replace no argument, and scales that are no single f32
    number, stay ScaledArrays.

    Raises ScalifyError for an Exported without ScaledArrays (`container="tuple"` too), and one with keyword arguments.
    """
    args, kwargs = jax.tree.unflatten(exported.in_tree, list(range(len(exported.in_avals))))
    if kwargs:
        raise ScalifyError(f"pack_exported({exported.fun_name}): give the function positional arguments only")
    leaves, _ = jax.tree.flatten(args, is_leaf=is_scaled)
    places = [i for i, leaf in enumerate(leaves) if _is_number(leaf, exported.in_avals)]
    if not any(leaves[place].scale in exported.module_kept_var_idx for place in places):
        raise ScalifyError(
            f"pack_exported({exported.fun_name}): it uses no ScaledArray with a scale of rank 0: nothing to pack"
        )
    elements = {place: element for element, place in enumerate(places)}
    inputs = _side(args, elements)
    results = jax.tree.unflatten(exported.out_tree, list(range(len(exported.out_avals))))
    outputs = _side(results, _replaced(args, results, elements, exported))
    with make_context() as context, ir.Location.unknown():
        module = stablehlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)
        tokens = len(exported.ordered_effects)
        leading = (len(exported.platforms) > 1) + tokens
        kept = {flat: leading + place for place, flat in enumerate(exported.module_kept_var_idx)}
        taken = {kept[flat]: element for element, flat in inputs.scales.items() if flat in kept}
        following = {element: tokens + flat for element, flat in outputs.scales.items()}
        _check_roles(exported, module, taken)
        pack_module(module, Layout(taken, following, len(places)))
        artifact = stablehlo.serialize_portable_artifact(module, artifact_version(), allow_other_dialects=True)
    vector = jax.core.ShapedArray((len(places),), np.float32)
    returns = bool(following)
    result_tree = jax.tree.structure((outputs.tree, 0)) if returns else jax.tree.structure(outputs.tree)
    kept_data = [place for place, flat in enumerate(inputs.flat) if flat in kept]

    def of_inputs(values: Sequence[Any], last: Any) -> tuple[Any, ...]:
        return (*(values[i] for i in inputs.flat), last)

    def of_results(values: Sequence[Any], last: Any) -> tuple[Any, ...]:
        chosen = [values[i] for i in outputs.flat]
        return (*chosen, last) if returns else tuple(chosen)

    named_in, named_out = (getattr(exported, f"_{side}_named_shardings") for side in ("in", "out"))
    changes: dict[str, Any] = {
        "mlir_module_serialized": artifact,
        "in_tree": jax.tree.structure(((*inputs.tree, 0), {})),
        "out_tree": result_tree,
        "in_avals": of_inputs(exported.in_avals, vector),
        "out_avals": of_results(exported.out_avals, vector),
        "_in_named_shardings": of_inputs(named_in, named_in[inputs.scales[0]]),
        "_out_named_shardings": of_results(named_out, named_in[inputs.scales[0]]),
        "in_shardings_hlo": of_inputs(exported.in_shardings_hlo, None),
        "out_shardings_hlo": of_results(exported.out_shardings_hlo, None),
        "module_kept_var_idx": (*kept_data, len(inputs.flat)),
        "_get_vjp": None,
    }
    fields = {field.name: getattr(exported, field.name) for field in dataclasses.fields(exported)}
    return ScaledExported(**{**fields, **changes})


def _is_number(leaf: Any, avals: Sequence[Any]) -> bool:
    """Whether a leaf of a tree of flat indices is a ScaledArray with one f32 number for a scale."""
    return is_scaled(leaf) and avals[leaf.scale].shape == () and avals[leaf.scale].dtype == np.float32


def _side(tree: Any, elements: dict[int, int]) -> _Side:
    """What is left of a tree of flat indices. elements: of leaves that are pairs, of the vector."""
    leaves, structure = jax.tree.flatten(tree, is_leaf=is_scaled)
    packed = [leaf.data if place in elements else leaf for place, leaf in enumerate(leaves)]
    scales = {element: leaves[place].scale for place, element in elements.items()}
    tree = structure.unflatten(packed)
    return _Side(jax.tree.leaves(tree), scales, tree)


def _replaced(args: Any, results: Any, elements: dict[int, int], exported: Exported) -> dict[int, int]:
    """The leaves of results that replace an argument with an element of the vector -> that element."""
    sides = [(args, exported.in_avals), (results, exported.out_avals)]
    flat = [jax.tree.flatten(tree, is_leaf=is_scaled) for tree, _ in sides]
    types = [[_type(leaf, avals) for leaf in leaves] for (leaves, _), (_, avals) in zip(flat, sides, strict=True)]
    pairs = state_pairs(flat[0][1], types[0], flat[1][1], types[1])
    numbers = {i for i, leaf in enumerate(flat[1][0]) if _is_number(leaf, exported.out_avals)}
    return {result: elements[place] for result, place in pairs.items() if result in numbers and place in elements}


def _type(leaf: Any, avals: Sequence[Any]) -> Any:
    """What has to be equal of a leaf of state before and after a step."""
    aval = avals[leaf.data if is_scaled(leaf) else leaf]
    return is_scaled(leaf), aval.shape, aval.dtype


def _check_roles(exported: Exported, module: ir.Module, scales: dict[int, int]) -> None:
    """Raise ScalifyError unless the module takes scales where the trees say so."""
    main = public_function(module)
    attributes = attributes_of(main, "arg_attrs", len(main.regions[0].blocks[0].arguments))
    if any(role_of(attributes[place]) != "scale" for place in scales):
        raise ScalifyError(f"pack_exported({exported.fun_name}): not an Exported of scalify_exported")
