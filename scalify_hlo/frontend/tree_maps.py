"""Scales that a generic tree function has computed on: repaired where the meaning is clear, refused where not.

`jax.tree.map(f, tree)` and what is made of it (most of optax) see data and scale of a ScaledArray as two leaves and
give `f(data)` and `f(scale)`. Outside of `scalify` that is rarely what was meant. A ScaledArray knows when it is built
by `jax.tree.map`, and compares its scale with those that went in:

- the same numbers, moved, copied, stacked or converted to another type: fine, kept in the type of a scale;
- zeros (`zeros_like`): the tensor is zero, its scale the smallest;
- one number in data and scale alike (`full_like`, `ones_like`): the tensor is that number, its scale 1;
- anything else was computed: a TypeError that says what to write instead.

While JAX traces, scales have no numbers, and nothing is compared. Functions that only read leaves (`optax.global_norm`,
`jax.tree.reduce`) build no ScaledArray: write `scalify(optax.global_norm)(tree)`.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import dataclasses
import inspect
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

# `jax.tree.map` as it runs: its frame is the one that builds the nodes of the result.
TREE_MAP: CodeType = inspect.unwrap(jax.tree_util.tree_map).__code__
_SMALLEST = np.float32(2.0**-126)
_LARGE = 2**16
_ARRAYS = (jax.Array, np.ndarray, np.generic)


def scale_after_tree_map(frame: FrameType, scaled_type: type[Any], data: Any, scale: Any) -> Any:
    """The scale of the next ScaledArray that a running `jax.tree.map` builds. Raises TypeError where it is lost.

    frame: of `jax.tree.map`. data, scale: what it has computed of them.
    """
    if frame.f_back is not None and frame.f_back.f_globals.get("__name__", "").startswith("jax._src.tree"):
        caller = frame.f_back.f_back
    else:
        caller = frame.f_back
    if caller is not None and caller.f_globals.get("__name__", "").startswith("jax."):
        return scale
    originals = _next_originals(frame, scaled_type)
    if any(scale is original.scale for original in originals):
        return scale
    if not originals or not all(map(_has_numbers, (data, scale, *(p for o in originals for p in (o.data, o.scale))))):
        return scale
    try:
        return _checked(data, scale, originals)
    except TypeError:
        _maps.running = [each for each in _maps.running if each.frame is not frame]
        raise


def _checked(data: Any, scale: Any, originals: list[Any]) -> Any:
    numbers = np.asarray(scale).astype(np.float64)
    before = [np.asarray(original.scale) for original in originals]
    xp: Any = jnp if isinstance(scale, jax.Array) else np
    if _is_fill(data, numbers, originals):
        return xp.full(np.shape(scale), 1 if numbers.any() else _SMALLEST, np.float32)
    if _has_new_numbers(data, originals):
        raise TypeError(_message(before[0], numbers))
    for original in before:
        # Converted by `astype`: the scale itself, of which a narrower type may have lost everything.
        if _same(original.astype(scale.dtype), numbers):
            return xp.asarray(original)
    if np.isin(numbers, np.concatenate([b.astype(np.float64).ravel() for b in before])).all():
        return scale
    if not numbers.any():
        return xp.full(np.shape(scale), _SMALLEST, np.float32)
    raise TypeError(_message(before[0], numbers))


def _message(before: Any, after: Any) -> str:
    became = "" if _same(before, after) else f": its scale was {before.tolist()} and became {after.tolist()}"
    return (
        "jax.tree.map, or a function made of it, has computed on the data and on the scale of a ScaledArray as if they "
        f"were two arrays{became}. Put the computation inside `scalify` (`scalify(optax.apply_updates)(params, "
        "updates)`), or use `scalify_hlo.tree.map`, to which a ScaledArray is one leaf with operators of its own"
    )


def _is_fill(data: Any, numbers: Any, originals: list[Any]) -> bool:
    """Whether data and scale have become one and the same number, which the data were not before."""
    if numbers.ndim or np.size(data) == 0:
        return False
    some = _some(data)
    return bool((some == numbers.astype(some.dtype)).all()) and not any(_equal(data, o.data) for o in originals)


def _has_new_numbers(data: Any, originals: list[Any]) -> bool:
    """Whether data of the shape that they had are other numbers than they were, rounded to another type apart."""
    alike = [original.data for original in originals if np.shape(original.data) == np.shape(data)]
    return bool(alike) and _some(data).any() and not any(_equal(data, each) for each in alike)


def _equal(data: Any, original: Any) -> bool:
    if np.shape(data) != np.shape(original):
        return False
    a, b = _some(data), _some(original)
    with np.errstate(over="ignore"):
        b = b.astype(a.dtype)
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _some(x: Any) -> Any:
    """The elements of an array, or a corner of a large one that is not in the host's memory."""
    if isinstance(x, jax.Array) and x.size > _LARGE and next(iter(x.devices())).platform != "cpu":
        x = x[tuple(slice(0, 4 if i + 1 < x.ndim else 64) for i in range(x.ndim))]
    return np.asarray(x)


