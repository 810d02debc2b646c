"""From arrays to scaled arrays and back, for single arrays and for trees of them."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import DTypeLike

from scalify_hlo.frontend.integrations import tell_loaded_libraries
from scalify_hlo.frontend.powers_of_two import MAX_EXPONENT, clip_scale, pow2_round
from scalify_hlo.frontend.scaled_array import SCALE_DTYPE, ScaledArray, check_scale_shape, is_scaled
from scalify_hlo.frontend.splitting import divide_exactly, is_float_array, is_float_type, split
from scalify_hlo.frontend.statistics import Statistic
from scalify_hlo.frontend.tied_variables import map_leaves


def as_scaled_array(
    tree: Any, scale: Any = None, *, statistic: Statistic = "rms", scale_dtype: DTypeLike = SCALE_DTYPE
) -> Any:
    """Every float array of a tree as a ScaledArray of the same value; all other leaves as they are.

    scale: a positive number or array, the same for every leaf, rounded down to a power of two so that dividing by
        it is exact. None, the default, takes the scale of each leaf from its own elements: their root mean square
        (or other `statistic`: "l1" mean magnitude, "max" largest magnitude), rounded down to a power of two. That
        gives data of unit second moment, where f16 and f8 are most precise (paper, section 2).
    scale_dtype: f32, or f8E8M0FNU.

    A leaf of zeros gets the smallest scale, 2^-126, so that it never decides the scale of a sum; one with infinite
    or NaN elements gets scale 1. Elements of 2^126 and more stand for infinity (`jnp.finfo(jnp.float32).min` in a mask)
    and do not count; the scale beside them is 1 at least. Numbers of type `float` become f32 scaled scalars with data
    in [1, 2); integers, booleans, keys and existing ScaledArrays stay. numpy arrays stay numpy arrays. Works under
    `jax.jit`.
    Raises ValueError for a scale that is not positive and finite or does not broadcast to a leaf.
    """
    tell_loaded_libraries()
    if isinstance(scale, int):
        scale = float(min(scale, 2**MAX_EXPONENT))  # as of floats, the largest there is
    if isinstance(scale, (float, np.generic, np.ndarray)):
        if not np.all((np.asarray(scale) > 0) & np.isfinite(scale)):
            raise ValueError(f"as_scaled_array: a scale is a positive finite number, not {scale}")
        scale = clip_scale(pow2_round(np.asarray(scale, SCALE_DTYPE)))
    elif scale is not None:
        scale = clip_scale(pow2_round(jnp.asarray(scale, SCALE_DTYPE)))
    convert = functools.partial(_leaf, scale=scale, statistic=statistic, scale_dtype=np.dtype(scale_dtype))
    return map_leaves(convert, tree, is_scaled)


def _leaf(value: Any, scale: Any, statistic: Statistic, scale_dtype: np.dtype[Any]) -> Any:
    if isinstance(value, float) and not isinstance(value, np.generic):
        value = np.float32(value)
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, jax.ShapeDtypeStruct) and is_float_type(value.dtype):
        return ScaledArray(value, _shape_of_scale(value, scale, scale_dtype))
    if not is_float_array(value):
        return value
    if scale is None:
        return split(value, statistic, scale_dtype)
    check_scale_shape(value.shape, scale.shape)
    return ScaledArray(divide_exactly(value, scale), scale.astype(scale_dtype))


def _shape_of_scale(value: jax.ShapeDtypeStruct, scale: Any, scale_dtype: np.dtype[Any]) -> jax.ShapeDtypeStruct:
    """What a scale of an array of this shape is: on all devices that have a part of the array."""
    sharding: Any = value.sharding
    if isinstance(sharding, jax.sharding.NamedSharding):
        sharding = jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())
    return jax.ShapeDtypeStruct(np.shape(scale) if scale is not None else (), scale_dtype, sharding=sharding)


def asarray(tree: Any, dtype: Any = None) -> Any:
    """Every ScaledArray of a tree multiplied out, every other array leaf as an array; converted to `dtype` if given.

    Random keys and what is neither an array nor a number are what they were, and so are the integers and booleans in a
    container where `dtype` is a type of floats: the counters of a training state. Complex numbers in it stay complex.
    The product is formed in at least f32 before it is converted, see `ScaledArray.to_array`.
    """
    is_state = not jax.tree_util.all_leaves([tree], is_leaf=is_scaled)
    to_float = dtype is not None and jnp.issubdtype(dtype, np.inexact)
    convert = functools.partial(_as_array, dtype=dtype, floats=is_state and to_float)
    return map_leaves(convert, tree, is_scaled)


def _as_array(value: Any, dtype: Any, floats: bool) -> Any:
    """floats: convert floats alone."""
    if isinstance(value, ScaledArray):
        return value.to_array(dtype)
    if not isinstance(value, (jax.Array, np.ndarray)):
        if not isinstance(value, (int, float, complex, np.generic)):
            return value
        value = np.asarray(value)
    if dtype is None or jnp.issubdtype(value.dtype, jax.dtypes.extended):
        return value
    if floats and not jnp.issubdtype(value.dtype, np.inexact):
        return value
    if floats and jnp.issubdtype(value.dtype, np.complexfloating):
        dtype = jnp.promote_types(dtype, np.complex64)
    return value.astype(dtype)
