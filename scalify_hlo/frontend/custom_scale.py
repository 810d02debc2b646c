"""custom_scale: functions with a scale rule of their own (paper, section 3.2.1), as custom_vjp is for derivatives.

The rule is an ordinary JAX function of ScaledArrays. It travels inside the program as a private function, so that
`scalify-opt` applies it with no Python at hand, and it takes no part where nothing is scaled.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.interpreters.partial_eval import dce_jaxpr

from scalify_hlo.frontend.composite import RULE, composite
from scalify_hlo.frontend.dependence import is_float
from scalify_hlo.frontend.scaled_array import SCALE_DTYPE, ScaledArray, is_scaled

_PREFIX = "scalify.custom_scale."


def custom_scale(fun: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Give a function a scale rule; used as a decorator, then `@fun.defscale` on the rule.

    fun: any JAX function. Positional arguments are trees of arrays, keyword arguments are static and hashable.
    name: of the rule in the module and in messages; default: the function's.

        @custom_scale
        def relu(x):
            return jnp.maximum(x, 0)

        @relu.defscale
        def _(x: ScaledArray) -> ScaledArray:
            return ScaledArray(jnp.maximum(x.data, 0), x.scale)

    Outside of the transform the function is what it was. Its derivative is that of `fun` itself, whose operations
    are then scaled by the general rules; for a derivative with rules of its own, use `jax.custom_jvp` or
    `jax.custom_vjp` around functions that have custom scales.
    """
    if fun is None:
        return functools.partial(custom_scale, name=name)
    return CustomScale(fun, name or _name_of(fun))


def _name_of(fun: Callable[..., Any]) -> str:
    """A function's name; of one with arguments given by `functools.partial`, that one's."""
    while isinstance(fun, functools.partial):
        fun = fun.func
    return getattr(fun, "__name__", type(fun).__name__)


