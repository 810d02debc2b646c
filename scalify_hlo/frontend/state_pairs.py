"""State by structure: which results of a function are the next values of which arguments.

A step takes its state as a tree and returns one of the same structure. Whatever its leaves are computed from, they come
back as they went in: a mean of batch normalisation that is reset to zeros stays a ScaledArray.
"""

# jax is annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from scalify_hlo.frontend.conversion import as_scaled_array
from scalify_hlo.frontend.primitives import set_scaling
from scalify_hlo.frontend.scaled_array import ScaledArray, is_scaled


def state_pairs(
    arguments: Any,
    argument_types: Sequence[Any],
    results: Any,
    result_types: Sequence[Any],
    *,
    of_one_argument: bool = False,
) -> dict[int, int]:
    """Result -> argument, by the places of their leaves: of the largest subtrees that are alike.

    arguments, results: tree structures, of arguments that of (args, kwargs). argument_types, result_types: of each leaf
    something hashable, which has to be equal. Single leaves say nothing: a layer's result has the shape of its input.
    of_one_argument: nor does a function of two arrays that returns two.
    """
    places: dict[Any, list[int]] = {}
    apart = [each for group in arguments.children() for each in group.children()] if of_one_argument else [arguments]
    first = 0
    for tree in apart:
        for key, place in _subtrees(tree, argument_types, first):
            places.setdefault(key, []).append(place)
        first += tree.num_leaves
    pairs: dict[int, int] = {}

    def match(tree: Any, first: int) -> None:
        key = tree, tuple(result_types[first : first + tree.num_leaves])
        if tree.num_leaves < 2:
            return
        for place in places.get(key, ()):
            taken = set(pairs.values())
            if not taken.intersection(range(place, place + tree.num_leaves)):
                pairs.update((first + i, place + i) for i in range(tree.num_leaves))
                return
        for child in tree.children():
            match(child, first)
            first += child.num_leaves

    match(results, 0)
    return pairs


def _subtrees(tree: Any, types: Sequence[Any], first: int) -> list[tuple[Any, int]]:
    """Every subtree of more than one leaf, with the place of its first."""
    if tree.num_leaves < 2:
        return []
    found = [((tree, tuple(types[first : first + tree.num_leaves])), first)]
    for child in tree.children():
        found += _subtrees(child, types, first)
        first += child.num_leaves
    return found


def as_it_was(value: Any, before: Any) -> Any:
    """A new value of state of the kind of the old one: a ScaledArray where that was one, with a scale of its shape."""
    if not is_scaled(before):
        return value
    shape = jnp.shape(before.broadcast_scale)
    if not is_scaled(value):
        value = as_scaled_array(value, scale_dtype=before.scale.dtype)
    if jnp.shape(value.scale) == shape:
        return value
    if shape:
        return ScaledArray(value.data, jnp.broadcast_to(value.scale, shape))
    both = set_scaling(value, jnp.max(value.scale))
    return ScaledArray(both.data, both.scale.astype(value.scale.dtype))
