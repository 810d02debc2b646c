"""The rewritten form of a jaxpr: a module over (data, scale) pairs, in the MLIR context that JAX is lowering in."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic
from scalify_hlo.frontend.lowering import lower_to_function
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.precision import PrecisionPolicy

# Element types that a scaled result may have: all floats, so that f8 weights and gradients leave as pairs too.
_SCALED_TYPES = ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4", "f8E4M3FNUZ", "f8E5M2FNUZ",
                 "f8E4M3B11FNUZ")  # fmt: skip

_log = logging.getLogger("scalify_hlo")


@dataclasses.dataclass(frozen=True)
class Interface:
    """What is scaled in a call, as far as it decides the types of its operands and results.

    inputs: for each input of the jaxpr, whether it is a (data, scale) pair of operands.
    results: for each result of the jaxpr, whether it is a pair.
    scale_shapes: for each result that is a pair, the shape of its scale; () for all if empty.
    names: for each input, its name in messages and locations.
    precision: what the jaxpr, written in f32, is computed and stored in; None where it says so itself.
    result_types: for each result, its element type in that precision; empty without one.
    """

    inputs: tuple[bool, ...]
    results: tuple[bool, ...]
    names: tuple[str, ...]
    function: str
    scale_shapes: tuple[tuple[int, ...], ...] = ()
    precision: PrecisionPolicy | None = None
    result_types: tuple[str, ...] = ()

    def pairs(self) -> list[tuple[bool, tuple[int, ...]]]:
        """For each result, whether it is a pair, and the shape of its scale."""
        shapes = iter(self.scale_shapes)
        return [(pair, next(shapes, ()) if pair else ()) for pair in self.results]


def rewritten_module(
    ctx: Any, jaxpr: Any, effects: Sequence[Any], interface: Interface, options: ScalifyOptions
) -> Any:
    """A module of its own whose @main computes the jaxpr on (data, scale) pairs.

    The scales of its results have shapes if `interface` says so.
    """
    shapes = _shapes_of_scales(ctx.avals_in, interface.inputs)
    module = _module_of(ctx, jaxpr, effects, interface, shapes)
    options = dataclasses.replace(
        options,
        args="none",
        scale_dims="",
        scaled_types=_SCALED_TYPES,
        plain_results=False,
        result_scales="shaped" if any(interface.scale_shapes) else "scalar",
    )
    _rewrite(module, options, interface.precision)
    return module


def result_signature(module: Any) -> tuple[list[Any], list[str]]:
    """Types and roles of the results of @main."""
    main = next(op for op in module.body.operations if op.operation.attributes["sym_name"].value == "main")
    types = list(main.type.results)
    roles = [_role(attributes) for attributes in main.attributes["res_attrs"]] if "res_attrs" in main.attributes else []
    return types, roles or [""] * len(types)


def _module_of(ctx: Any, jaxpr: Any, effects: Sequence[Any], interface: Interface, shapes: Sequence[Any]) -> Any:
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
    main = lower_to_function(
        ctx, "main", jaxpr, module_context=context, public=True, effects=effects, arg_names=interface.names
    )
    unit = ir.UnitAttr.get()
    leading = [ir.DictAttr.get({})] * (len(ctx.dim_var_values) + len(effects))
    attributes = [
        ir.DictAttr.get(
            {"scalify.scaled": unit} | ({"scalify.scale_shape": ir.DenseI64ArrayAttr.get(list(shape))} if shape else {})
            if scaled else {}
        )
        for scaled, shape in zip(interface.inputs, shapes, strict=True)
    ]  # fmt: skip
    main.attributes["arg_attrs"] = ir.ArrayAttr.get([*leading, *attributes])
    return module


def _shapes_of_scales(avals: Sequence[Any], scaled: Sequence[bool]) -> list[tuple[int, ...]]:
    """For each input, the shape of its scale; () for plain ones."""
    remaining = iter(avals)
    shapes: list[tuple[int, ...]] = []
    for is_pair in scaled:
        next(remaining)
        shapes.append(next(remaining).shape if is_pair else ())
    return shapes


def _rewrite(module: Any, options: ScalifyOptions, precision: PrecisionPolicy | None) -> None:
    """Rewrite a module in place by the engine, with the passes of a precision around it.

    What the engine remarks goes to the log as warnings, what the passes tell of their work as information.
    """
    from scalify_hlo.passes.precision_pipeline import passes_around_scalify
    from scalify_hlo.rewrite import scalify_in_place

    before, after = passes_around_scalify(precision) if precision is not None else ((), ())
    told: list[Diagnostic] = []
    remarks: list[Diagnostic] = []
    for each in before:
        each.apply(module, told)
    scalify_in_place(module, options, remarks)
    for each in after:
        each.apply(module, told)
    for remark in told:
        _log.info("%s", remark)
    for remark in remarks:
        _log.warning("%s", remark)


def _role(attributes: Any) -> str:
    return attributes["scalify.role"].value if "scalify.role" in attributes else ""
