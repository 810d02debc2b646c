"""Masks: how many elements a comparison holds for, from what is compared, and which far values leave others out."""

from collections.abc import Callable

from scalify_hlo import budget
from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import is_one_number
from scalify_hlo.module.traits import BRANCHES, Trait, is_identity_call, is_linear_algebra, names
from scalify_hlo.size.view import root
from scalify_hlo.types import tensor_info

# What a value that is added to others goes on as. A choice is one of those.
_GOES_ON = (
    names(Trait.CARRIES | Trait.MOVES | Trait.ASSEMBLES)
    | {"stablehlo.add", "stablehlo.subtract", "stablehlo.negate", "stablehlo.abs", "stablehlo.select"}
)  # fmt: skip
_PRODUCTS = names(Trait.CONTRACTS) | {
    "stablehlo.multiply",
    "stablehlo.divide",
    "stablehlo.sqrt",
    "stablehlo.cbrt",
    "chlo.square",
}
# How many values are looked forward to.
_FAR = 200


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


# softmax(x + m), max(x + m), 1 / (x + m): m leaves elements out; (x + c I) y, solve(x + c I, y): c I is a term
def is_term(value: ir.Value, callee: Callable[[ir.Operation], ir.Operation | None]) -> bool:
    """Whether a far value is a term of numbers: what it is added to is multiplied, and nowhere compared, exponentiated
    or divided by.

    callee: the function that a call refers to, if it is known.
    """
    multiplied = False
    pending: list[tuple[ir.Value, tuple[ir.Operation, ...]]] = [(value, ())]  # and the calls that it is inside of
    seen = set(pending)
    while pending:
        current, calls = pending.pop()
        for use in current.uses:
            op = use.owner.operation
            if _is_product(op, use.operand_number):
                multiplied = True
                continue
            found = _following(op, use.operand_number, calls, callee)
            if found is None:
                return False
            new = [each for each in found if each not in seen]
            seen.update(new)
            pending += new
            if len(seen) > _FAR:
                return False
    return multiplied


def _is_product(op: ir.Operation, index: int) -> bool:
    """Whether an operation multiplies its operand, or takes a root; by one number it is the same mask still."""
    if op.name not in _PRODUCTS:
        return is_linear_algebra(op)
    if op.name == "stablehlo.divide" and index == 1:
        return False
    return op.name not in ("stablehlo.multiply", "stablehlo.divide") or not is_one_number(op.operands[1 - index])


def _following(
    op: ir.Operation, index: int, calls: tuple[ir.Operation, ...],
    callee: Callable[[ir.Operation], ir.Operation | None],
) -> list[tuple[ir.Value, tuple[ir.Operation, ...]]] | None:  # fmt: skip
    """What an operand goes on as; None where its size is asked for, or where it is not known what becomes of it."""
    name = op.name
    scaled = name == "stablehlo.multiply" or (name == "stablehlo.divide" and index == 0)
    if name in _GOES_ON or scaled or is_identity_call(op):
        return [(result, calls) for result in op.results]
    if name == "func.call" and (function := callee(op)) is not None:
        return [(function.regions[0].blocks[0].arguments[index], (*calls, op))]
    if name == "func.return":
        return [(calls[-1].results[index], calls[:-1])] if calls else []
    if name == "stablehlo.return" and (parent := op.parent) is not None:
        outer = parent.operation
        if outer.name in BRANCHES:
            return [(outer.results[index], calls)]
    return None
