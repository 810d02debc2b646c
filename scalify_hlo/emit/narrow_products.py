"""Products that are rounded to bf16 next: the product itself gives that type.

# round(2^-k (x . y)) = 2^-k round(x . y), if x . y is within the range of the type

GPU libraries accumulate in f32 whatever the result's type is, take a factor known at compile time as their alpha, and
round last. Asked for f32, they write f32, and a kernel of its own reads it, multiplies and rounds: six bytes more for
each element (xla/service/gpu/transforms/gemm_rewriter.cc folds a factor into a product, a narrowing convert not).

A semantics that rounds before it multiplies must not overflow either, and how large the elements of a sum get is only
estimated: bf16, which has the range of f32, is safe, and f16 is not (promise P3).
"""

import dataclasses
import math
from collections.abc import Collection, Iterable

from scalify_hlo.analysis.calls import only_reader
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import splat, splat_number
from scalify_hlo.module.identity import identity
from scalify_hlo.types import TensorInfo, tensor_info

_NARROW = "bf16"


@dataclasses.dataclass(frozen=True, slots=True)
class Product:
    """A contraction with f32 result, and the identity of its operation while that existed."""

    op: ir.Operation
    key: int


def noted_product(op: ir.Operation) -> Product:
    """A contraction that `narrow_products` is to look at once the function is rewritten."""
    return Product(op, identity(op))


def narrow_products(products: Iterable[Product], erased: Collection[int]) -> None:
    """Give products the type that all that reads them rounds them to, where they fit it.

    erased: identities of operations that exist no more.
    """
    for product in products:
        if product.key not in erased:
            _narrow(product)


def _narrow(product: Product) -> None:
    op = product.op
    operands = [tensor_info(operand.type) for operand in list(op.operands)[:2]]
    if tensor_info(op.results[0].type).element != "f32" or not all(map(_is_narrow, operands)):
        return
    multiply = _only_user(op.results[0], "stablehlo.multiply")
    scaled = op if multiply is None else multiply
    factor = None if multiply is None else _power_of_two(multiply, op.results[0])
    if multiply is not None and factor is None:
        return
    rounding = _only_user(scaled.results[0], "stablehlo.convert")
    if rounding is None:
        return
    target = rounding.results[0].type
    info = tensor_info(target)
    if info.element != _NARROW:
        return
    # The factor in the type itself: a normal number.
    if factor is not None and not info.min_exponent <= math.log2(factor) <= info.max_exponent:
        return
    op.results[0].set_type(target)
    result = op.results[0]
    if factor is not None:
        with ir.InsertionPoint(rounding), rounding.location:
            result = ir.Operation.create("stablehlo.multiply", [target], [result, splat(target, factor)]).results[0]
    rounding.results[0].replace_all_uses_with(result)
    rounding.erase()
    if multiply is not None:
        constants = [operand.owner.operation for operand in multiply.operands if operand != op.results[0]]
        multiply.erase()
        for constant in constants:
            if not any(True for _ in constant.results[0].uses):
                constant.erase()


def _is_narrow(info: TensorInfo) -> bool:
    return info.element == _NARROW or info.element.startswith("f8")


def _only_user(value: ir.Value, name: str) -> ir.Operation | None:
    """The operation that is the only one to read a value, if it is called `name`."""
    reader = only_reader(value)
    return reader if reader is not None and reader.name == name else None


def _power_of_two(multiply: ir.Operation, value: ir.Value) -> float | None:
    """The power of two that `value` is multiplied by; None if the other operand is no such constant."""
    others = [operand for operand in multiply.operands if operand != value]
    owner = others[0].owner if len(others) == 1 else None
    if owner is None or isinstance(owner, ir.Block) or owner.operation.name != "stablehlo.constant":
        return None
    number = splat_number(owner.operation) if tensor_info(others[0].type).element == "f32" else None
    return number if number is not None and number > 0 and math.frexp(number)[0] == 0.5 else None
