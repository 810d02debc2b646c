"""Shapes of the scales that a transformed function returns: known before it is lowered, because its type has them.

Only the engine knows where a result keeps one scale for each layer or channel. So a function with such scales among
its arguments is lowered and rewritten once while it is traced, for its type alone; all others have rank-0 scales.
"""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.core
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import mlir

from scalify_hlo.bindings import ir
from scalify_hlo.frontend.dependence import sets_shaped_scaling
from scalify_hlo.frontend.rewriting import Interface, result_signature, rewritten_module
from scalify_hlo.options import ScalifyOptions


def announced(jaxpr: Any, operands: Sequence[Any], interface: Interface, options: ScalifyOptions) -> Interface:
    """The interface with the shapes of the scales of its results.

    operands: of the jaxpr, with data and scale for each input that is a pair.

    Under `shard_map` and with symbolic dimensions, where the program cannot be lowered by itself, results have rank-0
    scales.
    """
    if not (_has_shaped_scales(operands, interface) or sets_shaped_scaling(jaxpr)):
        return interface
    symbolic = any(not isinstance(n, int) for x in operands for n in x.shape)
    if symbolic or jax.sharding.get_abstract_mesh().manual_axes:
        return interface
    found = _Observed()
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in operands]

    def observe(*arrays: Any) -> Any:
        return _observe_p.bind(*arrays, jaxpr=jaxpr, interface=interface, options=options, found=found)

    jax.jit(observe).lower(*shapes)
    return dataclasses.replace(interface, scale_shapes=tuple(found.shapes))


def _has_shaped_scales(operands: Sequence[Any], interface: Interface) -> bool:
    remaining = iter(operands)
    for is_pair in interface.inputs:
        next(remaining)
        if is_pair and next(remaining).ndim:
            return True
    return False


class _Observed:
    """Receives the shapes of the scales, in the order of the results that are pairs."""

    def __init__(self) -> None:
        self.shapes: list[tuple[int, ...]] = []


_observe_p = Primitive("scalify_observe")


def _abstract_eval(*avals: Any, jaxpr: Any, **params: Any) -> tuple[Any, Any]:
    del avals, params
    return jax.core.ShapedArray((), np.bool_), jaxpr.effects


def _lower(
    ctx: Any, *operands: Any, jaxpr: Any, interface: Interface, options: ScalifyOptions, found: _Observed
) -> Sequence[Any]:
    del operands
    effects = [effect for effect in jaxpr.effects if effect in ctx.tokens_in.effects()]
    # Any shape makes the engine keep those that there are.
    asked = dataclasses.replace(interface, scale_shapes=((1,),))
    types, roles = result_signature(rewritten_module(ctx, jaxpr, effects, asked, options))
    results = iter(zip(types[len(effects) :], roles[len(effects) :], strict=True))
    found.shapes.clear()
    for is_pair in interface.results:
        _, role = next(results)
        scale = next(results)[0] if role == "data" else None
        if is_pair:
            found.shapes.append(() if scale is None else tuple(ir.RankedTensorType(scale).shape))
    if effects:
        ctx.set_tokens_out(ctx.tokens_in)
    return [mlir.ir_constant(np.zeros((), np.bool_))]


_observe_p.def_effectful_abstract_eval(_abstract_eval)
mlir.register_lowering(_observe_p, _lower)
