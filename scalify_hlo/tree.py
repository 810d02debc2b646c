"""Tree functions in which a ScaledArray is one leaf: `jax.tree` for states with scaled arrays.

`map`, `leaves`, `structure`, `flatten`, `unflatten` and `all` take what their namesakes in `jax.tree` take.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numpy.typing import DTypeLike

from scalify_hlo.frontend.scaled_array import is_scaled

__all__ = ["all", "astype", "flatten", "leaves", "map", "nbytes", "structure", "unflatten"]


def map(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:  # noqa: A001
    """`jax.tree.map` with ScaledArrays as leaves."""
    return jax.tree.map(function, tree, *rest, is_leaf=is_scaled)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, from left to right."""
    return jax.tree.leaves(tree, is_leaf=is_scaled)


def structure(tree: Any) -> Any:
    """The structure of a tree whose ScaledArrays are leaves."""
    return jax.tree.structure(tree, is_leaf=is_scaled)


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """(leaves, structure) of a tree."""
    return jax.tree.flatten(tree, is_leaf=is_scaled)


def unflatten(structure: Any, leaves: Any) -> Any:
    """The tree of a structure and its leaves."""
    return jax.tree.unflatten(structure, leaves)


def all(tree: Any) -> bool:  # noqa: A001
    """Whether all leaves are true."""
    return builtins.all(leaves(tree))


def astype(tree: Any, dtype: DTypeLike, floating_only: bool = False) -> Any:
    """Every leaf converted to `dtype`; of a ScaledArray the data only.

    floating_only: leave integers, booleans and keys as they are.
    """

    def convert(leaf: Any) -> Any:
        if floating_only and not jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf
        return leaf.astype(dtype)

    return map(convert, tree)


def nbytes(tree: Any) -> int:
    """Bytes of all arrays of a tree, scales included."""
    return sum(leaf.nbytes for leaf in leaves(tree) if hasattr(leaf, "nbytes"))
