"""The rewritten form of a jaxpr: a module over (data, scale) pairs, in the MLIR context that JAX is lowering in."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Sequence
from typing import Any

import jax

from scalify_hlo.bindings import ir
from scalify_hlo.engine.devices import same_on_every_device
from scalify_hlo.engine.selection import STORED, attributes_of, role_of
from scalify_hlo.engine.signature import public_function, scaled_argument
from scalify_hlo.errors import Diagnostic
from scalify_hlo.frontend.lowering import lower_to_function
from scalify_hlo.frontend.varying import varying_axes
from scalify_hlo.module.carriers import SHARDING, declared_sharding
from scalify_hlo.module.identity import symbol_name
from scalify_hlo.module.manual import GROUPS, replica_groups
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.cpu_scales import CPUScales
from scalify_hlo.passes.fp8_results import FP8Results
from scalify_hlo.passes.narrow_results import NarrowResults
from scalify_hlo.passes.widen_dots import WidenDots
from scalify_hlo.precision import PrecisionPolicy

# Element types that a scaled result may have: all floats, so that f8 weights and gradients leave as pairs too.
_SCALED_TYPES = ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4", "f8E4M3FNUZ", "f8E5M2FNUZ",
                 "f8E4M3B11FNUZ")  # fmt: skip

# What a precision stores floats in, by NumPy's names.
_STORED_TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}

_log = logging.getLogger("scalify_hlo")


@dataclasses.dataclass(frozen=True)
class Interface:
    """What is scaled in a call, as far as it decides the types of its operands and results.

    inputs: for each input of the jaxpr, whether it is a (data, scale) pair of operands.
    results: for each result of the jaxpr, whether it is a pair.
    scale_shapes: for each result that is a pair, the shape of its scale; () for all if empty.
    names: for each input, its name in messages and locations.
    precision: what the jaxpr, written in f32, is computed and stored in; None where it says so itself.
    input_types, result_types: for each input and result, its element type in that precision; empty without one.
    places: (input, result) of state, of inputs that a result has the place of in the trees of the function.
    """

    inputs: tuple[bool, ...]
    results: tuple[bool, ...]
    names: tuple[str, ...]
    function: str
    scale_shapes: tuple[tuple[int, ...], ...] = ()
    precision: PrecisionPolicy | None = None
    input_types: tuple[str, ...] = ()
    result_types: tuple[str, ...] = ()
    places: tuple[tuple[int, int], ...] = ()

    def pairs(self) -> list[tuple[bool, tuple[int, ...]]]:
        """For each result, whether it is a pair, and the shape of its scale."""
        shapes = iter(self.scale_shapes)
        return [(pair, next(shapes, ()) if pair else ()) for pair in self.results]


@dataclasses.dataclass(frozen=True)
class Known:
    """What is known of the values that a call is on, from the program around it.

    everywhere: for each input, whether its scale is the same on all devices that run per-device code.
    shardings: of each operand, data and scale of each pair; None where there is none.
    """

    everywhere: tuple[bool, ...]
    shardings: tuple[Any, ...]


def known_of(ctx: Any, operands: Sequence[Any], interface: Interface) -> Known:
    """What the program that is being lowered says of the operands of a call, data and scale of each pair."""
    shardings = (declared_sharding(x) if isinstance(x, ir.Value) else None for x in operands)
    return Known(_everywhere(ctx, operands, interface.inputs), tuple(shardings))


def rewritten_module(
    ctx: Any,
    jaxpr: Any,
    effects: Sequence[Any],
    interface: Interface,
    options: ScalifyOptions,
    known: Known | None = None,
) -> Any:
    """A module of its own whose @main computes the jaxpr on (data, scale) pairs.

    The scales of its results have shapes if `interface` says so. known: of the values that it is called on.
    """
    shapes = shapes_of_scales(ctx.avals_in, interface.inputs)
    known = known or Known((False,) * len(interface.inputs), ())
    module = _module_of(ctx, jaxpr, effects, interface, shapes, known.everywhere)
    rewrite(module, options, interface)
    on_cpu = tuple(ctx.module_context.platforms) == ("cpu",)
    if devices_of(ctx) > 1:
        sum_parts(module, interface, known.shardings)
    else:
        _run_last(module, interface.precision, products=not on_cpu)
    if on_cpu:
        WidenDots().apply(module, [])
        CPUScales(calls=devices_of(ctx) == 1).apply(module, [])
    return module


def devices_of(ctx: Any) -> int:
    """How many devices the program that is being lowered is partitioned over."""
    return getattr(ctx.module_context.axis_context, "num_devices", 1) or 1


def sum_parts(module: Any, interface: Interface, shardings: Sequence[Any]) -> None:
    """Run the passes for partitioned modules on a rewritten one. shardings: of its last arguments, None: not known."""
    main = public_function(module)
    arguments = main.regions[0].blocks[0].arguments
    first = len(arguments) - len(shardings)
    given = list(ir.ArrayAttr(main.attributes["arg_attrs"])) if "arg_attrs" in main.attributes else None
    attributes = given or [ir.DictAttr.get({})] * len(arguments)
    known = [None] * first + list(shardings)
    main.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [
            own if sharding is None
            else ir.DictAttr.get({named.name: named.attr for named in ir.DictAttr(own)} | {SHARDING: sharding})
            for own, sharding in zip(attributes, known, strict=True)
        ]
    )  # fmt: skip
    _run_last(module, interface.precision, products=False)  # per-device code does not say that it is partitioned
    if given is None:
        del main.attributes["arg_attrs"]
    else:
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(given)


def _run_last(module: Any, precision: PrecisionPolicy | None, products: bool) -> None:
    """Run the passes that an exported module ends with. products: those too that have products give narrow results."""
    from scalify_hlo.passes.precision_pipeline import passes_for_devices

    told: list[Diagnostic] = []
    for each in passes_for_devices(precision):
        if products or not isinstance(each, FP8Results | NarrowResults):
            each.apply(module, told)
    for remark in told:
        _log.info("%s", remark)


def result_signature(module: Any) -> tuple[list[Any], list[str]]:
    """Types and roles of the results of @main."""
    main = next(op for op in module.body.operations if symbol_name(op.operation) == "main")
    types = list(main.type.results)
    return types, [role_of(own) for own in attributes_of(main, "res_attrs", len(types))]


def _everywhere(ctx: Any, operands: Sequence[Any], scaled: Sequence[bool]) -> tuple[bool, ...]:
    """For each input, whether its scale is known to be the same on all devices: from its type, or what computes it.

    Types tell where they are checked (`check_vma=True`), which is certain where any of them varies.
    """
    is_checked = any(varying_axes(aval) for aval in ctx.avals_in)
    remaining = iter(zip(operands, ctx.avals_in, strict=True) if per_device(ctx) is not None else ())
    known: list[bool] = []
    for is_pair in scaled:
        next(remaining, None)
        scale, aval = next(remaining, (None, None)) if is_pair else (None, None)
        same = isinstance(scale, ir.Value) and (
            (is_checked and not varying_axes(aval)) or same_on_every_device(scale, frozenset())
        )
        known.append(same)
    return tuple(known)


def per_device(ctx: Any) -> Any:
    """The devices of the manual axes that a call is lowered under, as `replica_groups`; None outside `shard_map`."""
    context = ctx.module_context.axis_context
    axes: set[str] = set(getattr(context, "manual_axes", ()))
    if not axes:
        return None
    return replica_groups(dict(context.mesh.shape), axes)


def _module_of(
    ctx: Any,
    jaxpr: Any,
    effects: Sequence[Any],
    interface: Interface,
    shapes: Sequence[Any],
    everywhere: Sequence[bool],
) -> Any:
    """A module of its own, in the caller's MLIR context, whose @main computes the jaxpr."""
    with ir.Location.unknown():
        module = ir.Module.create()
    context = ctx.module_context.replace(
        module=module,
        ip=ir.InsertionPoint(module.body),
        symbol_table=ir.SymbolTable(module.operation),
        lowering_cache={},
        cached_primitive_lowerings={},
    )
    lower_to_function(
        ctx, "main", jaxpr, module_context=context, public=True, effects=effects, arg_names=interface.names
    )
    devices = per_device(ctx)
    attributes, number = module.operation.attributes, ir.IntegerType.get_signless(32)
    attributes["mhlo.num_replicas"] = ir.IntegerAttr.get(number, 1)
    if devices is None:
        attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(number, devices_of(ctx))
    else:
        attributes[GROUPS] = devices
    set_scaled(module, interface, shapes, everywhere)
    return module


