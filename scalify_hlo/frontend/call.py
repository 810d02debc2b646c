"""The JAX primitive behind `scalify`: a jaxpr, to be lowered, rewritten over (data, scale) pairs, and called.

The rewriting happens when JAX lowers the surrounding program, in its module context: platform, shardings, manual
axes, callbacks and symbolic dimensions are those of the caller.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir

from scalify_hlo.bindings import func, ir
from scalify_hlo.errors import Diagnostic
from scalify_hlo.frontend.lowering import flat_values, lower_to_function
from scalify_hlo.frontend.primitives import set_scaling
from scalify_hlo.frontend.scaled_array import SCALE_DTYPE, ScaledArray
from scalify_hlo.options import ScalifyOptions

# Element types that a scaled result may have: all floats, so that f8 weights and gradients leave as pairs too.
_SCALED_TYPES = ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3", "f8E3M4", "f8E4M3FNUZ", "f8E5M2FNUZ",
                 "f8E4M3B11FNUZ")  # fmt: skip


_log = logging.getLogger("scalify_hlo")


@dataclasses.dataclass(frozen=True)
class Interface:
    """What is scaled in a call, as far as it decides the types of its operands and results.

    inputs: for each input of the jaxpr, whether it is a (data, scale) pair of operands.
    results: for each result of the jaxpr, whether it is a pair.
    names: for each input, its name in messages and locations.
    """

    inputs: tuple[bool, ...]
    results: tuple[bool, ...]
    names: tuple[str, ...]
    function: str


scalify_p = Primitive("scalify")
scalify_p.multiple_results = True


def call_scalified(jaxpr: Any, operands: Sequence[Any], interface: Interface, options: ScalifyOptions) -> list[Any]:
    """The results of the rewritten jaxpr: a flat list with data and scale of each result that is a pair.

    operands: of the jaxpr, with data and scale for each input that is a pair.
    """
    return scalify_p.bind(*operands, jaxpr=jaxpr, interface=interface, options=options)


def _impl(*operands: Any, **params: Any) -> Sequence[Any]:
    with jax.disable_jit(False):
        return jax.jit(lambda *xs: scalify_p.bind(*xs, **params))(*operands)


def _abstract_eval(*avals: Any, jaxpr: Any, interface: Interface, options: ScalifyOptions) -> tuple[Any, Any]:
    del avals, options
    scale = jax.core.ShapedArray((), SCALE_DTYPE)
    results: list[Any] = []
    for aval, scaled in zip(jaxpr.out_avals, interface.results, strict=True):
        results += [aval, scale] if scaled else [aval]
    return results, jaxpr.effects


def _refuse_derivative(*args: Any, **params: Any) -> Any:
    del args
    name = params["interface"].function
    raise NotImplementedError(
        f"scalify({name}) cannot be differentiated from outside: the derivative with respect to (data, scale) pairs "
        f"is not the scaled derivative. Differentiate first, then transform: scalify(jax.grad({name})) instead of "
        f"jax.grad(scalify({name})), or put the whole training step inside scalify."
    )


def _batch(operands: Sequence[Any], dims: Sequence[Any], *, jaxpr: Any, interface: Interface,
           options: ScalifyOptions) -> Any:  # fmt: skip
    """scalify(vmap(f)) in place of vmap(scalify(f)); scales that differ within the batch are made one first."""
    size = next(x.shape[d] for x, d in zip(operands, dims, strict=True) if d is not None)
    new_operands: list[Any] = []
    axes: list[int | None] = []
    pairs = iter(zip(operands, dims, strict=True))
    for scaled in interface.inputs:
        x, dim = next(pairs)
        if scaled:
            scale, scale_dim = next(pairs)
            if scale_dim is not None:
                x = jnp.broadcast_to(x, (size, *x.shape)) if dim is None else jnp.moveaxis(x, dim, 0)
                dim = 0
                scale = jnp.moveaxis(scale, scale_dim, 0)
                scale = scale.reshape(size, *(scale.shape[1:] or [1] * (x.ndim - 1)))
                both = set_scaling(ScaledArray(x, scale), jnp.max(scale))
                x, scale = both.data, both.scale
            elif scale.ndim and dim is not None:
                x, dim, scale = jnp.moveaxis(x, dim, 0), 0, scale[None]
            new_operands += [x, scale]
        else:
            new_operands.append(x)
        axes.append(dim)
    plain = _without_scales(new_operands, interface.inputs)
    batched = jax.make_jaxpr(jax.vmap(jaxpr_as_fun(jaxpr), in_axes=tuple(axes), axis_size=size))(*plain)
    results = call_scalified(batched, new_operands, interface, options)
    out_dims: list[int | None] = []
    for scaled in interface.results:
        out_dims += [0, None] if scaled else [0]
    return results, out_dims


def _without_scales(operands: Sequence[Any], scaled: Sequence[bool]) -> list[Any]:
    """The operands that are no scales."""
    remaining = iter(operands)
    plain: list[Any] = []
    for is_pair in scaled:
        plain.append(next(remaining))
        if is_pair:
            next(remaining)
    return plain


def _lower(ctx: Any, *operands: Any, jaxpr: Any, interface: Interface, options: ScalifyOptions) -> Sequence[Any]:
    effects = [effect for effect in jaxpr.effects if effect in ctx.tokens_in.effects()]
    module = _module_of(ctx, jaxpr, effects, interface, _shapes_of_scales(ctx.avals_in, interface.inputs))
    rewrite(module, dataclasses.replace(options, args="none", scaled_types=_SCALED_TYPES, plain_results=False))
    main = next(op for op in module.body.operations if op.operation.attributes["sym_name"].value == "main")
    roles = [_role(attributes) for attributes in main.attributes["res_attrs"]] if "res_attrs" in main.attributes else []
    types = list(main.type.results)
    roles = roles or [""] * len(types)
    name = mlir.merge_mlir_modules(
        ctx.module_context.module, f"scalify_{interface.function}", module, dst_symtab=ctx.module_context.symbol_table
    )
    tokens = flat_values([ctx.tokens_in.get(effect) for effect in effects])
    arguments = [*ctx.dim_var_values, *tokens, *flat_values(operands)]
    results = list(func.CallOp(types, ir.FlatSymbolRefAttr.get(name), arguments).results)
    if effects:
        ctx.set_tokens_out(mlir.TokenSet(dict(zip(effects, results[: len(effects)], strict=True))))
    return _results(results[len(effects) :], roles[len(effects) :], interface)


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


def rewrite(module: Any, options: ScalifyOptions) -> None:
    """Rewrite a module in place by the engine; remarks go to the log as warnings."""
    from scalify_hlo.rewrite import scalify_in_place

    remarks: list[Diagnostic] = []
    scalify_in_place(module, options, remarks)
    for remark in remarks:
        _log.warning("%s", remark)


def _role(attributes: Any) -> str:
    return attributes["scalify.role"].value if "scalify.role" in attributes else ""


def _results(values: Sequence[Any], roles: Sequence[str], interface: Interface) -> list[Any]:
    """The module's results in the form that was announced when the call was traced."""
    remaining = iter(zip(values, roles, strict=True))
    results: list[Any] = []
    for announced in interface.results:
        data, role = next(remaining)
        scale = next(remaining)[0] if role == "data" else None
        if announced:
            results += [data, mlir.ir_constant(np.ones((), SCALE_DTYPE)) if scale is None else scale]
        else:
            # A result that depends on nothing scaled has the constant scale 1.
            results.append(data)
    return results


scalify_p.def_impl(_impl)
scalify_p.def_effectful_abstract_eval(_abstract_eval)
ad.primitive_jvps[scalify_p] = _refuse_derivative
batching.primitive_batchers[scalify_p] = _batch
mlir.register_lowering(scalify_p, _lower)
