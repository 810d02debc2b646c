"""Programs with symbolic sizes, for arrays whose sizes are numbers.

What can only be run with numbers (calibration, comparison) runs a copy in which the sizes are those of the samples; the
program itself keeps its symbols.
"""

import collections
import contextlib
import re
from collections.abc import Mapping, Sequence

import numpy as np

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir, passmanager
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.modules import clone, operations
from scalify_hlo.module.function_types import retype
from scalify_hlo.passes.private_functions import inline_functions

_REFINE = (
    "builtin.module(stablehlo-refine-shapes,func.func(stablehlo-canonicalize-dynamism),"
    "canonicalize{region-simplify=disabled})"
)
# What JAX's assertions say of the shapes that a program takes.
_SPECIFICATION = re.compile(r"specifications: (.*?)\. Obtained")
# Scales of FP8 operands are known by the number of their product.
_PRODUCTS = ("stablehlo.dot_general", "stablehlo.convolution")


def with_sizes(module: ir.Module, shapes: Mapping[int, Sequence[int]]) -> ir.Module:
    """A copy of a module in which arguments have the given shapes, and all else what follows from them.

    Raises ScalifyError where the shapes break an assertion of the program, or leave a size unknown.
    """
    try:
        return _sized(module, shapes, inlined=False)
    except ScalifyError:
        with contextlib.suppress(ScalifyError):  # a function that is called with several sizes has none of its own
            return _sized(module, shapes, inlined=True)
        raise


def _sized(module: ir.Module, shapes: Mapping[int, Sequence[int]], *, inlined: bool) -> ir.Module:
    sized = clone(module)
    with sized.context, ir.Location.unknown(sized.context):
        main = public_function(sized)
        for i, shape in shapes.items():
            _set_shape(main.regions[0].blocks[0], i, shape)
        retype(main)
        if inlined:
            inline_functions(sized)
        assertions = _assertions(main)
        try:
            passmanager.PassManager.parse(_REFINE).run(sized.operation)
            holds = all(map(_holds, assertions))
        except ir.MLIRError:
            holds = False
        if not holds:
            wanted = {each[0] for text in map(_message, assertions) if (each := _SPECIFICATION.findall(text))}
            given = ", ".join(f"{list(shape)}" for shape in shapes.values())
            raise ScalifyError(f"the program does not take arrays of {given}; {', '.join(wanted) or 'give others'}")
        for assertion in assertions:
            assertion.erase()
    if _products(sized) != _products(module) or _is_dynamic(sized):
        raise ScalifyError(
            "the symbolic sizes of this program do not all follow from those of its arguments: export it for one "
            "platform, or with numbers"
        )
    return sized


def _set_shape(body: ir.Block, i: int, shape: Sequence[int]) -> None:
    """Give an argument a shape; StableHLO's mark between it and its readers goes as the shapes of these are found."""
    argument, before = body.arguments[i], body.arguments[i].type
    uses = [(use.owner, use.operand_number) for use in argument.uses]
    argument.set_type(ir.RankedTensorType.get(list(shape), ir.RankedTensorType(before).element_type))
    with ir.InsertionPoint.at_block_begin(body):
        sizes = ir.DenseElementsAttr.get(np.asarray(shape, np.int64))
        attributes = {
            "call_target_name": ir.StringAttr.get("stablehlo.shape_refinement_operand_wrapper"),
            "indices_of_shape_operands": ir.DenseElementsAttr.get(np.asarray([1], np.int64)),
        }
        constant = ir.Operation.create("stablehlo.constant", [sizes.type], [], {"value": sizes}).results[0]
        marked = ir.Operation.create("stablehlo.custom_call", [before], [argument, constant], attributes).results[0]
    for owner, operand in uses:
        owner.operands[operand] = marked


def _assertions(main: ir.Operation) -> list[ir.Operation]:
    """JAX's assertions on the sizes of the arguments."""
    return [
        op
        for op in (each.operation for each in main.regions[0].blocks[0].operations)
        if op.name == "stablehlo.custom_call"
        and ir.StringAttr(op.attributes["call_target_name"]).value == "shape_assertion"
    ]


def _holds(assertion: ir.Operation) -> bool:
    constant = defining_op(assertion.operands[0])
    return (
        constant is not None
        and constant.name == "stablehlo.constant"
        and bool(np.asarray(ir.DenseElementsAttr(constant.attributes["value"])).all())
    )


def _message(assertion: ir.Operation) -> str:
    return ir.StringAttr(assertion.attributes["error_message"]).value


def _products(module: ir.Module) -> collections.Counter[str]:
    return collections.Counter(op.name for op in operations(module) if op.name in _PRODUCTS)


def _is_dynamic(module: ir.Module) -> bool:
    return any(
        isinstance(result.type, ir.RankedTensorType) and not result.type.has_static_shape
        for op in operations(module)
        for result in op.results
    )
