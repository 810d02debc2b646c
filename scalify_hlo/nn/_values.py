"""Helpers of the scale rules in this package."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from scalify_hlo.frontend.scaled_array import ScaledArray


def wide_dtype(dtype: Any) -> np.dtype[Any]:
    """The type in which unscaled values are formed: f32, or f64 for f64 data."""
    return np.dtype(np.float64) if dtype == np.float64 else np.dtype(np.float32)


def wide(x: ScaledArray) -> Any:
    """The data of a scaled array in f32 (f64 for f64 data)."""
    return x.data.astype(wide_dtype(x.dtype))


def value(x: ScaledArray) -> Any:
    """data * scale in f32 (f64 for f64 data): for functions that are not homogeneous."""
    data = wide(x)
    return data * x.scale.astype(data.dtype)


def with_scale(x: Any, scale: Any, dtype: Any) -> ScaledArray:
    """x / scale in `dtype`, with that scale: for a value formed in f32. `scale` is a power of two."""
    scale = jnp.asarray(scale, np.float32)
    return ScaledArray((x / scale.astype(x.dtype)).astype(dtype), scale)
