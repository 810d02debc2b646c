"""scalify(fun): scale propagation through a JAX function (paper, Algorithm 1)."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from scalify_hlo.bindings import is_per_device
from scalify_hlo.errors import ScalifyError
from scalify_hlo.frontend.call import call_scalified
from scalify_hlo.frontend.config import active_config
from scalify_hlo.frontend.conversion import as_scaled_array
from scalify_hlo.frontend.dependence import chooses_scales, is_float, scaled_results, sets_scaling
from scalify_hlo.frontend.rewriting import Interface, shapes_of_scales
from scalify_hlo.frontend.scale_shapes import announced
from scalify_hlo.frontend.scaled_array import SCALE_DTYPE, ScaledArray, is_scaled
from scalify_hlo.frontend.shardings import ShardedFunction
from scalify_hlo.frontend.shared import shared
from scalify_hlo.frontend.splitting import at_power_of_two, is_float_array
from scalify_hlo.frontend.state_pairs import as_it_was
from scalify_hlo.frontend.static_leaves import Compilations, has_static, unwrapped, wrapped
from scalify_hlo.frontend.tied_variables import NNX, has_ties, packed, taking_tied, unpacked
from scalify_hlo.frontend.traced import Traced, data_of, trace
from scalify_hlo.frontend.tracing import is_tracing_scalified
from scalify_hlo.frontend.updated_objects import ArgumentsUpdatedError, returning_objects, take_cache, write_back
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.precision_pipeline import Precision, parse_precision
from scalify_hlo.precision import PrecisionPolicy
from scalify_hlo.rules.registry import generation


def scalify(
    fun: Callable[..., Any] | None = None,
    *,
    options: ScalifyOptions | None = None,
    precision: Precision | None = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
) -> Any:
    """Transform a function of arrays into one of scaled arrays (paper, Algorithm 1). Also usable as a decorator.

    fun: any JAX function of pytrees of arrays, the whole training step as a rule. It sees plain arrays, and may
        use grad, vmap, scan, remat, custom derivatives and jit inside.
    options: rounding, rules and what to do with operations that have no scale rule (remarks go to the log
        "scalify_hlo"). Its fields `args`, `plain_results`, `scaled_types`, `scale_dims`, `result_scales` and
        `scale_dtype` are decided by the arguments instead.
    precision: what a training step written in f32 is to be computed and stored in: a preset ("fp16", "fp16-state",
        "fp8", "fp8-fp16-state", "bf16"), a preset with changes ("fp8 moments=f16") or a `PrecisionPolicy`. `fun`
        sees f32 arrays whatever the state is stored in; new state comes back in the types of the policy. With f16 or
        FP8 in it, float arrays that are given plain beside scaled ones are scaled inside, by their root mean square.
    static_argnums, static_argnames, donate_argnums, donate_argnames: as in `jax.jit`.
    in_shardings, out_shardings: as in `jax.jit`, written for the plain arrays: scales are sharded along the dimensions
        that they share with their data (see `scaled_shardings`).

    The result takes the same arguments, with ScaledArray leaves wherever a scale is to be propagated, and returns
    ScaledArray leaves wherever the value is floating point and was computed from one of those (or given a scale by
    `set_scaling`); all other leaves stay plain. Without any, it computes what `fun` computes, unchanged. Scales of
    results are f32, or f8E8M0FNU when all given scales are; of rank 0, except where a scale with one number for each
    layer or channel was given and applies to the result.

    Flax nnx objects (models, optimisers, random keys) that `fun` updates in place and does not return are updated, as
    under `flax.nnx.jit`.

    It is compiled like a `jax.jit` function, once per structure and types of the arguments, may be called inside
    `jax.jit`, `jax.lax.scan` and `jax.vmap` or exported by `jax.export`, and cannot be differentiated: take the
    derivative inside. Raises ScalifyError, when first called, for a program that cannot be rewritten.
    """
    if fun is None:
        return functools.partial(
            scalify, options=options, precision=precision, static_argnums=static_argnums,
            static_argnames=static_argnames, donate_argnums=donate_argnums, donate_argnames=donate_argnames,
            in_shardings=in_shardings, out_shardings=out_shardings,
        )  # fmt: skip
    jit_arguments = {
        "static_argnums": static_argnums, "static_argnames": static_argnames,
        "donate_argnums": donate_argnums, "donate_argnames": donate_argnames,
        "in_shardings": in_shardings, "out_shardings": out_shardings,
    }  # fmt: skip
    if not callable(fun):
        raise TypeError(f"scalify: {fun!r} is no function")
    if options is not None and not isinstance(options, ScalifyOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"scalify: options is a ScalifyOptions, such as ScalifyOptions(rules='paper'), not {options!r}")
    policy = None if precision is None else parse_precision(precision)
    return ScalifiedFunction(fun, options, {k: v for k, v in jit_arguments.items() if v is not None}, policy)


class ScalifiedFunction(functools.partial[Any]):
    """The result of `scalify`: a function of trees with ScaledArrays, compiled by `jax.jit`.

    A partial application of no arguments: Python calls that without the detour of a `__call__`, which would be a
    thirtieth of the time that calling a compiled function of one array takes.
    """

    _fun: Callable[..., Any]
    _jit_arguments: dict[str, Any]
    _options: ScalifyOptions | None
    _precision: PrecisionPolicy | None
    _compiled: Callable[[ScalifyOptions], Any]
    _default: Any
    _by_rounding: dict[str, Any]

    def __new__(
        cls,
        fun: Callable[..., Any],
        options: ScalifyOptions | None,
        jit_arguments: dict[str, Any],
        precision: PrecisionPolicy | None = None,
    ) -> Self:
        """`fun` transformed; see `scalify`."""

        def compiled(options: ScalifyOptions) -> Any:
            return _jit(fun, options, jit_arguments, precision)

        default = compiled(options or ScalifyOptions())
        modules = sys.modules
        static_leaves = False  # whether a call has had some
        updates = False  # whether a call has updated objects among its arguments
        compilations = Compilations(_name(fun))

        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal static_leaves, updates
            if NNX in modules:
                take_cache()
                if has_ties((args, kwargs)):
                    results, objects = self._of_tied_objects(*packed(args), **packed(kwargs))
                    write_back((args, kwargs), objects)
                    return unpacked(results)
            function = default if active_config() is None else self.jitted
            try:
                if not (static_leaves or updates):
                    return function(*args, **kwargs)
            except ArgumentsUpdatedError:
                updates = True
            except TypeError:
                if not has_static((args, kwargs)):
                    raise
                static_leaves = True
            if updates:
                return updating(args, kwargs)
            compilations.note(args, kwargs)
            args, kwargs = wrapped((args, kwargs))
            try:
                return unwrapped(function(*args, **kwargs))
            except ArgumentsUpdatedError:
                updates = True
                return updating(*unwrapped((args, kwargs)))

        def updating(args: Any, kwargs: Any) -> Any:
            results, objects = self._returning_objects(*args, **kwargs)
            write_back((args, kwargs), objects)
            return results

        self = super().__new__(cls, call)
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._jit_arguments = jit_arguments
        self._options = options
        self._precision = precision
        self._compiled = compiled
        self._default = default
        self._by_rounding = {}
        return self

    def __init__(self, *args: Any, **kwargs: Any):
        """Nothing is left to do."""

    @functools.cached_property
    def _returning_objects(self) -> ScalifiedFunction:
        """The same for a function that updates objects among its arguments: it returns them too."""
        return ScalifiedFunction(returning_objects(self._fun), self._options, self._jit_arguments, self._precision)

    @functools.cached_property
    def _of_tied_objects(self) -> ScalifiedFunction:
        """The same for objects with variables at two places, taken apart: it returns those of its arguments too."""
        return ScalifiedFunction(taking_tied(self._fun), self._options, self._jit_arguments, self._precision)

    def __repr__(self) -> str:
        return f"<scalified {_name(self._fun)}>"

    def __copy__(self) -> Self:
        return self  # as functions are: a copy of a trainer has the same step

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        """By name where it has replaced the function, else by the function."""
        found: Any = sys.modules.get(getattr(self._fun, "__module__", ""))
        qualified: str = getattr(self._fun, "__qualname__", "")
        for name in qualified.split("."):
            found = getattr(found, name, None)
        if found is self:
            return qualified
        return ScalifiedFunction, (self._fun, self._options, self._jit_arguments, self._precision)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """The lowered program, a `jax.stages.Lowered`; `.as_text()` is the rewritten StableHLO module."""
        return self._with_objects(lambda each, a, k: each._jitted().lower(*wrapped(a), **wrapped(k)), args, kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """The traced program, a `jax.stages.Traced`."""
        return self._with_objects(lambda each, a, k: each._jitted().trace(*wrapped(a), **wrapped(k)), args, kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Shapes and types of the results, with ScaledArray leaves where they are scaled."""
        if has_ties((args, kwargs)):
            return unpacked(self._of_tied_objects.eval_shape(*packed(args), **packed(kwargs))[0])
        given = wrapped((args, kwargs))
        try:
            return unwrapped(self._jitted().eval_shape(*given[0], **given[1]))
        except ArgumentsUpdatedError:
            return self._returning_objects.eval_shape(*args, **kwargs)[0]

    def stored(self, *args: Any, **kwargs: Any) -> Any:
        """The arguments in the types in which the precision stores them, plain state scaled; unchanged without one.

        Returns a tuple of the positional arguments; where there are keyword arguments, (tuple, dictionary of these).

        The function takes state in f32 too, and returns it in the types of the precision. Called with what this
        returns, it is compiled once instead of once more for the first step, and can be a body of `lax.scan`. Of
        `jax.ShapeDtypeStruct`s it returns such: what a checkpoint is restored into.
        """
        precision = self._precision
        if precision is not None:
            args, kwargs = unpacked(
                self._with_objects(lambda each, a, k: _stored(each._fun, precision, a, k), args, kwargs)
            )
        return (args, kwargs) if kwargs else args

    def prepared(self, *args: Any, **kwargs: Any) -> Call:
        """What a call with these arguments computes: the program and its operands, for tools that look inside."""
        options = self._options or ScalifyOptions()
        precision = self._precision
        return self._with_objects(lambda each, a, k: _prepared(each._fun, options, precision, a, k)[1], args, kwargs)

    def _with_objects(self, of: Callable[[ScalifiedFunction, Any, Any], Any], args: Any, kwargs: Any) -> Any:
        """Something of this function, or where it updates objects among its arguments, of that which returns them."""
        if has_ties((args, kwargs)):
            return of(self._of_tied_objects, packed(args), packed(kwargs))
        try:
            return of(self, args, kwargs)
        except ArgumentsUpdatedError:
            return of(self._returning_objects, args, kwargs)

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
            self._by_rounding[rounding] = self._compiled(ScalifyOptions(rounding=rounding))  # type: ignore[arg-type]
        return self._by_rounding[rounding]


