"""The scaling primitives, and single operations on ScaledArrays, under the names of `jax_scalify.lax`.

`scaled_<name>` is `jax.lax.<name>` transformed by `scalify`: it takes ScaledArrays (or arrays) where the original
takes arrays. For whole functions use `scalify` itself.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from scalify_hlo.frontend.conversion import as_scaled_array
from scalify_hlo.frontend.primitives import (
    get_data,
    get_data_and_scale,
    rebalance_scale,
    set_scaling,
    stop_scaling,
)
from scalify_hlo.frontend.scaled_array import ScaledArray, is_scaled
from scalify_hlo.frontend.transform import scalify

__all__ = [
    "get_data", "get_data_and_scale", "get_data_scale", "rebalance", "rebalance_scale", "set_scaling",
    "stop_scaling",
]  # fmt: skip

# Names in jax-scalify.
get_data_scale = get_data_and_scale
rebalance = rebalance_scale


def _one_axis(function: Callable[..., Any]) -> Callable[..., Any]:
    """`lax.argmax` takes one axis, the primitive a sequence of one."""

    @functools.wraps(function)
    def with_axes(operand: Any, axes: Sequence[int], index_dtype: Any) -> Any:
        (axis,) = axes
        return function(operand, axis, index_dtype)

    return with_axes


def _window(init: float, computation: Callable[..., Any]) -> Callable[..., Any]:
    def reduce_window(
        operand: Any, window_dimensions: Any, window_strides: Any, padding: Any, base_dilation: Any = None,
        window_dilation: Any = None,
    ) -> Any:  # fmt: skip
        start = jnp.asarray(init, operand.dtype)
        return lax.reduce_window(
            operand, start, computation, window_dimensions, window_strides, padding, base_dilation, window_dilation
        )

    return reduce_window


_ADAPTED: dict[str, Callable[..., Any]] = {
    "argmax": _one_axis(lax.argmax),
    "argmin": _one_axis(lax.argmin),
    "reduce_window_sum": _window(0, lax.add),
    "reduce_window_max": _window(-np.inf, lax.max),
    "reduce_window_min": _window(np.inf, lax.min),
    "stop_gradient": lax.stop_gradient,
}


def __getattr__(name: str) -> Any:
    operation = name.removeprefix("scaled_")
    function = _ADAPTED.get(operation, getattr(lax, operation, None))
    if operation == name or not callable(function) or operation.endswith("_p"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return functools.partial(_scaled, function)


def _scaled(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`function` on ScaledArrays; arguments that are no arrays are static."""
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
