"""Activation functions whose scale is that of their argument (paper, appendix C.1).

relu, gelu and silu are x * g(x) with a gate g between 0 and 1, so that (data * g(data * scale), scale) represents
the result at the scale of the argument. Their slopes are bounded by about 1.1 and get the constant scale 1, so that
gradients keep their scale. Values agree with those of `jax.nn`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from scalify_hlo.frontend.custom_scale import CustomScale, custom_scale
from scalify_hlo.frontend.scaled_array import ScaledArray
from scalify_hlo.nn._values import value, wide_dtype, with_scale

_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
# Beyond, the slopes are 0 and 1 to f32's last digit; the bound keeps x * g'(x) from becoming inf * 0.
_SLOPE_BOUND = 100.0

Elementwise = Callable[[Any], Any]


def _slope_rule(slope: Elementwise, name: str) -> CustomScale:
    """The derivative of an activation as a function with scale 1, computed in f32."""

    def plain(x: Any) -> Any:
        return slope(jnp.clip(x.astype(wide_dtype(x.dtype)), -_SLOPE_BOUND, _SLOPE_BOUND)).astype(x.dtype)

    function = custom_scale(plain, name=f"{name}_slope")

    @function.defscale
    def _(x: ScaledArray) -> ScaledArray:
        bounded = jnp.clip(value(x), -_SLOPE_BOUND, _SLOPE_BOUND)
        return with_scale(slope(bounded), 1.0, x.dtype)

    return function


def _with_slope(function: CustomScale, slope: CustomScale) -> Callable[[Any], Any]:
    """A function of one array whose derivative is a product with `slope`."""
    differentiable = jax.custom_jvp(function)

    @differentiable.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, Any]:
        return differentiable(*primals), tangents[0] * slope(*primals)

    return differentiable


def _gated(plain: Elementwise, gate: Elementwise, slope: Elementwise, name: str) -> Callable[[Any], Any]:
    """x * gate(x) with the scale of x. The gate of an infinite value is 0 or 1, so that overflow does no harm."""
    function = custom_scale(plain, name=name)

    @function.defscale
    def _(x: ScaledArray) -> ScaledArray:
        return ScaledArray(x.data * gate(value(x)).astype(x.dtype), x.scale)

    return _with_slope(function, _slope_rule(slope, name))


# --- relu -------------------------------------------------------------------------------------------------------


@custom_scale(name="relu")
def _relu(x: Any) -> Any:
    return jnp.maximum(x, 0)


@_relu.defscale
def _relu_rule(x: ScaledArray) -> ScaledArray:
    return ScaledArray(jnp.maximum(x.data, 0), x.scale)


_relu_differentiable = jax.custom_jvp(_relu)


@_relu_differentiable.defjvp
def _relu_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (tangent,) = primals, tangents
    return _relu_differentiable(x), jnp.where(x > 0, tangent, jnp.zeros_like(tangent))


def relu(x: Any) -> Any:
    """max(x, 0) of a float array, at the scale of x; derivative 0 at 0."""
    return _relu_differentiable(x)


# --- gelu -------------------------------------------------------------------------------------------------------


def _tanh_of_gelu(x: Any) -> Any:
    return jnp.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x**3))


def _gelu_tanh_slope(x: Any) -> Any:
    t = _tanh_of_gelu(x)
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * _SQRT_2_OVER_PI * (1 + 3 * 0.044715 * x * x)


def _gelu_erf_gate(x: Any) -> Any:
    return 0.5 * jax.lax.erfc(-x * np.sqrt(0.5).astype(x.dtype))


def _gelu_erf_slope(x: Any) -> Any:
    return _gelu_erf_gate(x) + x * jnp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi))


_gelu_tanh = _gated(
    lambda x: jax.nn.gelu(x, approximate=True), lambda x: 0.5 * (1 + _tanh_of_gelu(x)), _gelu_tanh_slope, "gelu_tanh"
)
_gelu_erf = _gated(lambda x: jax.nn.gelu(x, approximate=False), _gelu_erf_gate, _gelu_erf_slope, "gelu")


def gelu(x: Any, approximate: bool = True) -> Any:
    """Gaussian error linear unit of a float array, at the scale of x.

    approximate: by tanh, as `jax.nn.gelu` does by default; otherwise by erf.
    """
    return _gelu_tanh(x) if approximate else _gelu_erf(x)


# --- silu -------------------------------------------------------------------------------------------------------


def _silu_slope(x: Any) -> Any:
    gate = jax.nn.sigmoid(x)
    return gate * (1 + x * (1 - gate))


_silu = _gated(jax.nn.silu, jax.nn.sigmoid, _silu_slope, "silu")


def silu(x: Any) -> Any:
    """x * sigmoid(x) of a float array, at the scale of x; also called swish."""
    return _silu(x)


swish = silu


# --- softplus ---------------------------------------------------------------------------------------------------


@custom_scale(name="softplus")
def _softplus(x: Any) -> Any:
    return jax.nn.softplus(x)


@_softplus.defscale
def _softplus_rule(x: ScaledArray) -> ScaledArray:
    # log(1 + e^x) grows like x but does not vanish with it: log 2 at 0.
    scale = jnp.maximum(x.scale, 1)
    exact = value(x)
    # max(x, 0) / scale first: x itself may be beyond f32.
    positive = jnp.maximum(x.data.astype(exact.dtype) * (x.scale / scale).astype(exact.dtype), 0)
    rest = jnp.log1p(jnp.exp(-jnp.abs(exact))) / scale.astype(exact.dtype)
    return ScaledArray((positive + rest).astype(x.dtype), scale)


_softplus_differentiable = _with_slope(_softplus, _slope_rule(jax.nn.sigmoid, "softplus"))


def softplus(x: Any) -> Any:
    """log(1 + exp(x)) of a float array, at the scale of x or 1, whichever is larger."""
    return _softplus_differentiable(x)
