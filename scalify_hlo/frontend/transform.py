"""scalify(fun): scale propagation through a JAX function (paper, Algorithm 1)."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from scalify_hlo.frontend.call import call_scalified
from scalify_hlo.frontend.config import active_config
from scalify_hlo.frontend.dependence import is_float, scaled_results, sets_scaling
from scalify_hlo.frontend.rewriting import Interface
from scalify_hlo.frontend.scale_shapes import announced
from scalify_hlo.frontend.scaled_array import SCALE_DTYPE, ScaledArray, check_scale_shape, is_scaled
from scalify_hlo.frontend.tracing import tracing_scalified
from scalify_hlo.options import ScalifyOptions


def scalify(
    fun: Callable[..., Any] | None = None,
    *,
    options: ScalifyOptions | None = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
) -> Any:
    """Transform a function of arrays into one of scaled arrays (paper, Algorithm 1). Also usable as a decorator.

    fun: any JAX function of pytrees of arrays, the whole training step as a rule. It sees plain arrays, and may
        use grad, vmap, scan, remat, custom derivatives and jit inside.
    options: rounding, rules and what to do with operations that have no scale rule (remarks go to the log
        "scalify_hlo"). Its fields `args`, `plain_results`, `scaled_types` and `scale_dtype` are decided by the
        arguments instead.
    static_argnums, static_argnames, donate_argnums, donate_argnames: as in `jax.jit`.

    The result takes the same arguments, with ScaledArray leaves wherever a scale is to be propagated, and returns
    ScaledArray leaves wherever the value is floating point and was computed from one of those (or given a scale by
    `set_scaling`); all other leaves stay plain. Without any, it computes what `fun` computes, unchanged. Scales of
    results are f32, or f8E8M0FNU when all given scales are; of rank 0, except where a scale with one number for each
    layer or channel was given and applies to the result.

    It is compiled like a `jax.jit` function, once per structure and types of the arguments, may be called inside
    `jax.jit`, `jax.lax.scan` and `jax.vmap` or exported by `jax.export`, and cannot be differentiated: take the
    derivative inside. Raises ScalifyError, when first called, for a program that cannot be rewritten.
    """
    if fun is None:
        return functools.partial(
            scalify, options=options, static_argnums=static_argnums, static_argnames=static_argnames,
            donate_argnums=donate_argnums, donate_argnames=donate_argnames,
        )  # fmt: skip
    jit_arguments = {
        "static_argnums": static_argnums, "static_argnames": static_argnames,
        "donate_argnums": donate_argnums, "donate_argnames": donate_argnames,
    }  # fmt: skip
    return ScalifiedFunction(fun, options, {k: v for k, v in jit_arguments.items() if v is not None})


class ScalifiedFunction:
    """The result of `scalify`: a function of trees with ScaledArrays, compiled by `jax.jit`."""

    def __init__(self, fun: Callable[..., Any], options: ScalifyOptions | None, jit_arguments: dict[str, Any]):
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._options = options
        self._jit_arguments = jit_arguments
        self._default = self._jit(options or ScalifyOptions())
        self._by_rounding: dict[str, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._jitted()(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """The lowered program, a `jax.stages.Lowered`; `.as_text()` is the rewritten StableHLO module."""
        return self._jitted().lower(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """The traced program, a `jax.stages.Traced`."""
        return self._jitted().trace(*args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Shapes and types of the results, with ScaledArray leaves where they are scaled."""
        return self._jitted().eval_shape(*args, **kwargs)

    @property
    def jitted(self) -> Any:
        """The `jax.jit` function that does the work, for what takes one (`jax.export.export`)."""
        return self._jitted()

    def _jitted(self) -> Any:
        config = active_config()
        if config is None or self._options is not None:
            return self._default
        rounding = config.rounding_mode.option
        if rounding not in self._by_rounding:
            self._by_rounding[rounding] = self._jit(ScalifyOptions(rounding=rounding))  # type: ignore[arg-type]
        return self._by_rounding[rounding]

    def _jit(self, options: ScalifyOptions) -> Any:
        @functools.wraps(self._fun)
        def scalified(*args: Any, **kwargs: Any) -> Any:
            return _apply(self._fun, options, args, kwargs)

        return jax.jit(scalified, **self._jit_arguments)


def _apply(fun: Callable[..., Any], options: ScalifyOptions, args: Any, kwargs: Any) -> Any:
    """Trace `fun` on plain arrays, then call it on (data, scale) pairs."""
    leaves, tree = jax.tree.flatten((args, kwargs), is_leaf=is_scaled)
    names = _names(fun, args, kwargs)
    dynamic = [i for i, leaf in enumerate(leaves) if isinstance(leaf, (ScaledArray, jax.Array, np.ndarray, np.generic))]
    for i in dynamic:
        _check_leaf(leaves[i], names[i])

    def plain(*arrays: Any) -> Any:
        filled = list(leaves)
        for i, array in zip(dynamic, arrays, strict=True):
            filled[i] = array
        plain_args, plain_kwargs = jax.tree.unflatten(tree, filled)
        with tracing_scalified():
            return fun(*plain_args, **plain_kwargs)

    inputs = [leaves[i].data if is_scaled(leaves[i]) else leaves[i] for i in dynamic]
    jaxpr, shapes = jax.make_jaxpr(plain, return_shape=True)(*inputs)
    jaxpr, closed_over = _hoist_tracers(jaxpr)
    scaled = [*[False] * len(closed_over), *(is_scaled(leaves[i]) for i in dynamic)]
    out_tree = jax.tree.structure(shapes)
    if not any(scaled) and not sets_scaling(jaxpr):
        return jax.tree.unflatten(out_tree, jaxpr_as_fun(jaxpr)(*closed_over, *inputs))
    operands: list[Any] = list(closed_over)
    for i in dynamic:
        leaf = leaves[i]
        operands += [leaf.data, leaf.scale.astype(SCALE_DTYPE)] if is_scaled(leaf) else [leaf]
    interface = Interface(
        inputs=tuple(scaled),
        results=tuple(scaled_results(jaxpr, scaled)),
        names=(*[""] * len(closed_over), *(names[i] for i in dynamic)),
        function=getattr(fun, "__name__", type(fun).__name__),
    )
    interface = announced(jaxpr, operands, interface, options)
    flat = iter(call_scalified(jaxpr, operands, interface, options))
    scale_dtype = _common_scale_dtype(leaves)
    results = [
        ScaledArray(next(flat), next(flat).astype(scale_dtype)) if is_pair else next(flat)
        for is_pair in interface.results
    ]
    return jax.tree.unflatten(out_tree, results)


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
        check_scale_shape(leaf.data.shape, leaf.scale.shape)
    except ValueError as error:
        raise ValueError(f"scalify: argument {name}: {error}") from None


def _common_scale_dtype(leaves: Sequence[Any]) -> Any:
    """f8E8M0FNU if all given scales have it, else f32."""
    dtypes = {leaf.scale.dtype for leaf in leaves if is_scaled(leaf)}
    return jnp.float8_e8m0fnu if dtypes == {np.dtype(jnp.float8_e8m0fnu)} else SCALE_DTYPE


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
