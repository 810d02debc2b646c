"""The scaling primitives: change or read the split of an array into data and scale (paper, section 3.1).

Inside a function transformed by `scalify` (or a module rewritten by `scalify-opt`) they act on the pair
(data, scale). Everywhere else they are no-ops, so that a model that uses them keeps its meaning, on any backend.
Called with ScaledArrays, outside of any transform, they act on those. They can be differentiated, batched and
exported; under `jax.vmap` a batch of arrays shares one scale.

Their value is the same with and without the transform, except for `get_data_and_scale`, which is there to tell the
two apart.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from numpy.typing import DTypeLike

from scalify_hlo.frontend.composite import composite
from scalify_hlo.frontend.powers_of_two import SMALLEST_SCALE, clip_scale
from scalify_hlo.frontend.scaled_array import SCALE_DTYPE, ScaledArray, check_scale_shape
from scalify_hlo.frontend.splitting import divide_exactly, is_float_array


def set_scaling(x: Any, scale: Any) -> Any:
    """`x` with the given scale: the data are divided by it, the value stays (paper, section 3.1).

    x: float array; inside the transform it becomes scaled if it was not. Or a ScaledArray.
    scale: f32 number or array of rank 0, or of the rank of x with each dimension 1 or full. A power of two keeps
        the data exact. 0 counts as the smallest scale, 2^-126, that of a tensor of zeros.
    No-op outside the transform. The derivative is the identity. Raises ValueError for a scale that does not
    broadcast to x, or that is a number and negative, infinite or NaN; TypeError for x that is not floating point.
    """
    if isinstance(scale, (int, float)) and not 0 <= scale < float("inf"):
        raise ValueError(f"set_scaling: a scale is a positive finite number, not {scale}")
    if isinstance(x, ScaledArray):
        scale = _not_zero(_scale_like(scale))
        check_scale_shape(x.shape, scale.shape)
        return ScaledArray(_rescale_data(x.data, x.broadcast_scale, scale), scale)
    x = _float_array(x, "set_scaling")
    scale = jnp.asarray(scale, SCALE_DTYPE)
    check_scale_shape(x.shape, scale.shape)
    return _set_scaling(x, scale)


def get_data_and_scale(x: Any) -> tuple[Any, Any]:
    """(data, scale) of an array: plain arrays with x = data * scale (paper, section 3.1).

    Outside the transform, and for an array that carries no scale, (x, 1). The scale is f32. In derivatives the
    scale counts as a constant: d(data) = dx / scale.
    """
    if isinstance(x, ScaledArray):
        return x.data, x.broadcast_scale
    return _get_data_and_scale(_float_array(x, "get_data_and_scale"))


def get_data(x: Any) -> Any:
    """The data of an array without its scale: the first of `get_data_and_scale`."""
    return get_data_and_scale(x)[0]


def stop_scaling(x: Any, dtype: DTypeLike | None = None) -> Any:
    """`x` as a plain array, data * scale, converted to `dtype` (default: its own). No-op outside the transform.

    What is computed from the result alone is not scaled. Out of the range of `dtype` the values become infinite
    or zero: give a wide one for values far from 1.
    """
    if isinstance(x, ScaledArray):
        return x.to_array(dtype)
    x = _float_array(x, "stop_scaling")
    # Converted first, scaled still: the product data * scale is then formed in the wider type.
    return _stop_scaling(x if dtype is None else x.astype(dtype))


def rebalance_scale(x: Any, factor: Any) -> Any:
    """`x` with its scale multiplied by `factor` and its data divided by it: set_scaling relative to the present.

    factor: positive f32 number or array of rank 0 (or broadcastable to x); a power of two keeps the data exact.
    The new scale is kept within [2^-126, 2^127]. No-op outside the transform (paper, Algorithm 5).
    """
    _, scale = get_data_and_scale(x)
    xp = np if isinstance(scale, (np.ndarray, np.generic)) and isinstance(factor, (float, int, np.generic)) else jnp
    scale = scale.astype(SCALE_DTYPE) * xp.asarray(factor, SCALE_DTYPE)
    return set_scaling(x, clip_scale(scale))


def _float_array(x: Any, name: str) -> Any:
    if not is_float_array(x):
        x = jnp.asarray(x)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        raise TypeError(f"{name}: only floating-point arrays carry a scale, not {x.dtype}{list(x.shape)}")
    return x


def _scale_like(scale: Any) -> Any:
    """A scale given for a ScaledArray: numpy stays numpy."""
    if isinstance(scale, (int, float, np.generic, np.ndarray)):
        return np.asarray(scale, SCALE_DTYPE)
    return jnp.asarray(scale, SCALE_DTYPE)


def _not_zero(scale: Any) -> Any:
    """No scale is 0: that of zeros is the smallest, so that nothing divides by it."""
    xp: Any = np if isinstance(scale, np.ndarray) else jnp
    return xp.where(scale == 0, SMALLEST_SCALE, scale)


def _rescale_data(data: Any, old: Any, new: Any) -> Any:
    """data * (old / new); a zero scale does not divide."""
    xp = np if all(isinstance(v, np.ndarray) for v in (data, old, new)) else jnp
    ratio = old.astype(SCALE_DTYPE) / xp.maximum(new, SMALLEST_SCALE)
    wide = np.float64 if data.dtype == np.float64 else np.float32
    return (data.astype(wide) * ratio.astype(wide)).astype(data.dtype)


# --- composites -------------------------------------------------------------------------------------------------
# One shape of code for each: the composite, batched so that scales stay free of the batch, with its derivative.


def _identity_of_x(x: Any, scale: Any) -> list[Any]:
    del scale
    return [x]


def _with_unit_scale(x: Any) -> list[Any]:
    return [x, jnp.ones((), SCALE_DTYPE)]


def _identity(x: Any) -> list[Any]:
    return [x]


_identity_of_x_jit, _with_unit_scale_jit, _identity_jit = (
    jax.jit(f) for f in (_identity_of_x, _with_unit_scale, _identity)
)


@custom_vmap
def _set_scaling_call(x: Any, scale: Any) -> Any:
    return composite(_identity_of_x_jit, "scalify.set_scaling", x, scale)[0]


@_set_scaling_call.def_vmap
def _set_scaling_vmap(axis_size: int, in_batched: list[bool], x: Any, scale: Any) -> tuple[Any, bool]:
    """A batch shares one scale, the largest of its members' (a common scale per element if scales are not rank 0)."""
    x_batched, scale_batched = in_batched
    if not x_batched:
        x = jnp.broadcast_to(x, (axis_size, *x.shape))
    if scale_batched:
        scale = jnp.max(scale, axis=0)
    if scale.ndim:
        scale = scale[None]
    return _set_scaling_call(x, scale), True


