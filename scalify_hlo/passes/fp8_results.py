"""`scalify-fp8-results`: FP8 products that are rounded to f16 or bf16 next give that type themselves.

# round(2^k (x . y)) = round((2^i x) . (2^j y)), i + j = k

A product that is asked for f32 writes f32, and a kernel of its own reads it, multiplies and rounds: six bytes more for
each element, and no place for what is added to it next. It cannot simply be asked for f16: f16 may not hold x . y, and
then the product by 2^k comes too late (promise P3). So the factor goes to the operands, which are read as f16: every
number of an FP8 format times such a power of two is one of f16, so that the f32 sums and the one rounding are those
of before. XLA:GPU makes an FP8 product of this form, with the powers of two as its operands' scales
(xla/service/gpu/transforms/gemm_rewriter.cc), and writes an operand in the two layouts that forward and backward read
from one kernel.

Products that share an operand have unlike factors for it: XLA would merge like ones into one product of f16, with what
they do not share joined (xla/service/dot_merger.cc), and joined operands are no FP8 operands.

Only in training steps, on one device: parts that devices sum are summed in f32, or as `scalify-partial-sums` chooses.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, only_reader, walk
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.carriers import layouts_folded
from scalify_hlo.module.constants import splat_number
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.manual import is_partitioned
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.fp8_quantise import unmoved
from scalify_hlo.types import FLOAT_RANGE, smallest_exponent, tensor_info

_PRODUCT = "stablehlo.dot_general"
_GRADIENTS = ("f8E5M2", "f8E5M2FNUZ")


@dataclasses.dataclass(frozen=True)
class FP8Results(Pass):
    """Let FP8 products of a training step on one device give f16 or bf16 themselves where they are rounded to it."""

    name: ClassVar[str] = "scalify-fp8-results"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Rewrites products in place."""
        if is_partitioned(module):
            return
        products = [op for op in walk(module.operation) if op.name == _PRODUCT and _is_fp8(op)]
        if not any(tensor_info(x.type).element in _GRADIENTS for op in products for x in op.operands):
            return  # no backward pass
        with module.context, ir.Location.unknown(module.context), layouts_folded(module):
            taken: set[tuple[ir.Value, int]] = set()
            count = sum(narrowed(op, functools.partial(_split, taken=taken)) for op in products)
            if count:
                erase_dead(module)
        if count:
            remarks.append(Diagnostic(f"{self.name}: {count} products give their rounded results", "", "remark"))


def _is_fp8(op: ir.Operation) -> bool:
    operands = [tensor_info(operand.type).element for operand in op.operands]
    return tensor_info(op.results[0].type).element == "f32" and all(name.startswith("f8") for name in operands)


def narrowed(op: ir.Operation, split: Callable[[ir.Operation, int, str], tuple[int, int] | None]) -> bool:
    """Give one product the type that its result is rounded to; whether it was done.

    split: what of a power of two each operand of a product takes, whose result has a type; None where they cannot.
    """
    value, exponent = op.results[0], 0
    reader = only_reader(value)
    if reader is not None and reader.name == "stablehlo.multiply":
        factor = _power_of_two(reader, value)
        if factor is None:
            return False
        value, exponent = reader.results[0], factor
    users = [use.owner.operation for use in value.uses]
    # What reads it in f32 reads it as it was rounded for the others: it is of that type in the program.
    rounded = {tensor_info(user.results[0].type).element for user in users if user.name == "stablehlo.convert"}
    target = next(iter(rounded)) if len(rounded) == 1 else ""
    if target not in ("f16", "bf16"):
        return False
    exponents = split(op, exponent, target)
    if exponents is None:
        return False
    with ir.InsertionPoint(op), op.location:
        for i, power in enumerate(exponents):
            operand = emit.convert(op.operands[i], target)
            if power:
                scale = emit.broadcast(emit.splat(emit.tensor_type((), target), 2.0**power), operand)
                operand = emit.op("multiply", operand.type, operand, scale)
            op.operands[i] = operand
    readers = [use for use in value.uses if use.owner.operation.name != "stablehlo.convert"]
    for user in users:
        if user.name == "stablehlo.convert":
            user.results[0].replace_all_uses_with(op.results[0])
    op.results[0].set_type(emit.with_element(op.results[0].type, target))
    if readers:
        with ir.InsertionPoint.after(op), op.location:
            widened = emit.convert(op.results[0], "f32")
        for use in readers:
            use.owner.operation.operands[use.operand_number] = widened
    return True


def _split(op: ir.Operation, exponent: int, wide: str, taken: set[tuple[ir.Value, int]]) -> tuple[int, int] | None:
    """What of a power of two each operand takes, as few of them as can be; None where they cannot bear it.

    taken: operands, as they were rounded, and log2 of the factors that they have in products.
    """
    roots = [unmoved(operand) for operand in op.operands]
    first, second = (_exact_powers(tensor_info(operand.type).element, wide) for operand in op.operands)
    splits = ((i, exponent - i) for i in range(first[0], first[1] + 1) if second[0] <= exponent - i <= second[1])
    for split in sorted(splits, key=lambda each: (sum(map(bool, each)), sum(map(abs, each)))):
        pairs = list(zip(roots, split, strict=True))
        if taken.isdisjoint(pairs):
            taken.update(pairs)
            return split
    return None


def _exact_powers(element: str, wide: str) -> tuple[int, int]:
    """The lowest and the highest k for which 2^k times any number of an FP8 format is a number of a wider type."""
    # Subnormal numbers of bf16 are f32's: compilers make them zero.
    smallest = smallest_exponent(wide) if wide == "f16" else FLOAT_RANGE[wide][1]
    return smallest - smallest_exponent(element), FLOAT_RANGE[wide][0] - FLOAT_RANGE[element][0]


def _power_of_two(multiply: ir.Operation, value: ir.Value) -> int | None:
    """log2 of the power of two that `value` is multiplied by; None if the other operand is no such constant."""
    others = [operand for operand in multiply.operands if operand != value]
    constant = defining_op(others[0]) if len(others) == 1 else None
    if constant is None or constant.name != "stablehlo.constant":
        return None
    number = splat_number(constant)
    if not isinstance(number, float) or number <= 0 or not math.isfinite(number):
        return None
    mantissa, exponent = math.frexp(number)
    return exponent - 1 if mantissa == 0.5 else None
