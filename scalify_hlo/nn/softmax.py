"""softmax, log_softmax and logsumexp with their own scale rules.

All see differences from the row's maximum, which are formed on the data and then multiplied by the scale in f32, so
that neither large logits nor large scales overflow.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.frontend.custom_scale import custom_scale
from scalify_hlo.frontend.powers_of_two import pow2_round_down
from scalify_hlo.frontend.scaled_array import ScaledArray
from scalify_hlo.nn._values import wide, wide_dtype, with_scale


def softmax_scale(count: Any) -> Any:
    """Scale of a softmax over `count` elements: 1 / sqrt(count), rounded down to a power of two.

    Midway between 1 / count, the size of equal probabilities, and 1, the largest: the data then lie between
    1 / sqrt(count) and sqrt(count), within f16 and the f8 types for any realistic count. A symbolic dimension gives
    a f32 array, any other count a number.
    """
    if not isinstance(count, int):
        root = jnp.sqrt(jnp.asarray(count).astype(np.float32))
        # So that the root of a power of four, however it is rounded, is that power of two.
        return pow2_round_down((1 + 2.0**-20) / root)
    return 2.0 ** -math.ceil(math.log2(max(count, 1)) / 2)


def _shifted(data: Any, axis: int, mask: Any) -> tuple[Any, Any]:
    """(data - its largest element along the axis, that element); 0 for rows without a finite one."""
    if mask is not None:
        data = jnp.where(mask, data, -jnp.inf)
    largest = jnp.max(data, axis, keepdims=True)
    largest = jax.lax.stop_gradient(jnp.where(jnp.isfinite(largest), largest, jnp.zeros_like(largest)))
    return data - largest, largest


def _normalized(exponentials: Any, axis: int) -> Any:
    total = jnp.sum(exponentials, axis, keepdims=True)
    return exponentials / jnp.where(total == 0, jnp.ones_like(total), total)


# --- softmax ----------------------------------------------------------------------------------------------------


@custom_scale(name="softmax")
def _softmax(x: Any, mask: Any, *, axis: int) -> Any:
    exponentials = jnp.exp(_shifted(x.astype(wide_dtype(x.dtype)), axis, mask)[0])
    return _normalized(exponentials, axis).astype(x.dtype)


@_softmax.defscale
def _softmax_rule(x: ScaledArray, mask: Any, *, axis: int) -> ScaledArray:
    data = wide(x)
    exponentials = jnp.exp(_shifted(data, axis, mask)[0] * x.scale.astype(data.dtype))
    return with_scale(_normalized(exponentials, axis), softmax_scale(x.shape[axis]), x.dtype)


def softmax(x: Any, axis: int = -1, where: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along an axis, in f32 inside; elements where the mask `where` is false are 0.

    x: float array. where: boolean array that broadcasts to x. A row without any element is all 0.
    Scale of the result: 1 / sqrt(size of the axis), rounded to a power of two.
    """
    mask = None if where is None else jnp.broadcast_to(where, x.shape)
    return _softmax_along(axis)(x, mask)


@functools.cache
def _softmax_along(axis: int) -> Any:
    @jax.custom_jvp
    def function(x: Any, mask: Any) -> Any:
        return _softmax(x, mask, axis=axis)

    @function.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        p = function(*primals)
        return p, _softmax_tangent(p, tangents[0], axis)

    return function


def _softmax_tangent(p: Any, tangent: Any, axis: int) -> Any:
    """p * (t - sum(p t)), in f32."""
    dtype = wide_dtype(p.dtype)
    p, t = p.astype(dtype), tangent.astype(dtype)
    return (p * (t - jnp.sum(p * t, axis, keepdims=True))).astype(tangent.dtype)


# --- logsumexp --------------------------------------------------------------------------------------------------


@custom_scale(name="logsumexp")
def _logsumexp(x: Any, *, axis: int) -> Any:
    shifted, largest = _shifted(x.astype(wide_dtype(x.dtype)), axis, None)
    return (jnp.log(jnp.sum(jnp.exp(shifted), axis, keepdims=True)) + largest).astype(x.dtype)


@_logsumexp.defscale
def _logsumexp_rule(x: ScaledArray, *, axis: int) -> ScaledArray:
    # max(x) * scale + a number between 0 and log(count).
    scale = jnp.maximum(x.scale, 1)
    data = wide(x)
    shifted, largest = _shifted(data, axis, None)
    rest = jnp.log(jnp.sum(jnp.exp(shifted * x.scale.astype(data.dtype)), axis, keepdims=True))
    ratio = (x.scale / scale).astype(data.dtype)
    return ScaledArray((largest * ratio + rest / scale.astype(data.dtype)).astype(x.dtype), scale)


def logsumexp(x: Any, axis: int = -1, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) along an axis, in f32 inside, at the scale of x or 1, whichever is larger."""
    result = _logsumexp_along(axis)(x)
    return result if keepdims else _squeeze(result, axis)


@functools.cache
def _logsumexp_along(axis: int) -> Any:
    @jax.custom_jvp
    def function(x: Any) -> Any:
        return _logsumexp(x, axis=axis)

    @function.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        (x,), (tangent,) = primals, tangents
        dtype = wide_dtype(x.dtype)
        p = softmax(x, axis).astype(dtype)
        return function(x), jnp.sum(p * tangent.astype(dtype), axis, keepdims=True).astype(tangent.dtype)

    return function


def _squeeze(x: Any, axis: int) -> Any:
    if isinstance(x, ScaledArray):
        return ScaledArray(jnp.squeeze(x.data, axis), x.scale)
    return jnp.squeeze(x, axis)


# --- log_softmax ------------------------------------------------------------------------------------------------


@custom_scale(name="log_softmax")
def _log_softmax(x: Any, *, axis: int) -> Any:
    shifted, _ = _shifted(x.astype(wide_dtype(x.dtype)), axis, None)
    return (shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis, keepdims=True))).astype(x.dtype)


@_log_softmax.defscale
def _log_softmax_rule(x: ScaledArray, *, axis: int) -> ScaledArray:
    scale = jnp.maximum(x.scale, np.float32(1))
    data = wide(x)
    shifted, _ = _shifted(data, axis, None)
    rest = jnp.log(jnp.sum(jnp.exp(shifted * x.scale.astype(data.dtype)), axis, keepdims=True))
    ratio = (x.scale / scale).astype(data.dtype)
    return ScaledArray((shifted * ratio - rest / scale.astype(data.dtype)).astype(x.dtype), scale)


def log_softmax(x: Any, axis: int = -1) -> Any:
    """x - logsumexp(x) along an axis, in f32 inside, at the scale of x or 1, whichever is larger."""
    return _log_softmax_along(axis)(x)


@functools.cache
def _log_softmax_along(axis: int) -> Any:
    @jax.custom_jvp
    def function(x: Any) -> Any:
        return _log_softmax(x, axis=axis)

    @function.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        (x,), (tangent,) = primals, tangents
        dtype = wide_dtype(x.dtype)
        p, t = softmax(x, axis).astype(dtype), tangent.astype(dtype)
        return function(x), (t - jnp.sum(p * t, axis, keepdims=True)).astype(tangent.dtype)

    return function
