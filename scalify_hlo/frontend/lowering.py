"""Lowering of a closed jaxpr into a function of an MLIR module, through JAX's public lowering interface."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax.extend.core import jaxpr_as_fun
from jax.interpreters import mlir

from scalify_hlo.bindings import func, ir


def lower_to_function(
    ctx: Any,
    name: str,
    jaxpr: Any,
    *,
    module_context: Any = None,
    public: bool = False,
    effects: Sequence[Any] = (),
    arg_names: Sequence[str] = (),
) -> Any:
    """A new `func.func` that computes `jaxpr`, in the module being lowered or in that of `module_context`.

    ctx: the LoweringRuleContext of the primitive being lowered.
    effects: ordered effects of the jaxpr: one token argument and result each.
    arg_names: names of the array arguments, recorded as their locations.

    The arguments are the dimension variables and platform index of the module (`len(ctx.dim_var_values)` of them,
    none in the usual case), the tokens, the arrays; the results are the tokens, then the arrays.
    """
    module_context = ctx.module_context if module_context is None else module_context
    dims = [value.type for value in ctx.dim_var_values]
    tokens = [mlir.token_type()] * len(effects)
    arrays = [mlir.aval_to_ir_type(module_context, aval) for aval in jaxpr.in_avals]
    results = [mlir.aval_to_ir_type(module_context, aval) for aval in jaxpr.out_avals]
    type_ = ir.FunctionType.get([*dims, *tokens, *arrays], [*tokens, *results])
    location = ir.Location.unknown()
    function = func.FuncOp(name, type_, ip=ir.InsertionPoint(module_context.module.body), loc=location)
    function.attributes["sym_visibility"] = ir.StringAttr.get("public" if public else "private")
    module_context.symbol_table.insert(function)
    names = [*[""] * (len(dims) + len(tokens)), *(arg_names or [""] * len(arrays))]
    locations = [ir.Location.name(n) if n else location for n in names]
    entry = function.add_entry_block(locations)
    arguments = list(entry.arguments)
    first = len(dims) + len(tokens)
    inner = ctx.replace(
        module_context=module_context,
        primitive=None,
        avals_in=jaxpr.in_avals,
        avals_out=jaxpr.out_avals,
        tokens_in=mlir.TokenSet(dict(zip(effects, arguments[len(dims) : first], strict=True))),
        tokens_out=None,
        dim_var_values=arguments[: len(dims)],
        const_lowering={},
    )
    with ir.InsertionPoint(entry), location:
        outputs = mlir.lower_fun(jaxpr_as_fun(jaxpr), multiple_results=True)(inner, *arguments[first:])
        tokens_out = [inner.tokens_out.get(effect) for effect in effects] if effects else []
        func.ReturnOp(flat_values([*tokens_out, *outputs]))
    return function


def flat_values(values: Any) -> list[Any]:
    """The MLIR values of lowered arrays, tokens or nested sequences of them."""
    return mlir.ir_tree_registry.flatten(values)[0]
