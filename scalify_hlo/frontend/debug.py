"""Callbacks and prints that see data and scale of the values inside a transformed program."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from scalify_hlo.frontend.primitives import get_data_and_scale
from scalify_hlo.frontend.scaled_array import ScaledArray, is_scaled
from scalify_hlo.frontend.splitting import is_float_array
from scalify_hlo.frontend.tracing import is_tracing_scalified


def debug_callback(callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """`jax.debug.callback`; inside `scalify` the callback gets ScaledArrays for the floating-point arrays."""
    if is_tracing_scalified():
        args, kwargs = jax.tree.map(_with_scale, (args, kwargs), is_leaf=is_scaled)
    jax.debug.callback(callback, *args, ordered=ordered, **kwargs)


def _with_scale(leaf: Any) -> Any:
    return ScaledArray(*get_data_and_scale(leaf)) if is_float_array(leaf) else leaf


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def debug_callback_grad(callback: Callable[..., Any], *args: Any) -> tuple[Any, ...]:
    """The arguments as they are; their gradients are given to the callback as `debug_callback` would."""
    del callback
    return args


def _callback_fwd(callback: Callable[..., Any], *args: Any) -> tuple[Any, None]:
    del callback
    return args, None


def _callback_bwd(callback: Callable[..., Any], residuals: None, gradients: Any) -> Any:
    del residuals
    debug_callback(callback, *gradients)
    return tuple(gradients)


debug_callback_grad.defvjp(_callback_fwd, _callback_bwd)


def debug_print(fmt: str, *args: Any) -> tuple[Any, ...]:
    """Print `fmt.format(*args)` when the program runs; returns the arguments."""
    debug_callback(lambda *values: print(fmt.format(*values)), *args)
    return args


def debug_print_grad(fmt: str, *args: Any) -> tuple[Any, ...]:
    """The arguments; prints `fmt.format(*gradients)` when their gradients are computed."""
    return debug_callback_grad(lambda *values: print(fmt.format(*values)), *args)
