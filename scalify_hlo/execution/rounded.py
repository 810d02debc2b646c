"""What a precision loses of a program whatever its scales are: its narrow values rounded, without limits of range.

The program that `scalify-cast` makes is computed in f64 and rounded wherever it has a narrow value, to the digits of
the type; with FP8 products their operands are rounded as well. What a rewritten program may differ by is some times
that: measured, not guessed.
"""

from collections.abc import Sequence

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.execution.element_types import Array, is_float_array
from scalify_hlo.execution.modules import clone, operations
from scalify_hlo.execution.promote import promote_to_f64
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.normal_form import NormalForm
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.precision import PrecisionPolicy
from scalify_hlo.types import tensor_info

_ROUNDED, _OPERANDS = "scalify.digits", "scalify.operand_digits"
# Digits after the point, beyond which a value of the type is rounded.
DIGITS = {"f16": 10, "bf16": 7}
# Of operands of products: E5M2's, which gradients have, E4M3's, and E2M1's.
_E5M2, _E4M3, _E2M1 = 2, 3, 1


def cast_program(module: ir.Module, precision: PrecisionPolicy | str) -> ir.Module:
    """A copy of a program in the types of a precision, without scales and without FP8."""
    cast = clone(module)
    elements = precision_pipeline(precision).elements
    Pipeline(tuple(each for each in elements if isinstance(each, NormalForm | Cast))).run(cast, [])
    return cast


def operand_digits(precision: PrecisionPolicy, *, trains: bool) -> int | None:
    """The digits after the point of the coarsest operand of a product; None where no product becomes FP8."""
    if not precision.fp8_products:
        return None
    return _E2M1 if precision.blocks == "nvfp4" else _E5M2 if trains else _E4M3


def rounded_program(cast: ir.Module, digits: int | None) -> ir.Module:
    """The cast program in f64, rounded where the cast has narrow values, and operands of products to some digits."""
    marked = clone(cast)
    with marked.context:
        for op in operations(marked):
            types = [r.type for r in op.results if isinstance(r.type, ir.RankedTensorType)]
            own = [DIGITS.get(tensor_info(each).element, 0) for each in types]
            if any(own) and op.name != "stablehlo.constant":
                op.attributes[_ROUNDED] = _integer(max(own))
            if digits is not None and op.name == "stablehlo.dot_general":
                op.attributes[_OPERANDS] = _integer(digits)
    wide = promote_to_f64(marked)
    with wide.context, ir.Location.unknown():
        for op in operations(wide):
            if _OPERANDS in op.attributes:
                for i, operand in enumerate(list(op.operands)):
                    if tensor_info(operand.type).is_complex:
                        continue
                    op.operands[i] = _reduced(operand, op.attributes[_OPERANDS], ir.InsertionPoint(op))
            if _ROUNDED in op.attributes:
                for result in op.results:
                    if tensor_info(result.type).element == "f64":
                        uses = [(use.owner, use.operand_number) for use in result.uses]
                        value = _reduced(result, op.attributes[_ROUNDED], ir.InsertionPoint.after(op))
                        for owner, number in uses:
                            owner.operation.operands[number] = value
        assert wide.operation.verify()
    return wide


def neighbours(arrays: Sequence[Array], seed: int, eps: float) -> list[Array]:
    """Every float moved by about an eps of itself."""
    rng = np.random.default_rng(seed)
    return [(x * (1 + eps * rng.standard_normal(x.shape))).astype(x.dtype) if is_float_array(x) else x for x in arrays]


def _reduced(value: ir.Value, digits: ir.Attribute, ip: ir.InsertionPoint) -> ir.Value:
    bits = {"exponent_bits": _integer(11, 32), "mantissa_bits": _integer(ir.IntegerAttr(digits).value, 32)}
    return ir.Operation.create("stablehlo.reduce_precision", [value.type], [value], bits, ip=ip).results[0]


def _integer(number: int, bits: int = 64) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), number)
