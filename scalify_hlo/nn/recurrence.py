"""Gated linear recurrences h[t] = a[t] h[t-1] + b[t], as in state space models (Mamba), at the scale of b.

The recurrence is linear in b: with gates a of magnitude up to 1, (a, s b) gives s h. The gates are seen as values,
so that no scale piles up over time, as it would if each step were scaled by the general rules.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from scalify_hlo.frontend.custom_scale import custom_scale
from scalify_hlo.frontend.scaled_array import ScaledArray
from scalify_hlo.nn._values import value, wide, wide_dtype


def _scan(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    def combine(first: Any, second: Any) -> tuple[Any, Any]:
        return first[0] * second[0], first[1] * second[0] + second[1]

    return jax.lax.associative_scan(combine, (a, b), reverse=reverse, axis=axis)[1]


@custom_scale(name="linear_recurrence")
def _recurrence(a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    dtype = wide_dtype(b.dtype)
    return _scan(a.astype(dtype), b.astype(dtype), axis, reverse).astype(b.dtype)


@_recurrence.defscale
def _recurrence_rule(a: ScaledArray, b: ScaledArray, *, axis: int, reverse: bool) -> ScaledArray:
    # h(a, s b) = s h(a, b)
    data = wide(b)
    return ScaledArray(_scan(value(a).astype(data.dtype), data, axis, reverse).astype(b.dtype), b.scale)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _differentiable(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    return _recurrence(a, b, axis=axis, reverse=reverse)


def _forward(a: Any, b: Any, axis: int, reverse: bool) -> tuple[Any, Any]:
    h = _recurrence(a, b, axis=axis, reverse=reverse)
    return h, (a, h)


def _backward(axis: int, reverse: bool, residuals: Any, gradient: Any) -> tuple[Any, Any]:
    """gb[t] = g[t] + a[t+1] gb[t+1]: the recurrence run the other way; ga[t] = gb[t] h[t-1]."""
    a, h = residuals
    gradient_b = _recurrence(_shift(a, axis, not reverse), gradient, axis=axis, reverse=not reverse)
    return (gradient_b * _shift(h, axis, reverse)).astype(a.dtype), gradient_b.astype(h.dtype)


_differentiable.defvjp(_forward, _backward)


def _shift(x: Any, axis: int, backward: bool) -> Any:
    """x[t-1], or x[t+1] if `backward`, with 0 beyond the end."""
    pad = [(0, 0, 0)] * x.ndim
    pad[axis] = (-1, 1, 0) if backward else (1, -1, 0)
    return jax.lax.pad(x, jnp.zeros((), x.dtype), pad)


def linear_recurrence(a: Any, b: Any, initial: Any = None, *, axis: int = 0, reverse: bool = False) -> Any:
    """h[t] = a[t] h[t-1] + b[t] along an axis, all h, by a parallel scan in f32; at the scale of b.

    a: gates of magnitude up to 1; b: inputs; arrays of the same shape, float.
    initial: h before the first step, of the shape of b without the axis; default 0.
    reverse: run from the last element to the first.
    """
    axis = axis % b.ndim
    if initial is not None:
        position = b.shape[axis] - 1 if reverse else 0
        first = jax.lax.broadcasted_iota(jnp.int32, b.shape, axis) == position
        b = jnp.where(first, b + a * jnp.expand_dims(initial, axis), b)
    return _differentiable(a, b, axis, reverse)


def selective_scan(u: Any, delta: Any, a: Any, b: Any, c: Any, d: Any = None) -> Any:
    """Mamba's selective state space layer: h[t] = exp(delta A) h[t-1] + delta B u, y[t] = C h[t] (+ D u).

    u, delta: [..., T, D] inputs and positive step sizes; a: [D, N], negative; b, c: [..., T, N]; d: [D] or None.
    Returns y: [..., T, D] in the type of u.
    """
    leading = tuple(range(u.ndim - 1))
    gates = jnp.exp(delta[..., None] * jnp.expand_dims(a, leading))
    inputs = (delta * u)[..., None] * b[..., None, :]
    states = linear_recurrence(gates.astype(inputs.dtype), inputs, axis=inputs.ndim - 3)
    y = jnp.einsum("...tdn,...tn->...td", states, c)
    return (y if d is None else y + jnp.expand_dims(d, leading) * u).astype(u.dtype)