# Since jax 0.12 True is for functions that are lowered by themselves first: nothing is seen of what is around them.
_INLINED: Any = getattr(jax, "Inline").JAX_EARLY if hasattr(jax, "Inline") else True  # noqa: B009 - not in older ones


def _scalified(
    fun: Callable[..., Any], options: ScalifyOptions, precision: PrecisionPolicy | None
) -> Callable[..., Any]:
    @functools.wraps(fun)
    def scalified(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = unwrapped((args, kwargs))
        return _apply(fun, options, precision, args, kwargs)

    return scalified


def _jit(
    fun: Callable[..., Any], options: ScalifyOptions, jit_arguments: dict[str, Any], precision: PrecisionPolicy | None
) -> Any:
    scalified = shared(fun, (options, precision, generation()), lambda: _scalified(fun, options, precision))
    others = dict(jit_arguments)
    shardings = others.pop("in_shardings", None), others.pop("out_shardings", None)
    if shardings == (None, None):
        # In another function: no function of its own there, so that the shardings of its operands are seen, and in
        # shard_map which scales are equal on all devices.
        return jax.jit(scalified, inline=_INLINED, **others)
    return ShardedFunction(scalified, others, *shardings)


@dataclasses.dataclass(frozen=True)
class Call:
    """A function with its arguments: the jaxpr of its plain form, and its operands as (data, scale) pairs or arrays."""

    jaxpr: Any
    operands: list[Any]
    interface: Interface
    options: ScalifyOptions

    @property
    def scale_shapes(self) -> list[tuple[int, ...]]:
        """For each input of the jaxpr, the shape of its scale; () for plain ones."""
        return shapes_of_scales(self.operands, self.interface.inputs)


def _apply(
    fun: Callable[..., Any], options: ScalifyOptions, precision: PrecisionPolicy | None, args: Any, kwargs: Any
) -> Any:
    """Trace `fun` on plain arrays, then call it on (data, scale) pairs."""
    traced, call = _prepared(fun, options, precision, args, kwargs)
    jaxpr, interface = call.jaxpr, call.interface
    if not any(interface.inputs) and interface.precision is None and not sets_scaling(jaxpr):
        return jax.tree.unflatten(traced.out_tree, jaxpr_as_fun(jaxpr)(*call.operands))
    given_plain = _plain_results(traced, call)
    interface = announced(jaxpr, call.operands, interface, options)
    flat = iter(call_scalified(jaxpr, call.operands, interface, options))
    scale_dtype = _common_scale_dtype([traced.leaves[i] for i in traced.dynamic])
    any_number = scale_dtype != SCALE_DTYPE and (options.rounding == "none" or chooses_scales(jaxpr))
    results: list[Any] = []
    for is_pair in interface.results:
        data = next(flat)
        if not is_pair:
            results.append(data)
            continue
        data, scale = at_power_of_two(data, next(flat)) if any_number else (data, next(flat))
        results.append(ScaledArray(data, scale.astype(scale_dtype)))
    for result in given_plain:
        results[result] = results[result].to_array(jaxpr.out_avals[result].dtype)
    for result, argument in traced.state.items():
        if is_float(data_of(results[result])):
            results[result] = as_it_was(results[result], traced.leaves[argument])
    for result, leaf in traced.forwarded:  # weights that a step only reads do not grow
        if is_float(data_of(leaf)) and data_of(leaf).dtype.itemsize < data_of(results[result]).dtype.itemsize:
            results[result] = leaf
    return jax.tree.unflatten(traced.out_tree, results)


def _prepared(
    fun: Callable[..., Any], options: ScalifyOptions, precision: PrecisionPolicy | None, args: Any, kwargs: Any
) -> tuple[Traced, Call]:
    """`fun` traced on plain arrays, and the call of it on (data, scale) pairs."""
    traced = trace(fun, args, kwargs, precision)
    jaxpr, leaves = traced.jaxpr, [traced.leaves[i] for i in traced.dynamic]
    if precision is not None and precision.needs_scales:
        leaves = _measured(traced, leaves)
    operands: list[Any] = list(traced.closed_over)
    scaled = [*[False] * len(operands), *map(is_scaled, leaves)]
    if not any(scaled) and not sets_scaling(jaxpr):
        precision = None if precision is None else _without_scales(fun, precision, traced)
    input_types, result_types = traced.stored_types(precision) if precision is not None else ((), ())
    for leaf, dtype in zip(leaves, input_types[len(operands) :] or [None] * len(leaves), strict=True):
        operands.append(_stored_leaf(data_of(leaf), dtype))
        if is_scaled(leaf):
            operands.append(leaf.broadcast_scale.astype(SCALE_DTYPE))  # may be 0: see `MAY_BE_ZERO`
    interface = Interface(
        inputs=tuple(scaled),
        results=tuple(scaled_results(jaxpr, scaled)),
        names=traced.input_names,
        function=_name(fun),
        precision=precision,
        input_types=tuple(input_types),
        result_types=tuple(result_types),
        places=traced.places,
    )
    return traced, Call(jaxpr, operands, interface, options)


def _measured(traced: Traced, leaves: list[Any]) -> list[Any]:
    """The arguments with a scale for each plain array of floats beside the state: raw features may be of any size.

    Not in per-device code, where the scales would differ from device to device.
    """
    if not any(map(is_scaled, leaves)) or is_per_device():
        return leaves
    kept = {traced.dynamic.index(leaf) for leaf in traced.state.values()}
    return [as_scaled_array(leaf) if i not in kept and is_float_array(leaf) else leaf for i, leaf in enumerate(leaves)]


def _are_scaled(traced: Traced, leaves: list[Any]) -> list[bool]:
    """For each input of the jaxpr, whether it carries a scale, of leaves in the place of the traced ones."""
    return [*[False] * len(traced.closed_over), *(is_scaled(leaves[i]) for i in traced.dynamic)]


def _plain_results(traced: Traced, call: Call) -> list[int]:
    """The results that carry a scale for no other reason than that of a plain argument which was given one."""
    scaled = _are_scaled(traced, traced.leaves)
    if list(call.interface.inputs) == scaled:
        return []
    found = scaled_results(call.jaxpr, scaled)
    return [
        i for i, (own, is_pair) in enumerate(zip(found, call.interface.results, strict=True)) if is_pair and not own
    ]


def _stored(fun: Callable[..., Any], precision: PrecisionPolicy, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """(args, kwargs) in the types of a precision; ScaledArrays keep their scales, plain state gets some."""
    traced = trace(fun, args, kwargs, precision)
    stored, _ = traced.stored_types(precision)
    types = dict(zip(traced.dynamic, stored[len(traced.closed_over) :], strict=True))
    narrow: set[int] = set()
    if precision.needs_scales and not any(map(is_scaled, traced.leaves)):
        floats = (i for i in types if is_float(traced.leaves[i]))
        narrow = {i for i in floats if np.dtype(types[i]).itemsize < 4}
    leaves = _all_scaled(traced, narrow)
    for i, dtype in types.items():
        leaves[i] = _stored_leaf(leaves[i], dtype)
    return jax.tree.unflatten(traced.tree, leaves)


def _all_scaled(traced: Traced, narrow: set[int]) -> list[Any]:
    """The leaves, with those of the state scaled that come back so, and those with the given indices."""
    leaves = [as_scaled_array(leaf) if i in narrow else leaf for i, leaf in enumerate(traced.leaves)]
    while True:
        results = scaled_results(traced.jaxpr, _are_scaled(traced, leaves))
        plain = {i for i in traced.dynamic if is_float(leaves[i]) and not is_scaled(leaves[i])}
        missing = [i for result, i in traced.state.items() if results[result] and i in plain]
        if not missing:
            return leaves
        for i in missing:
            leaves[i] = as_scaled_array(leaves[i])


def _stored_leaf(leaf: Any, dtype: str | None) -> Any:
    """An argument in the type that a precision stores it in; integers, booleans and random keys as they are."""
    if dtype is None or not is_float(data_of(leaf)):
        return leaf
    if not isinstance(data_of(leaf), jax.ShapeDtypeStruct):
        return leaf.astype(dtype)
    data = data_of(leaf).update(dtype=np.dtype(dtype))
    return ScaledArray(data, leaf.scale) if is_scaled(leaf) else data


def _without_scales(fun: Callable[..., Any], precision: PrecisionPolicy, traced: Traced) -> PrecisionPolicy | None:
    """A precision for a call without any scaled argument. Raises ScalifyError where it would leave the range."""
    if not precision.needs_scales:
        return dataclasses.replace(precision, rescaling=(), state_rescale="off")
    if not any(map(is_float, [*traced.jaxpr.in_avals, *traced.jaxpr.consts])):
        return None  # of integers and keys: nothing was given that could have had a scale
    nested = " (its arguments are plain inside of another scalified function: give that one the precision)"
    raise ScalifyError(
        f"scalify({_name(fun)}): no argument is a ScaledArray, and f16 and FP8 do not hold unscaled gradients: "
        "give the state through scalify_hlo.as_scaled_array, or choose bf16" + nested * is_tracing_scalified()
    )


def _name(fun: Callable[..., Any]) -> str:
    return getattr(fun, "__name__", type(fun).__name__)


def _common_scale_dtype(leaves: Sequence[Any]) -> Any:
    """f8E8M0FNU if all given scales have it, else f32."""
    dtypes = {leaf.scale.dtype for leaf in leaves if is_scaled(leaf)}
    return jnp.float8_e8m0fnu if dtypes == {np.dtype(jnp.float8_e8m0fnu)} else SCALE_DTYPE
