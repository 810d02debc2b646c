"""Products in f16 that a factor brings to another scale next are formed in f32.

# round(f * round(x y)) = round(f * (x y)), f a power of two: the same bits

But x y may be beyond f16 where f x y is not (promise P3). A product of several large factors (of a cotangent, a slope
and x^2 in a gradient of gelu) has a scale of its own, that of its factors, and is brought to the scale of the sum that
it is a term of. Between the two it lies in a register.
"""

from scalify_hlo.analysis.calls import only_reader, walk
from scalify_hlo.bindings import ir
from scalify_hlo.types import tensor_info

_MULTIPLY, _CONVERT = "stablehlo.multiply", "stablehlo.convert"


def widen_products(module: ir.Module) -> None:
    """Rewrite the products of `module` in place; its context has to be entered."""
    for op in [op for op in walk(module.operation) if op.name == _CONVERT and _brings_a_product(op)]:
        product = op.operands[0].owner.operation
        wide = op.results[0].type
        at = ir.InsertionPoint(product)
        operands = [
            ir.Operation.create(_CONVERT, [wide], [operand], loc=product.location, ip=at).results[0]
            for operand in product.operands
        ]
        attributes = dict(product.attributes.items())
        formed = ir.Operation.create(_MULTIPLY, [wide], operands, attributes, loc=product.location, ip=at)
        op.results[0].replace_all_uses_with(formed.results[0])
        op.erase()
        product.erase()


def _brings_a_product(convert: ir.Operation) -> bool:
    """Whether an operation is the first of three that bring a product in f16, which nothing else reads, to a scale."""
    product = convert.operands[0].owner
    if isinstance(product, ir.Block) or product.name != _MULTIPLY:
        return False
    if tensor_info(convert.operands[0].type).element != "f16" or tensor_info(convert.results[0].type).element != "f32":
        return False
    factor = only_reader(convert.results[0]) if only_reader(convert.operands[0]) is not None else None
    if factor is None or factor.name != _MULTIPLY:
        return False
    rounded = only_reader(factor.results[0])
    return rounded is not None and rounded.name == _CONVERT and tensor_info(rounded.results[0].type).element == "f16"