def set_scaled(
    module: Any, interface: Interface, shapes: Sequence[Any], everywhere: Sequence[bool] | None = None
) -> None:
    """Mark the last arguments of @main as scaled, with the shapes of their scales, and as state of decided types.

    everywhere: which of the scales are the same on all devices of per-device code.
    """
    main = public_function(module)
    count = len(main.regions[0].blocks[0].arguments)
    leading = [ir.DictAttr.get({})] * (count - len(interface.inputs))
    results = len(ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results)
    tokens = results - len(interface.results)
    places = {argument: tokens + result for argument, result in interface.places}
    attributes = [
        ir.DictAttr.get(
            stored | (scaled_argument(shape, places.get(i), everywhere=same, may_be_zero=True) if is_pair else {})
        )
        for i, (is_pair, shape, same, stored) in enumerate(
            zip(
                interface.inputs, shapes, everywhere or [False] * len(interface.inputs),
                _stored(interface.input_types, len(interface.inputs)), strict=True,
            )
        )
    ]  # fmt: skip
    main.attributes["arg_attrs"] = ir.ArrayAttr.get([*leading, *attributes])
    given = attributes_of(main, "res_attrs", results)
    stored_results = [*[{}] * tokens, *_stored(interface.result_types, len(interface.results))]
    merged = [ir.DictAttr.get(own | stored) for own, stored in zip(given, stored_results, strict=True)]
    main.attributes["res_attrs"] = ir.ArrayAttr.get(merged)


