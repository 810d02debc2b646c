"""scalify_exported: a `jax.export.Exported` in, one over (data, scale) pairs out.

The module inside is rewritten by the same engine as `scalify-opt` uses; this module changes the calling convention
around it: trees, types, shardings and the indices of kept arguments.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.export import Exported
from jax.sharding import NamedSharding, PartitionSpec

from scalify_hlo.bindings import ir, make_context, stablehlo
from scalify_hlo.engine.selection import (
    LIFTED,
    TRANSPOSED,
    attributes_of,
    is_rewritten,
    role_of,
    select_arguments,
)
from scalify_hlo.engine.signature import public_function, scaled_argument
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.frontend.dependence import is_float
from scalify_hlo.frontend.scaled_array import ScaledArray, check_scale_shape
from scalify_hlo.frontend.state_pairs import state_pairs
from scalify_hlo.module.handed_names import name_arguments
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.pipeline import Element, Instrumentation, Pipeline
from scalify_hlo.passes.precision_pipeline import Precision, passes_for_devices, passes_with_frozen_weights
from scalify_hlo.passes.scalify import Scalify
from scalify_hlo.types import tensor_info

Container = Literal["ScaledArray", "tuple"]
Select = str | Sequence[int] | Callable[[str, Any], bool]
ShapeOfScale = Callable[[str, Any], Sequence[int]]

_MLIR_NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}
_NUMPY_NAMES = {element: name for name, element in _MLIR_NAMES.items()} | {
    "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2",
    "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2FNUZ": "float8_e5m2fnuz", "f4E2M1FN": "float4_e2m1fn",
}  # fmt: skip


class ScaledExported(Exported):
    """An Exported whose arrays are (data, scale) pairs. It has no derivative."""

    def has_vjp(self) -> bool:
        """False."""
        return False

    def vjp(self) -> Exported:
        """Raise NotImplementedError: see there for what to do."""
        raise NotImplementedError(
            f"scalify_exported({self.fun_name}) has no derivative of its own: the derivative with respect to "
            "(data, scale) pairs is not the scaled derivative. Transform the exported derivative instead: "
            "scalify_exported(exported.vjp())."
        )


def scalify_exported(
    exported: Exported,
    scaled: Select = "all",
    options: ScalifyOptions = ScalifyOptions(),
    *,
    precision: Precision | None = None,
    container: Container = "ScaledArray",
    scale_shapes: ShapeOfScale | None = None,
    remarks: list[Diagnostic] | None = None,
) -> Exported:
    """Rewrite an exported function so that its float arrays are carried as data * scale.

    exported: any `jax.export.Exported`: of several platforms, with symbolic shapes, with ordered effects.
    scaled: which inputs become pairs: text as for `scalify-opt --args` ("all", "none", indices or names of the
        module's arguments), the indices of flat inputs, or a function of an input's path (such as "args[0]['w']")
        and abstract value.
    options: of the rewriting; `args` is decided by `scaled`.
    precision: what an f32 training step is to be computed and stored in: a preset ("fp8"), a preset with changes
        ("fp8 moments=f16") or a `PrecisionPolicy`. State then has the types of the policy in the result's signature.
        "bf16" and "f32" need no scales: with `scaled="none"` plain arrays stay what the function takes and returns.
    container: what a pair is in the trees: a ScaledArray, whose users import this package to load a serialised
        function, or a plain tuple (data, scale), for which `jax` alone is enough.
    scale_shapes: the shape of the scale of each input that becomes a pair, from its path and abstract value: () or
        the rank of the data with each dimension 1 or full; by default `options.scale_dims` says it. Where one is
        given, results keep such scales too.
    remarks: receives what was computed on recombined values for want of a rule.

    Float results become pairs if any input does (unless `options.plain_results`). Platforms, effects, symbolic
    dimensions, donations and shardings are kept; scales are replicated. Inputs that the module does not use stay
    unused, and are pairs like the others. The result is called, nested in `jax.jit` and serialised like any other;
    it has no derivative. A function whose module carries pairs already is returned as it is. Raises ScalifyError for
    a module that cannot be rewritten, and where more inputs of such a function, or a precision, are asked for.
    """
    if not isinstance(exported, Exported):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"scalify_exported takes a jax.export.Exported, as jax.export.export(jax.jit(f))(*args) gives, not "
            f"{type(exported).__name__}: scalify_hlo.scalify transforms functions, rewrite_module MLIR"
        )
    before, after = passes_with_frozen_weights(precision)
    around = (before, (*after, *passes_for_devices(precision)))
    notes: list[Diagnostic] = [] if remarks is None else remarks
    return scalified(exported, scaled, options, around, container=container, scale_shapes=scale_shapes, remarks=notes)


def scalified(
    exported: Exported,
    scaled: Select,
    options: ScalifyOptions,
    around: tuple[Sequence[Element], Sequence[Element]],
    *,
    container: Container,
    remarks: list[Diagnostic],
    scale_shapes: ShapeOfScale | None = None,
    instrumentation: Instrumentation = Instrumentation(),
) -> Exported:
    """`scalify_exported` between given passes.

    around: the passes before and after, which may add arguments for one another but leave none, and may change the
    element types of arguments and results. Those before are a precision's. Raises ScalifyError.
    """
    before, after = (Pipeline(tuple(passes)) for passes in around)
    with make_context() as context, ir.Location.unknown():
        module = module_of(exported, context)
        if is_rewritten(public_function(module)):
            return _left_alone(exported, module, scaled, options, has_precision=bool(before.elements))
        leading = (len(exported.platforms) > 1) + len(exported.ordered_effects)
        before.run(module, remarks, instrumentation)
        exported = with_types_of(exported, module) if before.elements else exported
        main = public_function(module)
        shapes = _shapes(exported, _selected(exported, scaled, options, main, leading), scale_shapes)
        _mark(main, [shapes.get(i) for i in exported.module_kept_var_idx], leading, _places(exported))
        if scale_shapes is None:  # then by `options.scale_dims`
            chosen = select_arguments(main, dataclasses.replace(options, args="none")).scale_shapes[leading:]
            chosen = chosen[: len(exported.module_kept_var_idx)]
            shapes |= {i: shape for i, shape in zip(exported.module_kept_var_idx, chosen, strict=True) if i in shapes}
        else:
            options = dataclasses.replace(options, scale_dims="")
        if any(shapes.values()):
            options = dataclasses.replace(options, result_scales="shaped")
        scalify = dataclasses.replace(Scalify(**vars(options)), args="none")
        Pipeline((scalify,)).run(module, remarks, instrumentation)
        after.run(module, remarks, instrumentation)
        result_shapes = _paired_results(public_function(module), len(exported.ordered_effects), len(exported.out_avals))
        scale_dtype = jnp.float8_e8m0fnu if options.scale_dtype == "e8m0" else np.float32
        inputs = [i in shapes for i in range(len(exported.in_avals))]
        results = [shape is not None for shape in result_shapes]
        in_scales = (jax.core.ShapedArray(shapes[i], scale_dtype) for i in sorted(shapes))
        out_scales = (jax.core.ShapedArray(shape, scale_dtype) for shape in result_shapes if shape is not None)
        changes: dict[str, Any] = {
            "in_tree": _tree(exported.in_tree, inputs, container),
            "out_tree": _tree(exported.out_tree, results, container),
            "in_avals": _doubled(exported.in_avals, inputs, lambda _: next(in_scales)),
            "out_avals": _doubled(exported.out_avals, results, lambda _: next(out_scales)),
            "_in_named_shardings": _doubled(
                _private(exported, "_in_named_shardings"), inputs, _beside(shapes[i] for i in sorted(shapes))
            ),
            "_out_named_shardings": _doubled(
                _private(exported, "_out_named_shardings"), results, _beside(s for s in result_shapes if s is not None)
            ),
            "in_shardings_hlo": _doubled(exported.in_shardings_hlo, inputs, lambda _: None),
            "out_shardings_hlo": _doubled(exported.out_shardings_hlo, results, lambda _: None),
            "module_kept_var_idx": _kept(exported, inputs),
            "_get_vjp": None,
        }
        fields = {field.name: _private(exported, field.name) for field in dataclasses.fields(exported)}
        result = with_types_of(ScaledExported(**{**fields, **changes}), module)
        # Serialising converts the module in place.
        artifact = stablehlo.serialize_portable_artifact(module, artifact_version(), allow_other_dialects=True)
    return dataclasses.replace(result, mlir_module_serialized=artifact)


def _left_alone(
    exported: Exported, module: ir.Module, scaled: Select, options: ScalifyOptions, *, has_precision: bool
) -> Exported:
    """An Exported that carries pairs already, unless more is asked of it: ScalifyError then."""
    if has_precision:
        raise ScalifyError("this function is rewritten already: give the original a precision")
    asked = scaled if isinstance(scaled, str) else "chosen inputs"
    select_arguments(public_function(module), dataclasses.replace(options, args=asked))
    return exported


def module_of(exported: Exported, context: ir.Context) -> ir.Module:
    """The module inside. Raises ScalifyError where it has not as many arguments and results as the signature."""
    module = stablehlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)
    arguments, results = _signature_types(exported, public_function(module))
    if not _are_of(exported, arguments, results):
        raise ScalifyError(
            f"this Exported is damaged: its module has {len(arguments)} arguments and {len(results)} results, "
            f"its signature says {len(exported.module_kept_var_idx)} and {len(exported.out_avals)}"
        )
    name_arguments(module)
    return module


def _signature_types(exported: Exported, main: Any) -> tuple[list[ir.Type], list[ir.Type]]:
    """The types of arguments and results of a module, but for the index of the platform, tokens and constants."""
    arguments = [value.type for value in main.regions[0].blocks[0].arguments]
    attributes = attributes_of(main, "arg_attrs", len(arguments))
    arguments = [each for each, own in zip(arguments, attributes, strict=True) if LIFTED not in own]
    results = list(ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results)
    tokens = len(exported.ordered_effects)
    return arguments[(len(exported.platforms) > 1) + tokens :], results[tokens:]


def _are_of(exported: Exported, arguments: Sequence[ir.Type], results: Sequence[ir.Type]) -> bool:
    """Whether there are as many as the signature has."""
    return len(arguments) == len(exported.module_kept_var_idx) and len(results) == len(exported.out_avals)


def with_types_of(exported: Exported, module: ir.Module) -> Exported:
    """An Exported whose inputs and results have the element types of a module that was made of its own.

    The module inside stays. Raises ScalifyError where the module has another number of arguments or results.
    """
    main = public_function(module)
    arguments, results = _signature_types(exported, main)
    if not _are_of(exported, arguments, results):
        raise ScalifyError(
            f"the module now takes {len(arguments)} arguments and returns {len(results)} results: an Exported keeps "
            "its signature; write MLIR instead (--emit=text)"
        )
    in_avals = list(exported.in_avals)
    attributes = attributes_of(main, "arg_attrs", len(main.regions[0].blocks[0].arguments))
    leading = (len(exported.platforms) > 1) + len(exported.ordered_effects)
    for i, type_, own in zip(exported.module_kept_var_idx, arguments, attributes[leading:], strict=False):
        in_avals[i] = _with_element(in_avals[i], type_)
        if TRANSPOSED in own:
            in_avals[i] = in_avals[i].update(shape=in_avals[i].shape[::-1])
    out_avals = [_with_element(aval, type_) for aval, type_ in zip(exported.out_avals, results, strict=True)]
    return dataclasses.replace(exported, in_avals=tuple(in_avals), out_avals=tuple(out_avals))


def with_second_inputs(exported: Exported, seconds: Mapping[int, Any]) -> Exported:
    """An Exported some of whose flat inputs are plain tuples of themselves and another array.

    seconds: the abstract values of the other arrays, by the index of the flat input, which the module uses.
    """
    inputs = [i in seconds for i in range(len(exported.in_avals))]
    avals = (seconds[i] for i in sorted(seconds))
    changes: dict[str, Any] = {
        "in_tree": _tree(exported.in_tree, inputs, "tuple"),
        "in_avals": _doubled(exported.in_avals, inputs, lambda _: next(avals)),
        "_in_named_shardings": _doubled(_private(exported, "_in_named_shardings"), inputs, lambda _: None),
        "in_shardings_hlo": _doubled(exported.in_shardings_hlo, inputs, lambda _: None),
        "module_kept_var_idx": _kept(exported, inputs),
    }
    return dataclasses.replace(exported, **changes)


def _kept(exported: Exported, pairs: Sequence[bool]) -> tuple[int, ...]:
    """Which flat inputs the module takes, where some are two.

    pairs: of each flat input of the Exported, whether it is.
    """
    first = np.cumsum([0, *(1 + pair for pair in pairs)])
    return tuple(int(first[i]) + j for i in exported.module_kept_var_idx for j in range(1 + pairs[i]))


def _with_element(aval: Any, type_: ir.Type) -> Any:
    """An abstract value with the element type of an MLIR tensor, where that is another float."""
    element = tensor_info(type_).element
    if element not in _NUMPY_NAMES or _mlir_name(aval) in ("", element):
        return aval
    return aval.update(dtype=np.dtype(getattr(jnp, _NUMPY_NAMES[element])))


def _private(exported: Exported, name: str) -> Any:
    """A field by its name; one with an underscore that this version of jax lacks is an AttributeError."""
    return getattr(exported, name)


def _selected(exported: Exported, scaled: Select, options: ScalifyOptions, main: Any, leading: int) -> set[int]:
    """The flat inputs that become pairs."""
    if isinstance(scaled, str):
        selection = select_arguments(main, dataclasses.replace(options, args=scaled)).scaled[leading:]
        selection = selection[: len(exported.module_kept_var_idx)]
        chosen = {i for i, pair in zip(exported.module_kept_var_idx, selection, strict=True) if pair}
        if scaled == "all":
            unused = set(range(len(exported.in_avals))) - set(exported.module_kept_var_idx)
            chosen |= {i for i in unused if _mlir_name(exported.in_avals[i]) in options.scaled_types}
        return chosen
    if callable(scaled):
        names = input_names(exported)
        chosen = {i for i, aval in enumerate(exported.in_avals) if is_float(aval) and scaled(names[i], aval)}
    else:
        chosen = set(scaled)
    wrong = [i for i in sorted(chosen) if not 0 <= i < len(exported.in_avals) or not _is_float(exported, i)]
    if wrong:
        raise ScalifyError([Diagnostic(_cannot_scale(exported, i)) for i in wrong])
    return chosen


def _mlir_name(aval: Any) -> str:
    """The element type as MLIR calls it; empty for those that "all" never takes."""
    return _MLIR_NAMES.get(str(aval.dtype), "")


def _is_float(exported: Exported, i: int) -> bool:
    return is_float(exported.in_avals[i])


def _cannot_scale(exported: Exported, i: int) -> str:
    count = len(exported.in_avals)
    if not 0 <= i < count:
        return f"{exported.fun_name} has {count} inputs, 0 to {count - 1}; there is no input {i} to scale"
    return (
        f"input {i} ({input_names(exported)[i]}) of {exported.fun_name} is {exported.in_avals[i].str_short()} and "
        "cannot be scaled: only floating-point arrays are data * scale; leave it out"
    )


def input_names(exported: Exported) -> list[str]:
    """The path of each flat input, such as args[0]['w'] or kwargs['lr']."""
    tree = jax.tree.unflatten(exported.in_tree, range(len(exported.in_avals)))
    args, kwargs = tree
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path({"args": args, "kwargs": kwargs})]
    return [path[0].key + jax.tree_util.keystr(path[1:]) for path in paths]


def _shapes(exported: Exported, pairs: set[int], scale_shapes: ShapeOfScale | None) -> dict[int, tuple[int, ...]]:
    """The shape of the scale of each flat input that becomes a pair."""
    if scale_shapes is None:
        return dict.fromkeys(pairs, ())
    names = input_names(exported)
    shapes: dict[int, tuple[int, ...]] = {}
    errors: list[Diagnostic] = []
    for i in sorted(pairs):
        shapes[i] = tuple(scale_shapes(names[i], exported.in_avals[i]))
        try:
            check_scale_shape(exported.in_avals[i].shape, shapes[i])
        except ValueError as error:
            errors.append(Diagnostic(f"input {i} ({names[i]}) of {exported.fun_name}: {error}"))
    if errors:
        raise ScalifyError(errors)
    return shapes


def _places(exported: Exported) -> dict[int, int]:
    """Argument -> result of the module's own, without leading ones, of state by the structure of the trees."""
    types = [[(aval.shape, aval.dtype) for aval in avals] for avals in (exported.in_avals, exported.out_avals)]
    found = state_pairs(exported.in_tree, types[0], exported.out_tree, types[1], of_one_argument=True)
    kept = {flat: place for place, flat in enumerate(exported.module_kept_var_idx)}
    return {kept[flat]: len(exported.ordered_effects) + result for result, flat in found.items() if flat in kept}


def _mark(main: Any, shapes: Sequence[tuple[int, ...] | None], leading: int, places: Mapping[int, int]) -> None:
    """Say on each argument of the module whether it is scaled, and how, None for plain ones, and which is state."""
    count = leading + len(shapes)
    old = list(main.attributes["arg_attrs"]) if "arg_attrs" in main.attributes else [ir.DictAttr.get({})] * count
    new = []
    for i, attributes in enumerate(old):
        entries = {named.name: named.attr for named in ir.DictAttr(attributes)}
        shape = shapes[i - leading] if leading <= i < count else None
        if shape is not None:
            entries |= scaled_argument(shape, places.get(i - leading))
        new.append(ir.DictAttr.get(entries))
    main.attributes["arg_attrs"] = ir.ArrayAttr.get(new)


def _paired_results(main: Any, tokens: int, count: int) -> list[tuple[int, ...] | None]:
    """For each result of the exported function, the shape of its scale, or None where it is no pair."""
    if "res_attrs" not in main.attributes:
        return [None] * count
    roles = [role_of(attributes) for attributes in main.attributes["res_attrs"]]
    types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
    shapes: list[tuple[int, ...] | None] = []
    for i in range(tokens, len(roles)):
        if roles[i] != "scale":
            shapes.append(tuple(ir.RankedTensorType(types[i + 1]).shape) if roles[i] == "data" else None)
    return shapes


def artifact_version() -> str:
    """The StableHLO version that `jax.export` writes: readable by consumers up to four weeks old."""
    return stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_4)


