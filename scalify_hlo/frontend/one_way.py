"""Functions that act in one direction of differentiation only."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def map_on_forward(function: Callable[[Any], Any], x: Any) -> Any:
    """function(x) on the forward pass; its derivative is the identity. The function keeps the type of x."""
    return function(x)


def _forward_fwd(function: Callable[[Any], Any], x: Any) -> tuple[Any, None]:
    return function(x), None


def _forward_bwd(function: Callable[[Any], Any], residuals: None, gradient: Any) -> tuple[Any]:
    del function, residuals
    return (gradient,)


map_on_forward.defvjp(_forward_fwd, _forward_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def map_on_backward(function: Callable[[Any], Any], x: Any) -> Any:
    """x on the forward pass; its gradient is passed through `function`, which keeps its type."""
    del function
    return x


def _backward_fwd(function: Callable[[Any], Any], x: Any) -> tuple[Any, None]:
    del function
    return x, None


def _backward_bwd(function: Callable[[Any], Any], residuals: None, gradient: Any) -> tuple[Any]:
    del residuals
    return (function(gradient),)


map_on_backward.defvjp(_backward_fwd, _backward_bwd)
