"""In which element types a precision stores the inputs and results of a jaxpr."""

# jax and numpy are annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import jaxpr_as_fun

from scalify_hlo.bindings import ir
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.precision_pipeline import passes_around_scalify
from scalify_hlo.precision import PrecisionPolicy
from scalify_hlo.signature import public_function

# What state can be stored in, in NumPy's names.
_NARROW = {"f16": "float16", "bf16": "bfloat16"}


def stored_types(jaxpr: Any, names: Sequence[str], precision: PrecisionPolicy) -> tuple[list[str], list[str]]:
    """NumPy names of the element types of a jaxpr's inputs and results.

    names: of the inputs, for the policy's patterns. Raises ScalifyError where the state is to change its type and
    the jaxpr has none, and for patterns that match no input.
    """
    own = [str(aval.dtype) for aval in jaxpr.in_avals], [str(aval.dtype) for aval in jaxpr.out_avals]
    if not precision.changes_state:
        return own
    shapes = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in jaxpr.in_avals]
    module: Any = jax.jit(jaxpr_as_fun(jaxpr), keep_unused=True).lower(*shapes).compiler_ir("stablehlo")
    with module.context:
        main = public_function(module)
        # Effects and dimension variables come before the inputs and results.
        arguments = list(main.regions[0].blocks[0].arguments)
        for argument, name in zip(arguments[len(arguments) - len(names) :], names, strict=True):
            argument.set_location(ir.Location.name(name))
        before, _ = passes_around_scalify(precision)
        cast = next(each for each in before if isinstance(each, Cast))
        found = cast.stored_types(module)
    return _narrowed(found[0], own[0]), _narrowed(found[1], own[1])


def _narrowed(elements: list[str], dtypes: list[str]) -> list[str]:
    """NumPy's names of the last of the elements, as many as there are dtypes; of f32 ones that have become narrow."""
    last = elements[len(elements) - len(dtypes) :]
    return [
        _NARROW.get(element, dtype) if dtype == "float32" else dtype
        for element, dtype in zip(last, dtypes, strict=True)
    ]
