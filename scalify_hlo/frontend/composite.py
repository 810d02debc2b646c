"""A JAX primitive that lowers to `stablehlo.composite`: a named operation with its plain meaning as decomposition.

`jax.lax.composite` cannot be batched, and in jax 0.10 and 0.11 it fails in modules with symbolic shapes or several
platforms; hence a primitive of our own. It has no derivative: wrap it in `jax.custom_jvp` or `jax.custom_vjp`.

XLA cannot refine the shapes of a composite (jax 0.10 to 0.12), so that a module with symbolic shapes would compile
no more. Where the decomposition has dynamic dimensions, the composite is lowered to a `func.call` instead, of a
private function whose attribute `scalify.composite` holds the name that the composite would have.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import batching, mlir

from scalify_hlo.bindings import func, ir, stablehlo
from scalify_hlo.frontend.lowering import flat_values, lower_to_function

# The composite that holds the scaled form of a custom_scale function, inside that function's decomposition.
RULE = "scalify.scaled_rule"

composite_p = Primitive("scalify_composite")
composite_p.multiple_results = True


def composite(jitted: Any, name: str, *args: Any, attributes: Iterable[tuple[str, Any]] = ()) -> list[Any]:
    """A jitted function of arrays, called as the composite `name`; returns its results as a list.

    jitted: result of `jax.jit`, which also caches the tracing: one function in the module for all equal calls. It
        must not close over traced values.
    attributes: (name, int or str) pairs, the composite's attributes.
    """
    jaxpr = jitted.trace(*args).jaxpr
    return composite_p.bind(*args, jaxpr=jaxpr, name=name, attributes=tuple(attributes))


def _impl(*args: Any, jaxpr: Any, name: str, attributes: Any) -> Sequence[Any]:
    del name, attributes
    return jax.jit(jaxpr_as_fun(jaxpr))(*args)


def _abstract_eval(*avals: Any, jaxpr: Any, name: str, attributes: Any) -> Sequence[Any]:
    del avals, name, attributes
    return jaxpr.out_avals


def _batch(args: Sequence[Any], dims: Sequence[Any], *, jaxpr: Any, name: str, attributes: Any) -> Any:
    """The composite of the batched function; rank-0 results stay free of the batch if they can."""
    args = [x if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True)]
    size = next(x.shape[0] for x, d in zip(args, dims, strict=True) if d is not None)
    axes = tuple(None if d is None else 0 for d in dims)
    function = jaxpr_as_fun(jaxpr)
    if name == RULE:
        batched = _one_scale_per_batch(function, jaxpr.out_avals, axes, size, args)
    else:
        batched = jax.vmap(function, axes, _out_axes(function, jaxpr.out_avals, axes, size, args), axis_size=size)
    outputs = composite(jax.jit(batched), name, *args, attributes=attributes)
    ranks = [getattr(aval, "ndim", 0) for aval in jaxpr.out_avals]
    return outputs, [0 if x.ndim > rank else None for x, rank in zip(outputs, ranks, strict=True)]


def _out_axes(function: Any, out_avals: Any, axes: Any, size: int, args: Sequence[Any]) -> list[int | None]:
    """The batch axis of each result: None for those of rank 0 that depend on nothing batched."""

    def depends(i: int) -> bool:
        try:
            jax.eval_shape(jax.vmap(lambda *xs: function(*xs)[i], axes, None, axis_size=size), *args)
        except ValueError:  # a batched result where an unbatched one is asked for
            return True
        return False

    return [0 if aval.ndim or depends(i) else None for i, aval in enumerate(out_avals)]


def _one_scale_per_batch(function: Any, out_avals: Any, axes: Any, size: int, args: Sequence[Any]) -> Any:
    """A scaled rule over a batch whose scales stay of rank 0: where they differ within the batch, the largest."""
    out_axes = _out_axes(function, out_avals, axes, size, args)
    batched = jax.vmap(function, axes, out_axes, axis_size=size)

    def rule(*xs: Any) -> list[Any]:
        outputs = list(batched(*xs))
        for i in scale_positions(out_avals):
            if out_axes[i] is not None:
                data, scale = outputs[i - 1], outputs[i]
                largest = jnp.max(scale)
                ratio = (scale / largest).reshape(size, *[1] * (data.ndim - 1))
                outputs[i - 1 : i + 1] = (data.astype(ratio.dtype) * ratio).astype(data.dtype), largest
        return outputs

    return rule


def scale_positions(avals: Sequence[Any]) -> list[int]:
    """Where the scales are among values in which every float is followed by its scale."""
    positions: list[int] = []
    i = 0
    while i < len(avals):
        if jnp.issubdtype(avals[i].dtype, jnp.floating):
            positions.append(i + 1)
            i += 1
        i += 1
    return positions


def _lower(ctx: Any, *args: Any, jaxpr: Any, name: str, attributes: Any) -> Sequence[Any]:
    key = (composite_p, id(jaxpr), name)
    cached = ctx.module_context.cached_primitive_lowerings.get(key)
    if cached is None:
        function = lower_to_function(ctx, name, jaxpr)
        dims = _drop_unused(function, len(ctx.dim_var_values))
        # The jaxpr is kept, so that its id stays its own.
        cached = ctx.module_context.cached_primitive_lowerings[key] = (function, dims, jaxpr)
    function, dims, _ = cached
    operands = [*(ctx.dim_var_values[i] for i in dims), *flat_values(args)]
    symbol = ir.FlatSymbolRefAttr.get(function.name.value)
    if all(ir.RankedTensorType(t).has_static_shape for t in (*function.type.inputs, *function.type.results)):
        op = stablehlo.CompositeOp(
            function.type.results,
            operands,
            name=ir.StringAttr.get(name),
            decomposition=symbol,
            composite_attributes=ir.DictAttr.get({k: mlir.ir_attribute(v) for k, v in attributes}),
            version=mlir.i32_attr(1),
        )
    else:
        function.attributes["scalify.composite"] = ir.StringAttr.get(name)
        for k, v in attributes:
            function.attributes[f"scalify.{k}"] = mlir.ir_attribute(v)
        op = func.CallOp(function.type.results, symbol, operands)
    return list(op.results)


def _drop_unused(function: Any, count: int) -> list[int]:
    """Remove unused ones among the first `count` arguments of a function; returns the indices that stay."""
    entry = function.entry_block
    kept = [i for i in range(count) if any(True for _ in entry.arguments[i].uses)]
    for i in reversed(range(count)):
        if i not in kept:
            entry.erase_argument(i)
    if len(kept) < count:
        inputs = [argument.type for argument in entry.arguments]
        type_ = ir.FunctionType.get(inputs, function.type.results)
        function.attributes["function_type"] = ir.TypeAttr.get(type_)
    return kept


composite_p.def_impl(_impl)
composite_p.def_abstract_eval(_abstract_eval)
batching.primitive_batchers[composite_p] = _batch
mlir.register_lowering(composite_p, _lower)