def _stored(types: Sequence[str], count: int) -> list[dict[str, ir.Attribute]]:
    """For each of `count` inputs or results, the attribute that tells the type it is stored in, if that is decided."""
    elements = [_STORED_TYPES.get(name, "") for name in types] or [""] * count
    return [{STORED: ir.StringAttr.get(element)} if element else {} for element in elements]


def shapes_of_scales(avals: Sequence[Any], scaled: Sequence[bool]) -> list[tuple[int, ...]]:
    """For each input, the shape of its scale; () for plain ones."""
    remaining = iter(avals)
    shapes: list[tuple[int, ...]] = []
    for is_pair in scaled:
        next(remaining)
        shapes.append(next(remaining).shape if is_pair else ())
    return shapes


def rewrite(module: Any, options: ScalifyOptions, interface: Interface) -> None:
    """Rewrite a module in place by the engine, with the passes of a precision around it.

    What the engine remarks goes to the log as warnings, what the passes tell of their work as information (and as
    warnings what they could not do).
    """
    from scalify_hlo.in_place import scalify_in_place
    from scalify_hlo.passes.precision_pipeline import passes_with_frozen_weights

    options = dataclasses.replace(
        options,
        args="none",
        scale_dims="",
        scaled_types=_SCALED_TYPES,
        plain_results=False,
        result_scales="shaped" if any(interface.scale_shapes) else "scalar",
    )
    start = time.perf_counter()
    before, after = passes_with_frozen_weights(interface.precision)
    told: list[Diagnostic] = []
    remarks: list[Diagnostic] = []
    for each in before:
        each.apply(module, told)
    scalify_in_place(module, options, remarks)
    for each in after:
        each.apply(module, told)
    seconds = time.perf_counter() - start
    # As JAX tells of its compilations: `jax.log_compiles()` shows them, and the level INFO of the logger does.
    level = logging.WARNING if jax.config.jax_log_compiles else logging.INFO  # pyright: ignore[reportAttributeAccessIssue]
    precision = interface.precision or "as written"
    _log.log(level, "scalify(%s): rewritten for precision %s in %.2f s", interface.function, precision, seconds)
    for remark in told:
        _log.log(logging.WARNING if remark.severity == "warning" else logging.INFO, "%s", remark)
    for remark in remarks:
        _log.warning("%s", remark)