def _same(a: Any, b: Any) -> bool:
    return a.shape == b.shape and bool((a.astype(np.float64) == b).all())


def _has_numbers(x: Any) -> bool:
    """Whether an array's elements can be read here and now."""
    if not isinstance(x, _ARRAYS) or isinstance(x, jax.core.Tracer):
        return False
    return not isinstance(x, jax.Array) or (x.is_fully_addressable and not x.is_deleted())


# --- the ScaledArrays that a running `jax.tree.map` was given ------------------------------------------------------


@dataclasses.dataclass
class _Running:
    frame: FrameType  # kept, so that no other frame takes its place in memory
    originals: list[list[Any]]  # of each ScaledArray of the first tree, it and its counterparts
    built: int = 0


class _Maps(threading.local):
    def __init__(self) -> None:
        self.running: list[_Running] = []  # a function that is mapped may map others


_maps = _Maps()


def _next_originals(frame: FrameType, scaled_type: type[Any]) -> list[Any]:
    """The ScaledArrays that went into the one that is being built; empty where that is not known."""
    found = next((each for each in _maps.running if each.frame is frame), None)
    if found is None:
        # Those that are no callers of this one have ended in an exception.
        _maps.running = [each for each in _maps.running if _is_caller(each.frame, frame)]
        local = frame.f_locals
        is_leaf = local.get("is_leaf")
        found = _Running(frame, _originals(local.get("tree"), local.get("rest", ()), scaled_type, is_leaf))
        _maps.running.append(found)
    originals = found.originals[found.built] if found.built < len(found.originals) else []
    found.built += 1
    if found.built >= len(found.originals):
        _maps.running.remove(found)
    return originals


def _is_caller(frame: FrameType, of: FrameType) -> bool:
    caller = of.f_back
    while caller is not None and caller is not frame:
        caller = caller.f_back
    return caller is frame


def _originals(tree: Any, rest: Any, scaled_type: type[Any], is_leaf: Callable[[Any], bool] | None) -> list[list[Any]]:
    """Of each ScaledArray that a map goes into, it and its counterparts; none inside of what it takes as a leaf."""

    def is_scaled(x: Any) -> bool:
        return isinstance(x, scaled_type) and not is_whole(x)

    def is_whole(x: Any) -> bool:
        return is_leaf is not None and is_leaf(x)

    leaves, structure = jax.tree.flatten(tree, is_leaf=lambda x: is_scaled(x) or is_whole(x))
    columns = [leaves]
    for other in rest:
        try:
            columns.append(structure.flatten_up_to(other))
        except (ValueError, TypeError):
            return []
    return [[x for x in row if is_scaled(x)] for row in zip(*columns, strict=True) if is_scaled(row[0])]
