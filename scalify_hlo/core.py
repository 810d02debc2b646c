"""Types and helpers under the names of `jax_scalify.core`."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Sharding
from numpy.typing import DTypeLike

from scalify_hlo.frontend.config import ScalifyConfig, get_scalify_config
from scalify_hlo.frontend.conversion import as_scaled_array, asarray
from scalify_hlo.frontend.debug import debug_callback
from scalify_hlo.frontend.jax_scalify_names import missing
from scalify_hlo.frontend.powers_of_two import (
    Pow2RoundMode,
    pow2_decompose,
    pow2_round,
    pow2_round_down,
    pow2_round_up,
)
from scalify_hlo.frontend.scaled_array import ScaledArray, is_scaled_leaf, scaled_array
from scalify_hlo.frontend.transform import scalify

__all__ = [
    "Array", "ArrayTypes", "DTypeLike", "Pow2RoundMode", "ScaledArray", "ScalifyConfig", "Shape",
    "Sharding", "as_scaled_array",
    "asarray", "debug_callback", "get_numpy_api", "get_scale_dtype", "get_scalify_config", "is_scaled_leaf",
    "is_static_anyscale", "is_static_one_scalar", "is_static_zero", "make_scaled_scalar", "pow2_decompose",
    "pow2_round", "pow2_round_down", "pow2_round_up", "safe_div", "safe_reciprocal", "scaled_array", "scalify",
]  # fmt: skip

Shape = tuple[int, ...]
ArrayTypes: tuple[Any, ...] = (Array,)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)


def make_scaled_scalar(value: Any, scale_dtype: DTypeLike | None = None) -> ScaledArray:
    """A float number or rank-0 array as a ScaledArray with data in [1, 2). Raises TypeError for other arrays."""
    value = np.float32(value) if isinstance(value, float) and not isinstance(value, np.generic) else value
    if np.ndim(value) != 0 or not jnp.issubdtype(value.dtype, jnp.floating):
        raise TypeError(f"make_scaled_scalar: a float scalar is wanted, not {value.dtype}{list(np.shape(value))}")
    scale, mantissa = pow2_decompose(value, np.float32)
    return ScaledArray(mantissa, scale.astype(np.float32 if scale_dtype is None else scale_dtype))


def get_scale_dtype(value: Any) -> Any:
    """Element type of the scale of a ScaledArray; of any other array, its own."""
    return value.scale.dtype if isinstance(value, ScaledArray) else value.dtype


def get_numpy_api(value: Any) -> Any:
    """The module whose functions belong to an array: `numpy` or `jax.numpy`. TypeError for anything else."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np
    if isinstance(value, jax.Array):
        return jnp
    raise TypeError(f"neither a numpy nor a JAX array: {type(value).__name__}")


def safe_div(a: Any, b: Any) -> Any:
    """a / b of scalars, 0 where b is 0."""
    return _elementwise(a, b, lambda xp: xp.where(b == 0, 0, a / xp.where(b == 0, 1, b)).astype(b.dtype))


def safe_reciprocal(value: Any) -> Any:
    """1 / value of a scalar, 0 where it is 0."""
    return safe_div(np.ones((), value.dtype), value)


def _elementwise(a: Any, b: Any, function: Any) -> Any:
    return function(np if all(isinstance(v, (np.ndarray, np.generic)) for v in (a, b)) else jnp)


def is_static_zero(value: Any) -> Any:
    """For each element, whether it is known now, even while tracing, to be 0."""
    return _static(value, lambda x: np.equal(x, 0))


def is_static_anyscale(value: Any) -> Any:
    """For each element, whether it is known now to be 0 or infinite, so that any scale fits it."""
    return _static(value, lambda x: np.equal(x, 0) | np.isinf(x))


def is_static_one_scalar(value: Any) -> bool:
    """Whether a value is known now to be the single number 1."""
    if isinstance(value, ScaledArray):
        return value.size == 1 and is_static_one_scalar(value.data) and is_static_one_scalar(value.scale)
    if isinstance(value, (int, float)):
        return value == 1
    return _is_static(value) and np.size(value) == 1 and bool(np.all(np.equal(value, 1)))


def _is_static(value: Any) -> bool:
    return isinstance(value, np.ndarray) or np.isscalar(value)


def _static(value: Any, test: Any) -> Any:
    """A test of numpy values, false for each element of arrays whose values are not at hand."""
    if isinstance(value, ScaledArray):
        return np.logical_or(_static(value.data, test), _static(value.scale, test))
    return test(value) if _is_static(value) else np.zeros(np.shape(value), np.bool_)
