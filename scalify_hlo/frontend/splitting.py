"""An array as data and scale: how large its elements are, and the exact division by that."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.frontend.powers_of_two import Pow2RoundMode, clip_scale, pow2_decompose, pow2_round
from scalify_hlo.frontend.scaled_array import SCALE_DTYPE, ScaledArray
from scalify_hlo.frontend.statistics import Statistic, magnitude

_E8M0 = np.dtype(jnp.float8_e8m0fnu)
# Numbers from here on are as good as infinite, and their squares are: a mask of scores, not a tensor's size.
_STANDS_FOR_INFINITY = 2.0**126


def _has_stand_ins(value: Any) -> bool:
    """Whether a type has the range of f32, whose largest numbers stand for infinity in masks of scores."""
    return _STANDS_FOR_INFINITY < float(jnp.finfo(value.dtype).max) < 4 * _STANDS_FOR_INFINITY


def is_float_array(value: Any) -> bool:
    """Whether a leaf is an array, numpy or JAX, of a floating-point type."""
    return isinstance(value, (jax.Array, np.ndarray)) and is_float_type(value.dtype)


def is_float_type(dtype: Any) -> bool:
    """Whether a dtype is a floating-point type that holds numbers, which the type of scales f8E8M0FNU is not."""
    return jnp.issubdtype(dtype, jnp.floating) and dtype != _E8M0


def divide_exactly(value: Any, scale: Any) -> Any:
    """value / scale in the type of `value`, formed in at least f32 so that the scale keeps its range."""
    wide = np.float64 if value.dtype == np.float64 else np.float32
    return (value.astype(wide) / scale.astype(wide)).astype(value.dtype)


# s x = p (s/p x), p the power of two above s
@jax.jit
def at_power_of_two(data: Any, scale: Any) -> tuple[Any, Any]:
    """Data and scale of the same value at a power of two: no smaller, so that no data leave their range."""
    power = clip_scale(pow2_round(scale, Pow2RoundMode.UP))
    wide = np.float64 if data.dtype == np.float64 else np.float32
    return (data.astype(wide) * (scale / power).astype(wide)).astype(data.dtype), power


def split(value: Any, statistic: Statistic = "rms", scale_dtype: np.dtype[Any] = SCALE_DTYPE) -> ScaledArray:
    """An array of floats as a ScaledArray with the scale of its own elements, on the host or on the device it is on.

    See `as_scaled_array`.
    """
    divide = _split if isinstance(value, np.ndarray) else _split_on_device
    return ScaledArray(*divide(value, statistic, scale_dtype))


def _split(value: Any, statistic: Statistic, scale_dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """(data, scale) with the scale taken from the elements."""
    xp = np if isinstance(value, np.ndarray) else jnp
    if value.ndim == 0:
        scale, _ = pow2_decompose(value.astype(SCALE_DTYPE), SCALE_DTYPE)
        finite = xp.isfinite(value)
    else:
        norm = _norm(value, statistic)
        scale = clip_scale(pow2_round(norm, Pow2RoundMode.DOWN))
        finite = xp.isfinite(norm)
    if value.size:
        scale = xp.where(finite, scale, SCALE_DTYPE.type(1))
    scale = xp.asarray(scale, SCALE_DTYPE)
    return divide_exactly(value, scale), scale.astype(scale_dtype)


def _norm(value: Any, statistic: Statistic) -> Any:
    """The magnitude of elements that do not stand for infinity; at least 1 beside some that do, which stay finite."""
    if not _has_stand_ins(value):
        return magnitude(value, statistic)
    if isinstance(value, np.ndarray):
        norm = magnitude(value, statistic)
        if float(norm) * value.size < _STANDS_FOR_INFINITY:  # no element is as large
            return norm
    xp = np if isinstance(value, np.ndarray) else jnp
    stand_in = abs(value) >= value.dtype.type(_STANDS_FOR_INFINITY)
    norm = magnitude(xp.where(stand_in & xp.isfinite(value), value.dtype.type(0), value), statistic)
    return xp.where(xp.any(stand_in), xp.maximum(norm, norm.dtype.type(1)), norm)


_split_on_device = jax.jit(_split, static_argnums=(1, 2))
