"""Scales of a tree in one vector: what an exported training step takes and returns in the place of many numbers.

A training loop, `pairs` being `(state, batch)` as ScaledArrays:

    step = pack_exported(scalify_exported(jax.export.export(jax.jit(step))(state, batch), precision="fp8"))
    (state, batch), scales = pack_scales(pairs)
    for ...:
        (state, loss), scales = step.call(state, batch, scales)
    state, batch = unpack_scales((state, batch), scales, like=pairs)
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportPrivateUsage=false, reportUnknownMemberType=false

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
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import ScalifyError
from scalify_hlo.exported import ScaledExported, artifact_version, module_of
from scalify_hlo.frontend.scaled_array import ScaledArray, is_scaled
from scalify_hlo.frontend.state_pairs import state_pairs
from scalify_hlo.passes.pack_scales import Layout, roles_of
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
    """The arguments or results of an Exported over pairs.

    tree: of flat indices, pairs ScaledArrays, or tuples if the file was made so.
    scales: flat indices of scales.
    avals: of the flat values.
    """

    tree: Any
    scales: set[int]
    avals: Sequence[Any]

    def flatten(self) -> tuple[list[Any], Any]:
        """Leaves, of which a pair is one, and the structure that they are in."""
        return jax.tree.flatten(self.tree, is_leaf=lambda node: is_scaled(node) or self._ends(node) is not None)

    def pair(self, leaf: Any) -> tuple[int, int] | None:
        """Where the data and the scale of a leaf are, if it is a pair with one f32 number for a scale."""
        ends = (leaf.data, leaf.scale) if is_scaled(leaf) else self._ends(leaf)
        fits = ends is not None and self.avals[ends[1]].shape == () and self.avals[ends[1]].dtype == np.float32
        return ends if fits else None

    def type(self, leaf: Any) -> Any:
        """What has to be equal of a leaf of state before and after a step."""
        pair = self.pair(leaf)
        avals = [self.avals[i] for i in ([pair[0]] if pair else jax.tree.leaves(leaf))]
        return pair is not None, *((aval.shape, aval.dtype) for aval in avals)

    def packed(self, elements: dict[int, int]) -> _Packed:
        """The side without the scales of some leaves. elements: of these leaves, of the vector."""
        leaves, structure = self.flatten()
        kept: list[Any] = []
        scales: dict[int, int] = {}
        for place, leaf in enumerate(leaves):
            pair = self.pair(leaf)
            if place in elements and pair is not None:
                scales[elements[place]] = pair[1]
                leaf = pair[0]
            kept.append(leaf)
        tree = structure.unflatten(kept)
        return _Packed(tree, jax.tree.leaves(tree), scales)

    def _ends(self, node: Any) -> tuple[int, int] | None:
        """Where the data and the scale of a tuple are."""
        if type(node) is not tuple or len(node) != 2 or not all(isinstance(end, int) for end in node):
            return None
        return (node[0], node[1]) if node[1] in self.scales and node[0] == node[1] - 1 else None


@dataclasses.dataclass(frozen=True)
class _Packed:
    """A side without the scales that are in the vector.

    flat: of each leaf of `tree`, where it was among the flat values.
    scales: element of the vector -> where the scale was among the flat values.
    """

    tree: Any
    flat: list[int]
    scales: dict[int, int]


def pack_exported(exported: Exported) -> Exported:
    """An Exported of `scalify_exported` that takes all scales as one vector more, and returns them so.

    `exported.call(*args)` becomes `packed.call(*args, scales)`, of data where there were ScaledArrays (`pack_scales`
    makes both of the arguments). A function of which a subtree of results is like one of arguments, as a training
    step's state is, returns `(results, scales')`: `scales'`, of as many elements, are the scales of the next call. An
    argument that nothing replaces keeps its own. Results that replace no argument, and scales that are no single f32
    number, stay ScaledArrays, or tuples.

    Raises ScalifyError for an Exported without pairs, and one with keyword arguments.
    """
    args, kwargs = jax.tree.unflatten(exported.in_tree, list(range(len(exported.in_avals))))
    if kwargs:
        raise ScalifyError(f"pack_exported({exported.fun_name}): give the function positional arguments only")
    with make_context() as context, ir.Location.unknown():
        module = module_of(exported, context)
        tokens = len(exported.ordered_effects)
        leading = (len(exported.platforms) > 1) + tokens
        kept = {flat: leading + place for place, flat in enumerate(exported.module_kept_var_idx)}
        roles, result_roles = roles_of(public_function(module))
        inputs = _Side(args, {flat for flat, i in kept.items() if roles[i] == "scale"}, exported.in_avals)
        results = jax.tree.unflatten(exported.out_tree, list(range(len(exported.out_avals))))
        scales = {i for i in range(len(exported.out_avals)) if result_roles[tokens + i] == "scale"}
        outputs = _Side(results, scales, exported.out_avals)
        if not any(inputs.pair(leaf) for leaf in inputs.flatten()[0]) or not inputs.scales:
            message = "no input that it uses is a pair with a scale of rank 0: nothing to pack"
            raise ScalifyError(f"pack_exported({exported.fun_name}): {message}")
        elements, replaced = _elements(inputs, outputs)
        taken, returned = inputs.packed(elements), outputs.packed(replaced)
        places = {kept[flat]: element for element, flat in taken.scales.items() if flat in kept}
        following = {element: tokens + flat for element, flat in returned.scales.items()}
        pack_module(module, Layout(places, following, len(elements)))
        artifact = stablehlo.serialize_portable_artifact(module, artifact_version(), allow_other_dialects=True)
    return _with_vector(exported, artifact, taken, returned)


def _elements(inputs: _Side, outputs: _Side) -> tuple[dict[int, int], dict[int, int]]:
    """The elements of the vector: of leaves of the arguments, and of the leaves of results that replace these."""
    leaves, tree = inputs.flatten()
    pairs = [place for place, leaf in enumerate(leaves) if inputs.pair(leaf)]
    elements = {place: element for element, place in enumerate(pairs)}
    new_leaves, new_tree = outputs.flatten()
    types = [inputs.type(leaf) for leaf in leaves], [outputs.type(leaf) for leaf in new_leaves]
    state = state_pairs(tree, types[0], new_tree, types[1])
    numbers = {place for place, leaf in enumerate(new_leaves) if outputs.pair(leaf)}
    return elements, {new: elements[old] for new, old in state.items() if new in numbers and old in elements}


def _with_vector(exported: Exported, artifact: bytes, taken: _Packed, returned: _Packed) -> Exported:
    """The Exported with another module inside, which takes a vector of scales last, and perhaps returns one last."""
    vector = jax.core.ShapedArray((len(taken.scales),), np.float32)
    sharding = exported._in_named_shardings[taken.scales[0]]  # of a scale: replicated

    def of_inputs(values: Sequence[Any], last: Any) -> tuple[Any, ...]:
        return (*(values[i] for i in taken.flat), last)

    def of_results(values: Sequence[Any], last: Any) -> tuple[Any, ...]:
        return (*(values[i] for i in returned.flat), *([last] if returned.scales else []))

    kept = [place for place, flat in enumerate(taken.flat) if flat in exported.module_kept_var_idx]
    changes: dict[str, Any] = {
        "mlir_module_serialized": artifact,
        "in_tree": jax.tree.structure(((*taken.tree, 0), {})),
        "out_tree": jax.tree.structure((returned.tree, 0) if returned.scales else returned.tree),
        "in_avals": of_inputs(exported.in_avals, vector),
        "out_avals": of_results(exported.out_avals, vector),
        "_in_named_shardings": of_inputs(exported._in_named_shardings, sharding),
        "_out_named_shardings": of_results(exported._out_named_shardings, sharding),
        "in_shardings_hlo": of_inputs(exported.in_shardings_hlo, None),
        "out_shardings_hlo": of_results(exported.out_shardings_hlo, None),
        "module_kept_var_idx": (*kept, len(taken.flat)),
        "_get_vjp": None,
    }
    fields = {field.name: getattr(exported, field.name) for field in dataclasses.fields(exported)}
    return ScaledExported(**{**fields, **changes})