@jax.custom_jvp
def _set_scaling(x: Any, scale: Any) -> Any:
    return _set_scaling_call(x, scale)


@_set_scaling.defjvp
def _set_scaling_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    return _set_scaling(*primals), tangents[0]


@custom_vmap
def _get_data_and_scale_call(x: Any) -> tuple[Any, Any]:
    data, scale = composite(_with_unit_scale_jit, "scalify.get_data_and_scale", x)
    return data, scale


@_get_data_and_scale_call.def_vmap
def _get_data_and_scale_vmap(axis_size: int, in_batched: list[bool], x: Any) -> tuple[Any, Any]:
    """The scale of the batch is the scale of each member."""
    del axis_size, in_batched
    return _get_data_and_scale_call(x), (True, False)


@jax.custom_jvp
def _get_data_and_scale(x: Any) -> tuple[Any, Any]:
    return _get_data_and_scale_call(x)


@_get_data_and_scale.defjvp
def _get_data_and_scale_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    data, scale = _get_data_and_scale(*primals)
    tangent = divide_exactly(tangents[0], scale) if tangents[0].dtype == data.dtype else tangents[0]
    return (data, scale), (tangent, jnp.zeros_like(scale))


@custom_vmap
def _stop_scaling_call(x: Any) -> Any:
    return composite(_identity_jit, "scalify.stop_scaling", x)[0]


@_stop_scaling_call.def_vmap
def _stop_scaling_vmap(axis_size: int, in_batched: list[bool], x: Any) -> tuple[Any, bool]:
    del axis_size
    return _stop_scaling_call(x), in_batched[0]


@jax.custom_jvp
def _stop_scaling(x: Any) -> Any:
    return _stop_scaling_call(x)


@_stop_scaling.defjvp
def _stop_scaling_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    return _stop_scaling(*primals), tangents[0]
