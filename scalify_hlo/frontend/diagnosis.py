"""`scalify_hlo.debug`: from a failing step's inputs to the tensor that failed and the reason, in one call."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from scalify_hlo.bindings import ir
from scalify_hlo.engine.signature import public_function
from scalify_hlo.execution.modules import as_module, clone
from scalify_hlo.frontend.rewriting import rewrite, set_scaled
from scalify_hlo.frontend.transform import ScalifiedFunction, scalify
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.precision_pipeline import Precision
from scalify_hlo.reports.diagnosis import Diagnosis, diagnose, number_operations


def debug(
    fun: Callable[..., Any], *args: Any, precision: Precision | None = None, options: ScalifyOptions | None = None,
    **kwargs: Any,
) -> Diagnosis:  # fmt: skip
    """The first tensor of a step that leaves the range of its type, and why its size was guessed wrong.

    fun: result of `scalify`, or a function to be transformed with `precision` and `options`.
    args, kwargs: of the call that went wrong, numbers at hand (not traced), with ScaledArrays where it had them.

    Prints as a text with the chain of estimates: `print(scalify_hlo.debug(step, state, batch))`. The step runs on the
    CPU, once with statistics of every tensor and once in f64, outside of `jax.jit`: functions of the host
    (`jax.debug.print`) are not called. Takes as long as compiling the step several times. Raises ScalifyError for a
    program that cannot be rewritten or run there.
    """
    function = fun if isinstance(fun, ScalifiedFunction) else scalify(fun, precision=precision, options=options)
    call = function.prepared(*args, **kwargs)
    shapes = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in call.jaxpr.in_avals]
    lowered: Any = jax.jit(jaxpr_as_fun(call.jaxpr), keep_unused=True).lower(*shapes).compiler_ir("stablehlo")
    original = as_module(lowered.operation.get_asm(enable_debug_info=True))
    _name_arguments(original, call.interface.names)
    sources = number_operations(original)
    rewritten = clone(original)
    with rewritten.context, ir.Location.unknown(rewritten.context):
        set_scaled(rewritten, call.interface, call.scale_shapes)
        rewrite(rewritten, dataclasses.replace(call.options, mark_tensors=True), call.interface)
    arrays = [_number(x) for x in call.operands]
    return diagnose(original, rewritten, sources, _values(arrays, call.interface.inputs), arrays)


def _name_arguments(module: ir.Module, names: tuple[str, ...]) -> None:
    with module.context:
        arguments = public_function(module).regions[0].blocks[0].arguments
        for argument, name in zip(arguments, names, strict=True):
            argument.set_location(ir.Location.name(name) if name else ir.Location.unknown())


def _number(x: Any) -> Any:
    """An operand as a NumPy array; random keys by their bits."""
    if jnp.issubdtype(x.dtype, jax.dtypes.extended):
        x = jax.random.key_data(x)
    return np.asarray(x)


def _values(arrays: list[Any], inputs: tuple[bool, ...]) -> list[Any]:
    """The arguments of the original program: data * scale in f64."""
    remaining = iter(arrays)
    values: list[Any] = []
    for is_pair in inputs:
        x = next(remaining)
        values.append(x.astype(np.float64) * next(remaining).astype(np.float64) if is_pair else x)
    return values
