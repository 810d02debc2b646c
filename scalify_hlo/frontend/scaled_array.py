"""ScaledArray: an array X carried as the pair (data, scale) with X = data * scale (paper, Algorithm 2)."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from typing import Any

import jax
import jax.core
import jax.export
import jax.numpy as jnp
import numpy as np
from numpy.typing import DTypeLike

from scalify_hlo.frontend.array_methods import ArrayMethods
from scalify_hlo.frontend.tree_maps import TREE_MAP, scale_after_tree_map
from scalify_hlo.types import is_scale_shape

# The type of run-time scales. E8M0 (`jnp.float8_e8m0fnu`) is accepted at the boundaries, f16 never: its range is
# too small for a scale.
SCALE_DTYPE = np.dtype(np.float32)
_LARGEST = float(np.finfo(SCALE_DTYPE).max)

_new = object.__new__
_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class _Unfrozen(ArrayMethods):
    """A ScaledArray while it is built by `_from_children`: assignment is five times as fast without `frozen`."""

    __slots__ = ("__weakref__", "data", "scale")


@dataclasses.dataclass(frozen=True, eq=False, repr=False, init=False)
class ScaledArray(_Unfrozen):
    """An array X = data * scale; a pytree node with the children `data` and `scale`.

    data: floating-point array, numpy or JAX; has the shape and element type of X.
    scale: f32 (or f8E8M0FNU) array of rank 0, or of the rank of `data` with every dimension 1 or full. What
        `jax.vmap` returns, or `jnp.stack` makes of several ScaledArrays, has a scale of the leading dimensions of
        `data`: one for each member of the batch.

    The constructor checks nothing, because JAX also builds trees of things that are not arrays; `scaled_array`
    checks. Numbers (`float`, `item`), indexing, operators and the usual methods go by the meaning data * scale, each as
    one call of `scalify`; functions of scaled arrays are made by `scalify` itself.
    """

    __slots__ = ()

    data: Any
    scale: Any

    def __init__(self, data: Any, scale: Any):
        object.__setattr__(self, "data", data)
        object.__setattr__(self, "scale", scale)

    def __reduce__(self) -> tuple[Any, ...]:
        return ScaledArray, (self.data, self.scale)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of X."""
        return np.shape(self.data)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type of X: that of `data`."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions of X."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements of X."""
        return self.data.size

    @property
    def nbytes(self) -> int:
        """Bytes of data and scale together."""
        return self.data.nbytes + self.scale.nbytes

    @property
    def aval(self) -> jax.ShapeDtypeStruct:
        """Shape and element type of X."""
        return jax.ShapeDtypeStruct(self.shape, self.dtype)

    def to_array(self, dtype: DTypeLike | None = None) -> Any:
        """X itself: data * scale, formed in at least f32 and converted to `dtype` (default: that of `data`).

        Values out of the range of `dtype` become infinite or zero; ask for a wider one to see them.
        """
        target = np.dtype(self.data.dtype if dtype is None else dtype)
        wide = np.dtype(np.float64) if np.float64 in (self.data.dtype, target) else np.dtype(np.float32)
        return (self.data.astype(wide) * self.broadcast_scale.astype(wide)).astype(target)

    @property
    def broadcast_scale(self) -> Any:
        """The scale with rank 0 or the rank of `data`; of a batch with one scale each, see `ScaledArray`."""
        return broadcast_scale(self.data, self.scale)

    def astype(self, dtype: DTypeLike) -> ScaledArray:
        """The same array with `data` converted to `dtype`; the scale is kept."""
        return ScaledArray(self.data.astype(dtype), self.scale)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a ScaledArray has to be multiplied out: np.asarray(x, copy=False) is impossible")
        return np.asarray(ScaledArray(np.asarray(self.data), np.asarray(self.scale)).to_array(dtype))

    def __repr__(self) -> str:
        return f"ScaledArray(data={_describe(self.data)}, scale={_describe(self.scale)})"


def _describe(value: Any) -> str:
    """A short text for one component: small arrays with their values, others by type and shape."""
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        return repr(value)
    name = f"{np.dtype(value.dtype).name}[{','.join(map(str, value.shape))}]"
    if isinstance(value, (jax.core.Tracer, jax.ShapeDtypeStruct)) or np.size(value) > 8:
        return name
    return f"{name} {np.asarray(value).tolist()}"


_DATA, _SCALE = jax.tree_util.GetAttrKey("data"), jax.tree_util.GetAttrKey("scale")


def _children(x: ScaledArray) -> tuple[tuple[Any, Any], None]:
    return (x.data, x.scale), None


def _children_with_keys(x: ScaledArray) -> tuple[tuple[tuple[Any, Any], tuple[Any, Any]], None]:
    return ((_DATA, x.data), (_SCALE, x.scale)), None


def _from_children(aux_data: Any, children: Iterable[Any]) -> ScaledArray:
    """A ScaledArray of a tree. One is built for each result of each call, so every step of this is weighed."""
    del aux_data
    built: Any = _new(_Unfrozen)
    built.data, built.scale = children
    frame = _getframe(1)
    if frame.f_code is TREE_MAP:
        built.scale = scale_after_tree_map(frame, ScaledArray, built.data, built.scale)
    built.__class__ = ScaledArray
    return built


jax.tree_util.register_pytree_with_keys(ScaledArray, _children_with_keys, _from_children, _children)
# So that functions of scaled arrays can be saved by `jax.export`; the name is part of the file format.
jax.export.register_pytree_node_serialization(
    ScaledArray,
    serialized_name="scalify_hlo.ScaledArray",
    serialize_auxdata=lambda _: b"",
    deserialize_auxdata=lambda _: (),
    from_children=_from_children,
)


def is_scaled(value: Any) -> bool:
    """Whether `value` is a ScaledArray: the `is_leaf` of tree functions that treat one as a leaf."""
    return isinstance(value, ScaledArray)


def is_scaled_leaf(value: Any) -> bool:
    """Whether `value` is a ScaledArray, an array or a number (the same question as in jax-scalify)."""
    return np.isscalar(value) or isinstance(value, (ScaledArray, jax.Array, np.ndarray))


def scaled_array(data: Any, scale: Any, dtype: Any = None, npapi: Any = None) -> ScaledArray:
    """The ScaledArray of the given data and scale, both as they are.

    data: array or nested sequence; converted to `dtype` if given. Integers become f32.
    scale: number or array, of rank 0 or of the rank of `data` with each dimension 1 or full. Becomes f32,
        unless it is an f8E8M0FNU array.
    npapi: `numpy` or `jax.numpy`, what to make the arrays with; by default numpy inputs stay numpy, and others become
        JAX arrays.
    Raises TypeError for data that are not floating point, ValueError for a scale that
    does not broadcast to the data, or that is a number and not positive and finite.
    """
    xp = npapi or (np if all(isinstance(v, (np.ndarray, np.generic)) for v in (data, scale)) else jnp)
    data = xp.asarray(data, dtype=dtype)
    if jnp.issubdtype(data.dtype, jnp.integer):
        data = data.astype(np.float32)
    if not jnp.issubdtype(data.dtype, jnp.floating):
        raise TypeError(f"scaled_array: the data must be floating point, not {data.dtype}")
    if isinstance(scale, (int, float)):
        if not 0 < scale <= _LARGEST or np.float32(scale) == 0:
            raise ValueError(f"scaled_array: a scale is a positive finite number of f32, not {scale}")
        scale = float(scale)
    scale = xp.asarray(scale)
    if scale.dtype != jnp.float8_e8m0fnu:
        scale = scale.astype(SCALE_DTYPE)
    check_scale_shape(data.shape, scale.shape)
    return ScaledArray(data, scale)


def broadcast_scale(data: Any, scale: Any) -> Any:
    """A scale that broadcasts to the data; one of the leading dimensions of `data` only gets the other dimensions."""
    shape = np.shape(scale)
    if not 0 < len(shape) < np.ndim(data) or shape != np.shape(data)[: len(shape)]:
        return scale
    return scale.reshape(*shape, *[1] * (np.ndim(data) - len(shape)))


def check_scale_shape(data_shape: tuple[int, ...], scale_shape: tuple[int, ...]) -> None:
    """Raises ValueError unless a scale of `scale_shape` can belong to data of `data_shape`."""
    if not is_scale_shape(scale_shape, data_shape):
        raise ValueError(
            f"a scale of shape {scale_shape} does not belong to data of shape {data_shape}: give it rank 0, or the "
            "rank of the data with every dimension 1 or full"
        )