def _tree(tree: Any, pairs: Sequence[bool], container: Container) -> Any:
    """The tree with a pair in place of each leaf that is one."""
    make = ScaledArray if container == "ScaledArray" else lambda data, scale: (data, scale)
    leaves = [make(0, 0) if pair else 0 for pair in pairs]
    return jax.tree.structure(jax.tree.unflatten(tree, leaves))


def _doubled(values: Sequence[Any], pairs: Sequence[bool], of_scale: Callable[[Any], Any]) -> tuple[Any, ...]:
    """The values of flat inputs or results, with those of scales after those of their data."""
    result: list[Any] = []
    for value, pair in zip(values, pairs, strict=True):
        result += [value, of_scale(value)] if pair else [value]
    return tuple(result)


def _beside(shapes: Iterable[tuple[int, ...]]) -> Callable[[Any], Any]:
    """A function that, called with the shardings of data in order, gives those of scales of these shapes."""
    remaining = iter(shapes)

    def of_scale(sharding: Any) -> Any:
        shape = next(remaining)
        if sharding is None:
            return None
        axes = [*sharding.spec, *[None] * (len(shape) - len(sharding.spec))]
        spec = PartitionSpec(*(axis if n != 1 else None for axis, n in zip(axes, shape, strict=False)))
        return NamedSharding(sharding.mesh, spec, memory_kind=sharding.memory_kind)

    return of_scale
