"""Products that are transposed next: the product of the swapped operands.

# (x . y)^T = y . x

A product of f16 operands absorbs the transpose: the library writes its result either way round. One of FP8 operands
does not, and XLA transposes what the result is combined with instead: for the gradient of a weight, the weight and
both of its moments, in f32 and back.
"""

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.module.constants import dense_value
from scalify_hlo.types import tensor_info


def turn(op: ir.Operation) -> ir.Operation:
    """Swap the operands of a `dot_general` without batch dimensions where its result is read only transposed.

    Between the two there may be factors known at compile time and conversions. Returns the product as it is then.
    """
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    if numbers.lhs_batching_dimensions or op.name != "stablehlo.dot_general":
        return op
    left = tensor_info(op.operands[0].type).rank - len(numbers.lhs_contracting_dimensions)
    rank = tensor_info(op.results[0].type).rank
    between: list[ir.Operation] = []
    value = op.results[0]
    while True:
        users = [use.owner.operation for use in value.uses]
        if len(users) != 1:
            return op
        user = users[0]
        if user.name == "stablehlo.transpose":
            break
        if user.name != "stablehlo.convert" and not (user.name == "stablehlo.multiply" and _factor(user, value)):
            return op
        between.append(user)
        value = user.results[0]
    permutation = [int(d) for d in ir.DenseI64ArrayAttr(user.attributes["permutation"])]
    if permutation != [*range(left, rank), *range(left)]:
        return op
    swapped = stablehlo.DotDimensionNumbers.get(
        [], [], list(numbers.rhs_contracting_dimensions), list(numbers.lhs_contracting_dimensions)
    )
    attributes = dict(op.attributes.items()) | {"dot_dimension_numbers": swapped}
    shape = ir.RankedTensorType(user.results[0].type).shape
    with ir.InsertionPoint(op), op.location:
        type_ = _shaped(op.results[0].type, shape)
        turned = ir.Operation.create(op.name, [type_], [op.operands[1], op.operands[0]], attributes)
    value = turned.results[0]
    for each in between:
        with ir.InsertionPoint(each), each.location:
            type_ = _shaped(each.results[0].type, shape)
            operands = [value]
            if each.name == "stablehlo.multiply":
                splat = _factor(each, each.operands[0]) or _factor(each, each.operands[1])
                assert splat is not None
                dense = ir.DenseElementsAttr.get_splat(type_, splat.get_splat_value())
                operands.append(ir.Operation.create("stablehlo.constant", [type_], [], {"value": dense}).results[0])
            value = ir.Operation.create(each.name, [type_], operands, dict(each.attributes.items())).results[0]
    user.results[0].replace_all_uses_with(value)
    for each in (user, *reversed(between), op):
        each.erase()
    return turned


def _shaped(type_: ir.Type, shape: list[int]) -> ir.Type:
    return ir.RankedTensorType.get(shape, ir.RankedTensorType(type_).element_type)


def _factor(multiply: ir.Operation, value: ir.Value) -> ir.DenseElementsAttr | None:
    """The splat constant that a multiplication multiplies `value` by; None if it is no constant."""
    others = [operand for operand in multiply.operands if operand != value]
    op = defining_op(others[0]) if len(others) == 1 else None
    if op is None or op.name != "stablehlo.constant":
        return None
    attribute = dense_value(op)
    return attribute if attribute is not None and attribute.is_splat else None
