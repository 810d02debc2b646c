"""Rounding to powers of two, by the bits of f32 numbers: works on numpy and JAX arrays, traced or not."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import enum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import DTypeLike

_EXPONENT = np.int32(0x7F800000)
_HALF = np.int32(0x00400000)  # the mantissa bit worth one half: 1.5 rounds up
_BELOW_ONE = np.int32(0x007FFFFF)

# The exponents that a scale may have: those of the normal f32 numbers.
MIN_EXPONENT, MAX_EXPONENT = -126, 127
SMALLEST_SCALE = np.float32(2.0**MIN_EXPONENT)
LARGEST_SCALE = np.float32(2.0**MAX_EXPONENT)


class Pow2RoundMode(enum.IntEnum):
    """How a scale is rounded to a power of two. STOCHASTIC is a name of jax-scalify without implementation."""

    NONE = 0
    DOWN = 1
    UP = 2
    STOCHASTIC = 3
    NEAREST = 4

    @property
    def option(self) -> str:
        """The value of `ScalifyOptions.rounding` that means the same."""
        return implemented(self).name.lower()


def implemented(mode: Pow2RoundMode) -> Pow2RoundMode:
    """The mode itself. Raises NotImplementedError for STOCHASTIC."""
    if mode is Pow2RoundMode.STOCHASTIC:
        raise NotImplementedError("stochastic rounding of scales is not implemented: use DOWN, NEAREST or UP")
    return mode


def pow2_round(value: Any, mode: Pow2RoundMode = Pow2RoundMode.DOWN) -> Any:
    """|value| rounded to a power of two, in the element type of `value`, any shape.

    DOWN: the largest power of two <= |value|. UP: the smallest >= |value|. NEAREST: by the mantissa, 1.5 and above
    goes up. NONE: |value|. f32 subnormals count as 0, which stays 0; inf stays inf, NaN becomes inf.
    """
    value = value if hasattr(value, "dtype") else np.float32(value)
    if implemented(mode) == Pow2RoundMode.NONE:
        return abs(value)
    xp = np if isinstance(value, (np.ndarray, np.generic)) else jnp
    bits = xp.minimum(_bits(value.astype(np.float32)) & np.int32(0x7FFFFFFF), _EXPONENT)
    if mode == Pow2RoundMode.NEAREST:
        bits = xp.where(bits < _EXPONENT, bits + _HALF, bits)
    elif mode == Pow2RoundMode.UP:
        bits = xp.where(bits < _EXPONENT, bits + _BELOW_ONE, bits)
    return _float(bits & _EXPONENT).astype(value.dtype)


def pow2_round_down(value: Any) -> Any:
    """The largest power of two that is not above |value|."""
    return pow2_round(value, Pow2RoundMode.DOWN)


def pow2_round_up(value: Any) -> Any:
    """The smallest power of two that is not below |value|; infinite above 2^127."""
    return pow2_round(value, Pow2RoundMode.UP)


def pow2_decompose(
    value: Any, scale_dtype: DTypeLike | None = None, mode: Pow2RoundMode = Pow2RoundMode.DOWN
) -> tuple[Any, Any]:
    """(scale, mantissa) with value = scale * mantissa, scale a power of two, elementwise.

    The scale has the element type `scale_dtype` (default: that of `value`), the mantissa that of `value`; with
    mode DOWN its magnitude lies in [1, 2). 0, inf and NaN are their own mantissa, with scale 2^-126 for 0.
    """
    value = value if hasattr(value, "dtype") else np.float32(value)
    scale = clip_scale(pow2_round(value.astype(np.float32), mode))
    mantissa = (value.astype(np.float32) / scale).astype(value.dtype)
    return scale.astype(value.dtype if scale_dtype is None else scale_dtype), mantissa


def clip_scale(scale: Any) -> Any:
    """A f32 scale kept within the powers of two that f32 has as normal numbers, so that 1 / scale is finite."""
    xp: Any = np if isinstance(scale, (np.ndarray, np.generic)) else jnp
    return xp.clip(scale, SMALLEST_SCALE, LARGEST_SCALE)


def _bits(value: Any) -> Any:
    if isinstance(value, (np.ndarray, np.generic)):
        return value.view(np.int32)
    return jax.lax.bitcast_convert_type(value, np.int32)


def _float(bits: Any) -> Any:
    if isinstance(bits, (np.ndarray, np.generic)):
        return bits.view(np.float32)
    return jax.lax.bitcast_convert_type(bits, np.float32)