class CustomScale:
    """A function with a scale rule; the result of `custom_scale`."""

    def __init__(self, fun: Callable[..., Any], name: str):
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._name = name
        self._rule: Callable[..., Any] | None = None
        self._flat: dict[Any, Any] = {}
        parameters = inspect.signature(fun).parameters.values()
        self._defaults = {
            p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is not p.empty
        }

    def defscale(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule: the same arguments and results as the function, floats as ScaledArrays with rank-0 f32 scales.

        The rule should return powers of two when given them, and must not form data * scale in a type whose range does
        not hold it. Raises ValueError for a second rule, TypeError for one that does not take the function's arguments.
        A rule that returns a plain array where a ScaledArray is due is refused, with a TypeError, when it is used.
        """
        if self._rule is not None:
            raise ValueError(f"custom_scale '{self._name}' has a rule already")
        _check_parameters(self._fun, rule, self._name)
        self._rule = rule
        return rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._rule is None:
            return self._fun(*args, **kwargs)
        kwargs = {**self._defaults, **kwargs}
        leaves, tree = jax.tree.flatten(args, is_leaf=is_scaled)
        if any(map(is_scaled, leaves)):
            scaled = jax.tree.unflatten(tree, [_as_scaled(leaf) for leaf in leaves])
            results = self._rule(*scaled, **kwargs)
            found = jax.tree.leaves(results, is_leaf=is_scaled)
            _check_scaled(self._name, found)
            for leaf in found:
                if is_scaled(leaf):
                    _check_scale(self._name, leaf.scale)
            return results
        flat, out_tree = self._flat_function(tree, kwargs), []
        arrays = [jnp.asarray(leaf) for leaf in leaves]
        results = flat(out_tree, *arrays)
        return jax.tree.unflatten(out_tree[0], results)

    def _flat_function(self, tree: Any, kwargs: dict[str, Any]) -> Any:
        key = (tree, tuple(sorted(kwargs.items())))
        try:
            if key not in self._flat:
                self._flat[key] = _flat_function(self._fun, self._rule, self._name, tree, kwargs)
        except TypeError as error:
            raise TypeError(
                f"{self._name}: keyword arguments of a custom_scale function are static and must be hashable; "
                f"pass arrays by position ({error})"
            ) from None
        return self._flat[key]


def _as_scaled(leaf: Any) -> Any:
    if is_scaled(leaf) or not hasattr(leaf, "dtype") or not is_float(leaf):
        return leaf
    return ScaledArray(leaf, jnp.ones((), SCALE_DTYPE))


def _flat_function(fun: Any, rule: Any, name: str, tree: Any, kwargs: dict[str, Any]) -> Any:
    """The function over a flat list of arrays, as a composite that carries the rule, with the plain derivative."""

    def plain(*arrays: Any) -> list[Any]:
        return jax.tree.leaves(fun(*jax.tree.unflatten(tree, arrays), **kwargs))

    def structured(*arrays: Any) -> Any:
        return fun(*jax.tree.unflatten(tree, arrays), **kwargs)

    def by_rule(*operands: Any) -> list[Any]:
        remaining = iter(operands)
        leaves = []
        for operand in remaining:
            leaves.append(ScaledArray(operand, next(remaining)) if is_float(operand) else operand)
        arguments = jax.tree.unflatten(tree, leaves)
        expected = jax.eval_shape(structured, *(_aval(leaf) for leaf in leaves))
        return _flat_results(name, rule(*arguments, **kwargs), expected)

    scaled = jax.jit(by_rule)

    @jax.jit
    def body(*arrays: Any) -> list[Any]:
        return [*plain(*arrays), *composite(scaled, RULE, *_pairs(arrays))]

    @jax.custom_jvp
    def call(*arrays: Any) -> list[Any]:
        if not any(isinstance(array, jax.core.Tracer) for array in arrays):
            return plain(*arrays)
        count = len(jax.eval_shape(plain, *arrays))
        marker = _PREFIX + re.sub(r"\W", "_", name)
        return composite(body, marker, *arrays, attributes=(("plain_results", count),))[:count]

    @call.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        return call(*primals), jax.jvp(plain, primals, tangents)[1]

    def flat(out_tree: list[Any], *arrays: Any) -> Any:
        jaxpr, shapes = jax.make_jaxpr(structured, return_shape=True)(*arrays)
        _check_closed(f"the function of custom_scale '{name}'", jaxpr)
        out_tree.append(jax.tree.structure(shapes))
        if any(isinstance(array, jax.core.Tracer) for array in arrays):
            by_pairs = jax.make_jaxpr(by_rule)(*_pairs(arrays))
            _check_closed(f"the scale rule of '{name}'", by_pairs)
            _check_scales_of_one(name, by_pairs)
        return call(*arrays)

    return flat


def _pairs(arrays: Iterable[Any]) -> list[Any]:
    """The operands of a rule: floats with a scale of 1 behind each."""
    operands: list[Any] = []
    for array in arrays:
        operands += [array, jnp.ones((), SCALE_DTYPE)] if is_float(array) else [array]
    return operands


def _check_closed(what: str, jaxpr: Any) -> None:
    """Raises TypeError for a function that takes values that are being traced from the function around it."""
    taken = next((x for x in jaxpr.consts if isinstance(x, jax.core.Tracer)), None)
    if taken is not None:
        raise TypeError(
            f"{what} takes a value from around it that is not known when it is compiled, "
            f"{taken.dtype}{list(taken.shape)}: pass it by position, as an argument of both"
        )


def _aval(leaf: Any) -> Any:
    array = leaf.data if is_scaled(leaf) else leaf
    return jax.ShapeDtypeStruct(array.shape, array.dtype)


def _check_scaled(name: str, leaves: list[Any]) -> None:
    """Raises TypeError for a float array without a scale among the results of a rule."""
    for i, leaf in enumerate(leaves):
        if not is_scaled(leaf) and is_float(leaf):
            raise TypeError(
                f"the scale rule of '{name}' returns a plain array as float result {i}: its scale would be lost. "
                "Return ScaledArray(data, scale); for an unscaled value the scale is 1"
            )


def _check_parameters(fun: Callable[..., Any], rule: Callable[..., Any], name: str) -> None:
    """Raises TypeError unless a rule can be called as the function is."""
    try:
        wanted, given = inspect.signature(fun), inspect.signature(rule)
    except (TypeError, ValueError):
        return
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in wanted.parameters.values() if p.default is p.empty and p.kind in positional]
    keywords = [p.name for p in wanted.parameters.values() if p.kind is p.KEYWORD_ONLY]
    try:
        given.bind(*required, **dict.fromkeys(keywords))
    except TypeError as error:
        raise TypeError(
            f"the scale rule of '{name}' must take the arguments of the function, {wanted}, not {given}: {error}"
        ) from None


def _flat_results(name: str, results: Any, expected: Any) -> list[Any]:
    """Data and scale of each float result, checked against the plain function's results."""
    leaves, tree = jax.tree.flatten(results, is_leaf=is_scaled)
    wanted, wanted_tree = jax.tree.flatten(expected)
    if tree != wanted_tree:
        raise TypeError(f"the scale rule of '{name}' returns {tree} where the function returns {wanted_tree}")
    _check_scaled(name, leaves)
    flat: list[Any] = []
    for leaf, aval in zip(leaves, wanted, strict=True):
        if not is_float(aval):
            flat.append(leaf)
            continue
        _check_scale(name, leaf.scale)
        data, scale = leaf.data, jnp.asarray(leaf.scale, SCALE_DTYPE)
        if (data.shape, data.dtype, scale.shape) != (aval.shape, aval.dtype, ()):
            raise TypeError(
                f"the scale rule of '{name}' returns data {data.dtype}{list(data.shape)} with a scale of shape "
                f"{list(scale.shape)} where the function returns {aval.dtype}{list(aval.shape)}: data must have the "
                "type of the result, scales rank 0"
            )
        flat += [data, scale]
    return flat


def _check_scale(name: str, scale: Any, given: str = "") -> None:
    """Raises TypeError for a scale of a type with less range than f32, ValueError for one that is known and none.

    given: of what it is the scale, if that is not what the rule was called with.
    """
    dtype = getattr(scale, "dtype", SCALE_DTYPE)
    if jnp.issubdtype(dtype, jnp.floating) and jnp.finfo(dtype).maxexp < jnp.finfo(SCALE_DTYPE).maxexp:
        raise TypeError(
            f"the scale rule of '{name}' returns a scale in {dtype}, whose range is too small: keep it in f32"
        )
    if isinstance(scale, jax.core.Tracer) or not isinstance(scale, (int, float, np.generic, np.ndarray, jax.Array)):
        return
    value = np.asarray(scale, SCALE_DTYPE)
    if not np.all((value > 0) & np.isfinite(value)):
        raise ValueError(
            f"the scale rule of '{name}' returns the scale {value}{given}: scales are positive and finite, "
            "signs are in the data"
        )


def _check_scales_of_one(name: str, by_pairs: ClosedJaxpr) -> None:
    """Raises ValueError where scales that a rule computes of scales alone are none when those are 1."""
    if not all(isinstance(n, int) for aval in by_pairs.in_avals for n in aval.shape):
        return  # they may be computed of symbolic sizes
    given = _scale_positions(by_pairs.in_avals)
    for position in _scale_positions(by_pairs.out_avals):
        wanted = [i == position for i in range(len(by_pairs.out_avals))]
        jaxpr, used = dce_jaxpr(by_pairs.jaxpr, wanted)
        read = {i for i, is_read in enumerate(used) if is_read}
        if jaxpr.effects or jaxpr.constvars or not read <= given:
            continue
        with jax.ensure_compile_time_eval():
            (scale,) = jaxpr_as_fun(ClosedJaxpr(jaxpr, []))(*(np.ones((), SCALE_DTYPE) for _ in read))
        _check_scale(name, scale, " for operands of scale 1" if read else "")


def _scale_positions(avals: Iterable[Any]) -> set[int]:
    """Where scales are in a list that has one behind each float."""
    numbered = iter(enumerate(avals))
    return {next(numbered)[0] for _, aval in numbered if is_float(aval)}
