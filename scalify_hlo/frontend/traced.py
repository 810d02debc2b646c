"""A call of a function, traced on plain arrays: what `scalify` rewrites, with a name for each leaf of its arguments."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.api_util
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.interpreters.partial_eval import dce_jaxpr

from scalify_hlo.bindings import gives_no_places
from scalify_hlo.frontend.dependence import forwarded_inputs, is_float
from scalify_hlo.frontend.scaled_array import ScaledArray, check_scale_shape, is_scaled
from scalify_hlo.frontend.state_pairs import state_pairs
from scalify_hlo.frontend.stateful import made_pure
from scalify_hlo.frontend.static_leaves import is_static, wrapped
from scalify_hlo.frontend.stored_types import stored_types
from scalify_hlo.frontend.tracing import tracing_scalified
from scalify_hlo.frontend.updated_objects import check_unchanged
from scalify_hlo.precision import PrecisionPolicy

# Of `scalify(composite)` no line of the user's is on the stack but that of the call.
gives_no_places(os.path.dirname(__file__))


@dataclasses.dataclass(frozen=True)
class Traced:
    """A call of a function: its leaves, and what it computes from those that are arrays.

    leaves, tree, names: of the arguments. dynamic: the indices of the leaves that are arrays; all others are static.
    jaxpr: of the arrays closed over, then of the dynamic leaves' data. out_tree: of its results.
    """

    leaves: list[Any]
    tree: Any
    names: list[str]
    dynamic: list[int]
    closed_over: list[Any]
    jaxpr: Any
    out_tree: Any

    @property
    def input_names(self) -> tuple[str, ...]:
        return (*[""] * len(self.closed_over), *(self.names[i] for i in self.dynamic))

    @functools.cached_property
    def state(self) -> dict[int, int]:
        """Result -> leaf, of results that are the next values of arguments by the structure of their trees."""
        return self._state(of_one_argument=False)

    def _state(self, *, of_one_argument: bool) -> dict[int, int]:
        given = [_type_of(data_of(leaf)) for leaf in self.leaves]
        returned = [_type_of(aval) for aval in self.jaxpr.out_avals]
        return state_pairs(self.tree, given, self.out_tree, returned, of_one_argument=of_one_argument)

    @property
    def places(self) -> tuple[tuple[int, int], ...]:
        """(input, result) of the jaxpr, of state that one argument is, or is part of."""
        inputs = {leaf: len(self.closed_over) + i for i, leaf in enumerate(self.dynamic)}
        found = self._state(of_one_argument=True)
        return tuple((inputs[leaf], result) for result, leaf in found.items() if leaf in inputs)

    @property
    def forwarded(self) -> list[tuple[int, Any]]:
        """(result, leaf), of results that are arguments as they came."""
        first = len(self.closed_over)
        found = forwarded_inputs(self.jaxpr)
        return [(k, self.leaves[self.dynamic[i - first]]) for k, i in enumerate(found) if i is not None and i >= first]

    def stored_types(self, precision: PrecisionPolicy) -> tuple[list[str], list[str]]:
        """NumPy names of the element types of the jaxpr's inputs and results in a precision."""
        inputs, results = stored_types(self.jaxpr, self.input_names, precision, self.places)
        return inputs, results


def trace(fun: Callable[..., Any], args: Any, kwargs: Any, precision: PrecisionPolicy | None) -> Traced:
    """Trace `fun` on plain arrays.

    precision: what it may be stored in, for which it was written in f32: floats of the types that this stores become
        f32. Where the function refuses that, they stay as they are, as those of other types do.
    """
    leaves, tree = jax.tree.flatten((args, kwargs), is_leaf=is_scaled)
    names = _names(fun, args, kwargs)
    arrays = (ScaledArray, jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)
    dynamic = [i for i, leaf in enumerate(leaves) if isinstance(leaf, arrays)]
    for i in dynamic:
        _check_leaf(leaves[i], names[i])

    any_static = any(is_static(leaf) for leaf in leaves)

    def plain(*arrays: Any) -> Any:
        filled = list(leaves)
        for i, array in zip(dynamic, arrays, strict=True):
            filled[i] = array
        plain_args, plain_kwargs = jax.tree.unflatten(tree, filled)
        with tracing_scalified():
            results = fun(*plain_args, **plain_kwargs)
        check_unchanged((plain_args, plain_kwargs), filled, results)
        return wrapped(results) if any_static else results

    # What JAX says of a traced value is said of this function and its arguments: "argument params['w'] of step".
    described = jax.api_util.debug_info("scalify", fun, args, kwargs)
    plain.__fun_debug_info__ = described._replace(arg_names=tuple(names[i] for i in dynamic))  # type: ignore[attr-defined]
    own = [data_of(leaves[i]) for i in dynamic]
    inputs = own if precision is None else [_traced_as(leaves[i], precision) for i in dynamic]
    try:
        jaxpr, shapes = jax.make_jaxpr(plain, return_shape=True)(*inputs)
    except TypeError:
        if all(x is y for x, y in zip(own, inputs, strict=True)):
            raise
        # A function of narrow arguments, whose loops carry them or whose convolutions want equal types.
        jaxpr, shapes = jax.make_jaxpr(plain, return_shape=True)(*own)
    jaxpr, closed_over = _hoist_tracers(_without_dead(made_pure(fun, jaxpr)))
    return Traced(leaves, tree, names, dynamic, closed_over, jaxpr, jax.tree.structure(shapes))


