"""The JAX primitive behind `scalify`: a jaxpr, to be lowered, rewritten over (data, scale) pairs, and called.

The rewriting happens when JAX lowers the surrounding program, in its module context: platform, shardings, manual
axes, callbacks and symbolic dimensions are those of the caller.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching, mlir

from scalify_hlo.bindings import func, ir
from scalify_hlo.frontend.dependence import is_float
from scalify_hlo.frontend.lowering import flat_values
from scalify_hlo.frontend.nan_checks import asked, check_values
from scalify_hlo.frontend.primitives import set_scaling
from scalify_hlo.frontend.rewriting import Interface, known_of, result_signature, rewritten_module
from scalify_hlo.frontend.scale_shapes import announced
from scalify_hlo.frontend.scaled_array import SCALE_DTYPE, ScaledArray
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes import emission as emit
from scalify_hlo.types import tensor_info

scalify_p = Primitive("scalify")
scalify_p.multiple_results = True
# With jax 0.12 a jaxpr may have primitives that JAX writes out before it lowers (a solve by LU is one). It does so with
# those of the jaxpr inside, when that is lowered as a function.
scalify_p.is_high = lambda *_, **__: False


def call_scalified(jaxpr: Any, operands: Sequence[Any], interface: Interface, options: ScalifyOptions) -> list[Any]:
    """The results of the rewritten jaxpr: a flat list with data and scale of each result that is a pair.

    operands: of the jaxpr, with data and scale for each input that is a pair.
    """
    return scalify_p.bind(*operands, jaxpr=jaxpr, interface=interface, options=options)


def _impl(*operands: Any, **params: Any) -> Sequence[Any]:
    checks = asked()
    # JAX's own check of the results would call this again, and again.
    with jax.disable_jit(False), jax.debug_nans(False), jax.debug_infs(False):
        results = jax.jit(lambda *xs: scalify_p.bind(*xs, **params))(*operands)
    if checks.nans or checks.infs:
        check_values(operands, results, params["jaxpr"], params["interface"], checks)
    return results


def _abstract_eval(*avals: Any, jaxpr: Any, interface: Interface, options: ScalifyOptions) -> tuple[Any, Any]:
    del avals, options
    results: list[Any] = []
    types = interface.result_types or [""] * len(jaxpr.out_avals)
    for aval, dtype, (scaled, shape) in zip(jaxpr.out_avals, types, interface.pairs(), strict=True):
        # Random keys have a type of their own, which NumPy does not know.
        aval = aval.update(dtype=np.dtype(dtype)) if dtype and is_float(aval) else aval
        results += [aval, jax.core.ShapedArray(shape, SCALE_DTYPE)] if scaled else [aval]
    return results, jaxpr.effects


def _refuse_derivative(*args: Any, **params: Any) -> Any:
    del args
    name = params["interface"].function
    raise NotImplementedError(
        f"scalify({name}) cannot be differentiated from outside: the derivative with respect to (data, scale) pairs "
        f"is not the scaled derivative. Differentiate first, then transform: scalify(jax.grad({name})) instead of "
        f"jax.grad(scalify({name})), or put the whole training step inside scalify."
    )


def _batch(axis: Any, operands: Sequence[Any], dims: Sequence[Any], *, jaxpr: Any, interface: Interface,
           options: ScalifyOptions) -> Any:  # fmt: skip
    """scalify(vmap(f)) in place of vmap(scalify(f)); rank-0 scales that differ within the batch are made one first."""
    size = axis.size
    new_operands: list[Any] = []
    axes: list[int | None] = []
    pairs = iter(zip(operands, dims, strict=True))
    for scaled in interface.inputs:
        x, dim = next(pairs)
        if dim is None and interface.precision is not None:
            # State is told from other inputs by its results, which have its shape.
            x, dim = jnp.broadcast_to(x, (size, *x.shape)), 0
        if scaled:
            scale, scale_dim = next(pairs)
            if scale_dim is not None:
                x = jnp.broadcast_to(x, (size, *x.shape)) if dim is None else jnp.moveaxis(x, dim, 0)
                dim = 0
                scale = jnp.moveaxis(scale, scale_dim, 0)
                if scale.ndim == 1:
                    both = set_scaling(ScaledArray(x, scale.reshape(size, *[1] * (x.ndim - 1))), jnp.max(scale))
                    x, scale = both.data, both.scale
            elif scale.ndim and dim is not None:
                x, dim, scale = jnp.moveaxis(x, dim, 0), 0, scale[None]
            new_operands += [x, scale]
        else:
            new_operands.append(x)
        axes.append(dim)
    # The jaxpr's own element types: state is stored in others where there is a precision.
    plain = [
        jax.ShapeDtypeStruct(np.shape(x), aval.dtype)
        for x, aval in zip(_without_scales(new_operands, interface.inputs), jaxpr.in_avals, strict=True)
    ]
    name = axis.name if isinstance(axis.name, str) else None  # of `vmap(axis_name=)`: collectives go over it
    function = jax.vmap(jaxpr_as_fun(jaxpr), in_axes=tuple(axes), axis_size=size, axis_name=name)
    batched = jax.make_jaxpr(function)(*plain)
    with_shapes = announced(batched, new_operands, dataclasses.replace(interface, scale_shapes=()), options)
    results = iter(call_scalified(batched, new_operands, with_shapes, options))
    outputs: list[Any] = []
    out_dims: list[int | None] = []
    for scaled, shape in interface.pairs():
        outputs.append(next(results))
        out_dims.append(0)
        if not scaled:
            continue
        scale = next(results)
        if shape:
            # One scale for each member of the batch and whatever has one in it.
            scale = jnp.broadcast_to(scale, (size, *shape))
        elif scale.ndim:
            both = set_scaling(ScaledArray(outputs[-1], scale), jnp.max(scale))
            outputs[-1], scale = both.data, both.scale
        outputs.append(scale)
        out_dims.append(0 if shape else None)
    return outputs, out_dims


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
    known = known_of(ctx, operands, interface)
    # One function for all calls that are alike, as JAX has it for those of `jax.jit` functions.
    functions = ctx.module_context.cached_primitive_lowerings
    place = ctx.module_context.axis_context
    key = ("scalify", jaxpr, tuple(effects), interface, options, tuple(ctx.avals_in), place, known)
    if key not in functions:
        module = rewritten_module(ctx, jaxpr, effects, interface, options, known)
        signature = result_signature(module)
        name = mlir.merge_mlir_modules(
            ctx.module_context.module,
            f"scalify_{interface.function}",
            module,
            dst_symtab=ctx.module_context.symbol_table,
        )
        functions[key] = name, signature
    name, (types, roles) = functions[key]
    tokens = flat_values([ctx.tokens_in.get(effect) for effect in effects])
    arguments = [*ctx.dim_var_values, *tokens, *flat_values(operands)]
    results = list(func.CallOp(types, ir.FlatSymbolRefAttr.get(name), arguments).results)
    if effects:
        ctx.set_tokens_out(mlir.TokenSet(dict(zip(effects, results[: len(effects)], strict=True))))
    return _results(results[len(effects) :], roles[len(effects) :], interface)


def _results(values: Sequence[Any], roles: Sequence[str], interface: Interface) -> list[Any]:
    """The module's results in the form that was announced when the call was traced."""
    remaining = iter(zip(values, roles, strict=True))
    results: list[Any] = []
    for is_pair in interface.results:
        data, role = next(remaining)
        scale = next(remaining)[0] if role == "data" else None
        if is_pair:
            results += [data, mlir.ir_constant(np.ones((), SCALE_DTYPE)) if scale is None else scale]
        else:
            results.append(data if scale is None else _multiplied_out(data, scale))
    return results


def _multiplied_out(data: Any, scale: Any) -> Any:
    """data * scale, in the type of the data: of a result that only the rescaling of gradients has given a scale."""
    with ir.Location.unknown():
        wide = emit.convert(data, "f32")
        dims = ir.DenseI64ArrayAttr.get(list(range(tensor_info(scale.type).rank)))
        scales = emit.op("broadcast_in_dim", wide.type, scale, broadcast_dimensions=dims)
        product = emit.op("multiply", wide.type, wide, scales)
        return emit.convert(product, tensor_info(data.type).element)


scalify_p.def_impl(_impl)
scalify_p.def_effectful_abstract_eval(_abstract_eval)
ad.primitive_jvps[scalify_p] = _refuse_derivative
batching.fancy_primitive_batchers[scalify_p] = _batch
try:
    # Not shared between calls: what computes the operands tells which scales are equal on all devices.
    mlir.register_lowering(scalify_p, _lower, cacheable=False)
except TypeError:  # JAX announces that this argument will go; scales then meet in a collective once more than needed
    mlir.register_lowering(scalify_p, _lower)
