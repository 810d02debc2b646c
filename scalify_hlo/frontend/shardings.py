"""Shardings of scaled arrays: a tree of shardings written for plain arrays, as one for trees with ScaledArrays."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from scalify_hlo.frontend.scaled_array import ScaledArray, check_scale_shape, is_scaled


def scaled_shardings(shardings: Any, like: Any) -> Any:
    """The shardings of a tree in which some leaves are ScaledArrays.

    shardings: a tree of `NamedSharding`, `PartitionSpec` or other shardings, or None, written for the plain arrays; it
        may be a prefix of `like`, as for `jax.jit`.
    like: a tree of arrays or `jax.ShapeDtypeStruct`, ScaledArray leaves included.

    Returns a tree of the structure of `like`, with ScaledArray(sharding of the data, sharding of the scale) for each
    ScaledArray: the scale is sharded along the dimensions in which it has as many numbers as the data, and replicated
    along all others; one of rank 0 is replicated. What it returns is meant for `jax.device_put`, the `in_shardings` and
    `out_shardings` of `jax.jit`, and `jax.lax.with_sharding_constraint`. Raises ValueError where `shardings` is no
    prefix of `like`, a leaf of it no sharding, or a scale does not belong to its data, with the path of the first such
    leaf.
    """
    _check_fits("shardings", shardings, like)
    for path, leaf in jax.tree_util.tree_leaves_with_path(like, is_leaf=is_scaled):
        if is_scaled(leaf):
            try:
                check_scale_shape(np.shape(leaf.data), np.shape(leaf.scale))
            except ValueError as error:
                raise ValueError(f"scalify: shardings: {jax.tree_util.keystr(path)}: {error}") from None
    return jax.tree.map(
        lambda sharding, part: jax.tree.map(lambda leaf: _of_leaf(sharding, leaf), part, is_leaf=is_scaled),
        shardings, like, is_leaf=_is_sharding,
    )  # fmt: skip


class ShardedFunction:
    """`jax.jit` with shardings written for plain arrays: compiled once for each structure of the arguments."""

    def __init__(self, fun: Callable[..., Any], jit_arguments: dict[str, Any], in_shardings: Any, out_shardings: Any):
        self.__wrapped__ = fun
        self._jit_arguments = jit_arguments
        self._in_shardings = in_shardings
        self._out_shardings = out_shardings
        self._by_structure: dict[Any, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if jax.sharding.get_abstract_mesh().manual_axes:
            return self.__wrapped__(*args, **kwargs)  # in shard_map, which has cut the arguments already
        jitted = self._jitted(args, kwargs)
        try:
            return jitted(*args, **kwargs)
        except ValueError:
            if self._in_shardings is not None:
                _check_devices(scaled_shardings(self._in_shardings, args), args)
            raise

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """As of a `jax.jit` function."""
        return self._jitted(args, kwargs).lower(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """As of a `jax.jit` function."""
        return self._jitted(args, kwargs).trace(*args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """As of a `jax.jit` function."""
        return self._jitted(args, kwargs).eval_shape(*args, **kwargs)

    def _jitted(self, args: Any, kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        key = tree, tuple(np.shape(leaf) for leaf in leaves)
        if key not in self._by_structure:
            given = dict(self._jit_arguments)
            plain = jax.jit(self.__wrapped__, **given)
            if self._in_shardings is not None:
                _check_fits("in_shardings", self._in_shardings, args)
                given["in_shardings"] = scaled_shardings(self._in_shardings, args)
            if self._out_shardings is not None:
                results = plain.eval_shape(*args, **kwargs)
                _check_fits("out_shardings", self._out_shardings, results)
                given["out_shardings"] = scaled_shardings(self._out_shardings, results)
            self._by_structure[key] = jax.jit(self.__wrapped__, **given)
        return self._by_structure[key]


def _check_fits(what: str, shardings: Any, like: Any) -> None:
    """Raises ValueError, in one line, where a tree of shardings is no prefix of a tree of arrays."""
    given = jax.tree_util.tree_leaves_with_path(shardings, is_leaf=lambda x: _is_sharding(x) or is_scaled(x))
    for path, sharding in given:
        if not (_is_sharding(sharding) or is_scaled(sharding)):
            where = jax.tree_util.keystr(path)
            raise ValueError(f"scalify: {what}{where}: {sharding!r:.60} is no sharding: give NamedSharding or None")
    paths = [path for path, _ in given]
    arrays = [path for path, _ in jax.tree_util.tree_leaves_with_path(like, is_leaf=_is_array)]
    for path in paths:
        if arrays and not any(array[: len(path)] == path for array in arrays):
            where = jax.tree_util.keystr(path)
            raise ValueError(f"scalify: {what}{where}: there is no such array: {_known(arrays)}")
    for array in arrays:
        if not any(array[: len(path)] == path for path in paths):
            where = jax.tree_util.keystr(array)
            raise ValueError(f"scalify: {what}: nothing for the array at {where}: {_known(paths)}")


def _check_devices(shardings: Any, arguments: Any) -> None:
    """Raises ValueError, in one line, where an array lies on other devices than its sharding says."""

    def check(path: Any, array: Any, sharding: Any) -> None:
        where = jax.tree_util.keystr(path)
        if isinstance(sharding, NamedSharding) and isinstance(array, jax.Array) and array.committed:
            wanted, own = sharding.device_set, array.sharding.device_set
            if wanted != own:
                devices = f"on {len(own)} devices" if len(own) != len(wanted) else "on other devices"
                raise ValueError(
                    f"scalify: in_shardings{where}: the mesh has {len(wanted)} devices, and the array lies {devices}: "
                    "move it with jax.device_put, or give its own mesh"
                ) from None

    jax.tree_util.tree_map_with_path(check, arguments, shardings)


def _known(paths: list[Any]) -> str:
    names = [jax.tree_util.keystr(path) for path in paths]
    return f"known are {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}"


def _is_array(x: Any) -> bool:
    return x is None or is_scaled(x)


def _is_sharding(x: Any) -> bool:
    return x is None or isinstance(x, jax.sharding.Sharding | PartitionSpec)


def _of_leaf(sharding: Any, leaf: Any) -> Any:
    return ScaledArray(sharding, _of_scale(sharding, leaf)) if is_scaled(leaf) else sharding


def _of_scale(sharding: Any, leaf: Any) -> Any:
    if isinstance(sharding, NamedSharding):
        spec = _spec(sharding.spec, leaf)
        return NamedSharding(sharding.mesh, spec, memory_kind=sharding.memory_kind)
    return _spec(sharding, leaf) if isinstance(sharding, PartitionSpec) else sharding


def _spec(spec: PartitionSpec, leaf: Any) -> PartitionSpec:
    data, scale = np.shape(leaf.data), np.shape(leaf.scale)
    if not scale:
        return PartitionSpec()
    axes = [*spec, *[None] * (len(data) - len(spec))]
    if len(axes) > len(data):
        return spec  # too long: JAX says so of the data
    return PartitionSpec(*(a if n == m else None for a, n, m in zip(axes, scale, data, strict=True)))
