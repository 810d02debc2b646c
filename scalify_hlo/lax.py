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

import jax.numpy as jnp
import numpy as np
from jax import lax

from scalify_hlo.frontend.jax_scalify_names import missing
from scalify_hlo.frontend.primitives import (
    get_data,
    get_data_and_scale,
    rebalance_scale,
    set_scaling,
    stop_scaling,
)
from scalify_hlo.frontend.single_call import call_scaled

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
        raise missing(__name__, name)
    return functools.partial(call_scaled, function)
