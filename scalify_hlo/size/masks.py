"""How many elements a comparison holds for, from what is compared."""

from scalify_hlo import budget
from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.size.view import root
from scalify_hlo.types import tensor_info


def share_of(predicate: ir.Value) -> float:
    """The share of the elements of a boolean tensor that are true.

    # x == i, i = 0, ..., n-1, and x == max(x_1, ..., x_n): one of n (one-hot labels, the gradient of a maximum)
    # both of two conditions: the product of their shares, as if they were independent
    """
    op = defining_op(root(predicate))
    if op is not None and op.name == "stablehlo.and":
        return share_of(op.operands[0]) * share_of(op.operands[1])
    if op is None or op.name not in ("stablehlo.compare", "chlo.broadcast_compare"):
        return budget.MASK_SHARE
    if "EQ" in str(op.attributes["comparison_direction"]):
        left, right = (root(operand) for operand in op.operands)
        for value, other in ((left, right), (right, left)):
            share = _one_of(value, other)
            if share is not None:
                return share
    return budget.MASK_SHARE


def _one_of(value: ir.Value, other: ir.Value) -> float | None:
    """1/n of a value that is the positions of n elements, or the largest of n elements of the other value."""
    op = defining_op(value)
    if op is not None and op.name == "stablehlo.iota":
        dimension: int = ir.IntegerAttr(op.attributes["iota_dimension"]).value
        return 1 / max(tensor_info(value.type).shape[dimension], 1)
    if op is not None and op.name == "stablehlo.reduce" and root(op.operands[0]) == other:
        return tensor_info(value.type).size / max(tensor_info(op.operands[0].type).size, 1)
    return None
