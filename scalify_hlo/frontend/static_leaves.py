"""Leaves of a tree that are no arrays: activation functions in an equinox module, names, types, and choices.

`jax.jit` refuses them, or traces a bool, which a function that decides by it refuses (`inference` of equinox's Dropout
and BatchNorm). Here each becomes a node without children that is compared by what it holds, so that a compiled
function has it as part of its arguments' structure: another one, another compilation.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import jax
import numpy as np

from scalify_hlo.frontend.scaled_array import is_scaled

# A function that is compiled for this many texts is compiled for each batch's file name.
_FEW = 4

# What `jax.jit` traces; whatever converts itself to an array or to an abstract one besides.
_TRACED = (jax.Array, np.ndarray, np.generic, bool, int, float, complex, jax.ShapeDtypeStruct)


@jax.tree_util.register_pytree_node_class
@dataclasses.dataclass(frozen=True, eq=False)
class StaticLeaf:
    """A leaf that is no array, as a node of a tree without leaves."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticLeaf) and (self.value is other.value or bool(self.value == other.value))

    def __hash__(self) -> int:
        try:
            return hash(self.value)
        except TypeError:  # unhashable: one list is another's equal, whatever it is
            return hash(type(self.value))

    def tree_flatten(self) -> tuple[tuple[()], StaticLeaf]:
        """No children; itself as the static part."""
        return (), self

    @classmethod
    def tree_unflatten(cls, static: StaticLeaf, children: Any) -> StaticLeaf:
        """Itself again."""
        del children
        return static


def is_static(leaf: Any) -> bool:
    """Whether a leaf is something that `jax.jit` would refuse, or a bool of Python's."""
    if isinstance(leaf, _TRACED):
        return isinstance(leaf, bool)
    return not (is_scaled(leaf) or hasattr(leaf, "__jax_array__") or hasattr(leaf, "aval"))


def has_static(tree: Any) -> bool:
    """Whether any leaf of a tree is static."""
    return any(is_static(leaf) for leaf in jax.tree.leaves(tree, is_leaf=is_scaled))


def wrapped(tree: Any) -> Any:
    """The tree with static leaves as nodes without children."""
    return jax.tree.map(lambda leaf: StaticLeaf(leaf) if is_static(leaf) else leaf, tree, is_leaf=is_scaled)


def unwrapped(tree: Any) -> Any:
    """The tree as it was before `wrapped`."""
    return jax.tree.map(lambda leaf: leaf.value if _is_wrapped(leaf) else leaf, tree, is_leaf=_is_wrapped)


def _is_wrapped(x: Any) -> bool:
    return isinstance(x, StaticLeaf)


class Compilations:
    """Warns of a function that is compiled again and again for texts among its arguments: `jax.jit` refuses them."""

    def __init__(self, name: str):
        """name: of the function."""
        self._name = name
        self._texts: dict[str, set[str]] = {}

    def note(self, args: Any, kwargs: Any) -> None:
        """Look at the arguments of a call."""
        for path, leaf in jax.tree_util.tree_leaves_with_path((args, kwargs), is_leaf=is_scaled):
            if not isinstance(leaf, (str, bytes)):
                continue
            known = self._texts.setdefault(jax.tree_util.keystr(path[1:]), set())
            if len(known) < _FEW:
                known.add(repr(leaf))
                if len(known) == _FEW:
                    self._warn(jax.tree_util.keystr(path[1:]), leaf)

    def _warn(self, place: str, leaf: Any) -> None:
        warnings.warn(
            f"scalify({self._name}) was compiled for {_FEW} different texts at {place} of its arguments, the last of "
            f"them {leaf!r}: texts are part of the program. Leave out of the arguments what changes from call to call.",
            stacklevel=4,
        )
