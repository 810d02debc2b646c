"""Casts that saturate, and casts in one direction of differentiation (paper, appendix A).

Inside the transform a cast acts on the data and keeps the scale: the data saturate, not the value. XLA's own
conversion to float8_e4m3fn gives NaN beyond 448.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike

from scalify_hlo.frontend.custom_scale import custom_scale
from scalify_hlo.frontend.one_way import map_on_backward, map_on_forward
from scalify_hlo.frontend.scaled_array import ScaledArray


def _saturated(x: Any, dtype: np.dtype[Any]) -> Any:
    """x with finite values clipped to the range of dtype; NaN stays, infinities become the largest values."""
    target, source = ml_dtypes.finfo(dtype), ml_dtypes.finfo(x.dtype)
    if target.max >= source.max:
        return x
    # The bound in the type of x: the largest value of an f8 type is exact in every wider one.
    return jnp.clip(x, np.asarray(target.min, x.dtype), np.asarray(target.max, x.dtype))


@custom_scale(name="saturating_cast")
def _saturating_cast(x: Any, *, dtype: np.dtype[Any]) -> Any:
    return _saturated(x, dtype).astype(dtype)


@_saturating_cast.defscale
def _saturating_cast_rule(x: ScaledArray, *, dtype: np.dtype[Any]) -> ScaledArray:
    return ScaledArray(_saturated(x.data, dtype).astype(dtype), x.scale)


def saturating_cast(x: Any, dtype: DTypeLike) -> Any:
    """x in another float type, values beyond its range becoming its largest ones."""
    return _saturating_cast(x, dtype=np.dtype(dtype))


def _is_narrow(dtype: np.dtype[Any]) -> bool:
    return dtype.itemsize == 1


def cast_on_forward(x: Any, dtype: DTypeLike) -> Any:
    """x in another float type; its gradient comes back in the type of x, with the values that it had.

    8-bit types saturate. JAX computes the gradient with respect to the result in the result's type: for matrix
    products in f8 use `scalify_hlo.nn.linear`, which keeps the gradient in a format of its own.
    """
    return _cast_on_forward(x, np.dtype(dtype))


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def _cast_on_forward(x: Any, dtype: np.dtype[Any]) -> Any:
    return saturating_cast(x, dtype) if _is_narrow(dtype) else x.astype(dtype)


def _cast_fwd(x: Any, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    # A residual must be an array: an empty one carries the type.
    return _cast_on_forward(x, dtype), jnp.zeros((0,), x.dtype)


def _cast_bwd(dtype: np.dtype[Any], residual: Any, gradient: Any) -> tuple[Any]:
    del dtype
    return (gradient.astype(residual.dtype),)


_cast_on_forward.defvjp(_cast_fwd, _cast_bwd)


def cast_on_backward(x: Any, dtype: DTypeLike) -> Any:
    """x; its gradient is rounded to another float type and comes back in the type of x.

    8-bit types saturate. The rounding is protected from XLA, which otherwise may drop a conversion and its inverse.
    """
    return map_on_backward(_round_trip(np.dtype(dtype)), x)


@cache
def _round_trip(dtype: np.dtype[Any]) -> Any:
    def round_trip(x: Any) -> Any:
        narrow = saturating_cast(x, dtype) if _is_narrow(dtype) else x.astype(dtype)
        return jax.lax.optimization_barrier(narrow).astype(x.dtype)

    return round_trip


@custom_scale(name="reduce_precision")
def _reduce_precision(x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    return _reduced(x, exponent_bits, mantissa_bits)


@_reduce_precision.defscale
def _reduce_precision_rule(x: ScaledArray, *, exponent_bits: int, mantissa_bits: int) -> ScaledArray:
    return ScaledArray(_reduced(x.data, exponent_bits, mantissa_bits), x.scale)


def _reduced(x: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """x rounded to an IEEE format of that many bits, saturating instead of becoming infinite."""
    bias = 2 ** (exponent_bits - 1) - 1
    largest = 2.0**bias * (2 - 2.0**-mantissa_bits)
    if largest < float(ml_dtypes.finfo(x.dtype).max):
        x = jnp.clip(x, np.asarray(-largest, x.dtype), np.asarray(largest, x.dtype))
    return jax.lax.reduce_precision(x, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


@cache
def _reduce_to(dtype: np.dtype[Any]) -> Any:
    info = ml_dtypes.finfo(dtype)
    return partial(_reduce_precision, exponent_bits=int(info.nexp), mantissa_bits=int(info.nmant))


def reduce_precision_on_forward(x: Any, dtype: DTypeLike) -> Any:
    """x rounded to the exponent and mantissa bits of another type, in its own type; the derivative is the identity.

    A simulated cast. The exponents are IEEE's, so that values beyond 240 saturate there for float8_e4m3fn.
    """
    return map_on_forward(_reduce_to(np.dtype(dtype)), x)


def reduce_precision_on_backward(x: Any, dtype: DTypeLike) -> Any:
    """x; its gradient is rounded as in `reduce_precision_on_forward`."""
    return map_on_backward(_reduce_to(np.dtype(dtype)), x)
