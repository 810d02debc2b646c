"""Layer norm and RMS norm: the data are normalised, the result has scale 1 (paper, appendix C.2).

x / std(x) does not depend on the scale of x, except through epsilon. The paper leaves epsilon out of the scaling,
which normalises arrays of any magnitude to 1; `epsilon_in="data"` does that. The default divides it by scale^2 and so
computes the function that was written.
"""

from __future__ import annotations

import functools
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.frontend.custom_scale import custom_scale
from scalify_hlo.frontend.powers_of_two import clip_scale
from scalify_hlo.frontend.rescaling import GRADIENT_RESCALING, GradientRescaling
from scalify_hlo.frontend.scaled_array import ScaledArray
from scalify_hlo.nn._values import wide, wide_dtype, with_scale

EpsilonIn = Literal["value", "data"]


def _statistics(x: Any, axis: int, centered: bool, epsilon: Any) -> tuple[Any, Any]:
    """(normalised x, 1 / deviation), the latter with the axis kept at size 1."""
    if centered:
        x = x - jnp.mean(x, axis, keepdims=True)
    inverse = jax.lax.rsqrt(jnp.mean(x * x, axis, keepdims=True) + epsilon)
    return x * inverse, inverse


@custom_scale(name="normalize")
def _normalize(x: Any, *, axis: int, centered: bool, epsilon: float, epsilon_in: EpsilonIn) -> tuple[Any, Any]:
    del epsilon_in
    normalized, inverse = _statistics(x.astype(wide_dtype(x.dtype)), axis, centered, epsilon)
    return normalized.astype(x.dtype), inverse


@_normalize.defscale
def _normalize_rule(
    x: ScaledArray, *, axis: int, centered: bool, epsilon: float, epsilon_in: EpsilonIn
) -> tuple[ScaledArray, ScaledArray]:
    data = wide(x)
    scale = x.scale.astype(data.dtype)
    small = epsilon if epsilon_in == "data" else epsilon / scale / scale
    normalized, inverse = _statistics(data, axis, centered, small)
    # 1 / deviation of the value is (1 / deviation of the data) / scale.
    inverse_scale = clip_scale(1 / x.scale)
    inverse_data = inverse / (scale * inverse_scale.astype(data.dtype))
    return with_scale(normalized, 1.0, x.dtype), ScaledArray(inverse_data, inverse_scale)


@functools.cache
def _normalize_along(axis: int, centered: bool, epsilon: float, epsilon_in: EpsilonIn) -> Any:
    @jax.custom_jvp
    def function(x: Any) -> tuple[Any, Any]:
        return _normalize(x, axis=axis, centered=centered, epsilon=epsilon, epsilon_in=epsilon_in)

    @function.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        (x,), (tangent,) = primals, tangents
        normalized, inverse = function(x)
        # With n = c r, r = 1 / sqrt(mean(c^2) + epsilon): dn = r (dc - n mean(n dc)), dr = -r^2 mean(n dc).
        n, t = normalized.astype(inverse.dtype), tangent.astype(inverse.dtype)
        if centered:
            t = t - jnp.mean(t, axis, keepdims=True)
        along = jnp.mean(n * t, axis, keepdims=True)
        return (normalized, inverse), ((inverse * (t - n * along)).astype(tangent.dtype), -inverse * inverse * along)

    return function


def layer_norm(
    x: Any,
    weight: Any = None,
    bias: Any = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    epsilon_in: EpsilonIn = "value",
    rescale_gradient: GradientRescaling | None = None,
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias along an axis; statistics in f32.

    weight, bias: of the size of the axis, or None.
    epsilon_in: "value" for the function as written, "data" for the paper's approximation (see the module).
    rescale_gradient: "l1", "l2" or "max" rescales the gradient of x dynamically on its way back, as the paper's
        custom LayerNorm does (Algorithm 6).
    """
    return _norm(x, weight, bias, axis, True, epsilon, epsilon_in, rescale_gradient)


def rms_norm(
    x: Any,
    weight: Any = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-6,
    epsilon_in: EpsilonIn = "value",
    rescale_gradient: GradientRescaling | None = None,
) -> Any:
    """x / sqrt(mean(x^2) + epsilon) * weight along an axis; statistics in f32. Arguments as in `layer_norm`."""
    return _norm(x, weight, None, axis, False, epsilon, epsilon_in, rescale_gradient)


def _norm(x: Any, weight: Any, bias: Any, axis: int, centered: bool, epsilon: float, epsilon_in: EpsilonIn,
          rescale_gradient: GradientRescaling | None) -> Any:  # fmt: skip
    if rescale_gradient is not None:
        x = GRADIENT_RESCALING[rescale_gradient](x)
    y, _ = _normalize_along(axis, centered, epsilon, epsilon_in)(x)
    if weight is not None:
        y = y * _along(weight, y.ndim, axis)
    if bias is not None:
        y = y + _along(bias, y.ndim, axis)
    return y


def _along(vector: Any, rank: int, axis: int) -> Any:
    shape = np.ones(rank, int)
    shape[axis] = -1
    return vector.reshape(shape)
