"""Single operations on ScaledArrays: a function transformed by `scalify`, compiled once per types of its arguments."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.frontend.conversion import as_scaled_array
from scalify_hlo.frontend.scaled_array import ScaledArray, is_scaled
from scalify_hlo.frontend.transform import scalify


def call_scaled(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`function` on ScaledArrays; arguments that are no arrays are static and hashable.

    function: kept in a cache: the same object each time.
    """
    leaves, tree = jax.tree.flatten((args, kwargs), is_leaf=is_scaled)
    dynamic = tuple(isinstance(leaf, (ScaledArray, jax.Array, np.ndarray, np.generic)) for leaf in leaves)
    static = tuple(None if is_array else leaf for leaf, is_array in zip(leaves, dynamic, strict=True))
    arrays = [leaf for leaf, is_array in zip(leaves, dynamic, strict=True) if is_array]
    return _transformed(function, tree, dynamic, static)(*map(_float_scaled, arrays))


def _float_scaled(leaf: Any) -> Any:
    """Rank-0 floats become scaled by their exponent, as literals do in a transformed program."""
    is_scalar = not is_scaled(leaf) and leaf.ndim == 0 and jnp.issubdtype(leaf.dtype, jnp.floating)
    return as_scaled_array(leaf) if is_scalar else leaf


@functools.lru_cache(maxsize=1024)
def _transformed(function: Callable[..., Any], tree: Any, dynamic: tuple[bool, ...], static: tuple[Any, ...]) -> Any:
    def call(*arrays: Any) -> Any:
        given = iter(arrays)
        leaves = [next(given) if is_array else leaf for is_array, leaf in zip(dynamic, static, strict=True)]
        args, kwargs = jax.tree.unflatten(tree, leaves)
        return function(*args, **kwargs)

    return scalify(call)