def data_of(leaf: Any) -> Any:
    """The data of a ScaledArray, any other leaf itself."""
    return leaf.data if is_scaled(leaf) else leaf


def _type_of(x: Any) -> Any:
    """What two leaves have in common of which one replaces the other: their shape, and whether they are floats."""
    return (np.shape(x), is_float(x)) if hasattr(x, "dtype") else None


def _traced_as(leaf: Any, precision: PrecisionPolicy) -> Any:
    """What stands for an argument: the type of an array with f32 for what a precision may store f32 in, over devices as
    that is; other arrays themselves.

    No precision chooses bf16 but by its name, and one that stores FP8 stores a scale with it: elsewhere these types are
    the program's own.
    """
    x = data_of(leaf)
    if not is_float(x) or x.dtype.itemsize >= 4:
        return x
    own = not precision.stores_bf16 if x.dtype == jnp.bfloat16 else x.dtype.itemsize == 1 and not is_scaled(leaf)
    return x if own else jax.typeof(x).update(dtype=np.dtype(np.float32), weak_type=False)


def _without_dead(jaxpr: Any) -> Any:
    """A jaxpr without what no result needs: gradients that are not returned are no backward pass."""
    live, _ = dce_jaxpr(jaxpr.jaxpr, [True] * len(jaxpr.jaxpr.outvars), instantiate=True)
    return ClosedJaxpr(live, jaxpr.consts)


def _hoist_tracers(jaxpr: Any) -> tuple[Any, list[Any]]:
    """A jaxpr that closes over no traced values, which become its first inputs; other constants stay in it."""
    tracers = [c for c in jaxpr.consts if isinstance(c, jax.core.Tracer)]
    if not tracers:
        return jaxpr, []
    count = len(tracers)

    def closed(*arrays: Any) -> Any:
        given = iter(arrays[:count])
        consts = [next(given) if isinstance(c, jax.core.Tracer) else c for c in jaxpr.consts]
        return jaxpr_as_fun(ClosedJaxpr(jaxpr.jaxpr, consts))(*arrays[count:])

    return jax.make_jaxpr(closed)(*tracers, *jaxpr.in_avals), tracers


def _check_leaf(leaf: Any, name: str) -> None:
    if not is_scaled(leaf):
        return
    if not is_float(leaf.data):
        raise TypeError(f"scalify: argument {name} is a ScaledArray of type {leaf.dtype}; only floats can be scaled")
    try:
        check_scale_shape(leaf.data.shape, leaf.broadcast_scale.shape)
    except ValueError as error:
        raise ValueError(f"scalify: argument {name}: {error}") from None


def _names(fun: Callable[..., Any], args: Any, kwargs: Any) -> list[str]:
    """The name of each leaf: the parameter's, followed by the path inside it, such as state['w'][0]."""
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    positional: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += [f"{parameter.name}[{i}]" for i in range(len(args) - len(positional))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            positional.append(parameter.name)
    positional += [f"args[{i}]" for i in range(len(positional), len(args))]
    names: list[str] = []
    for prefix, tree in [*zip(positional, args, strict=False), *sorted(kwargs.items())]:
        paths = jax.tree_util.tree_leaves_with_path(tree, is_leaf=is_scaled)
        names += [prefix + jax.tree_util.keystr(path) for path, _ in paths]
    return names
