"""Which gradients products of linear layers give, as they are or added to each other, for elementwise optimisers."""

from collections.abc import Iterable

from scalify_hlo.analysis.branches import yielded
from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator
from scalify_hlo.analysis.name_stack import Direction, NameStacks
from scalify_hlo.analysis.origins import Origins, is_uniform
from scalify_hlo.analysis.product_shapes import is_batched, is_padded_away, product_sizes
from scalify_hlo.bindings import ir
from scalify_hlo.module import traits
from scalify_hlo.module.carriers import carries
from scalify_hlo.module.traits import BRANCHES
from scalify_hlo.types import tensor_info

_MOVED = frozenset({"stablehlo.convert", "stablehlo.transpose", "stablehlo.reshape"})
# Sums over devices or of terms, of which each is to be such a gradient.
_SUMS = frozenset({"stablehlo.add", "stablehlo.all_reduce", "stablehlo.reduce_scatter"})


def of_layers(gradients: Iterable[ir.Value], calls: CallGraph, of_given: Iterable[ir.Operation] = ()) -> set[ir.Value]:
    """Those of the gradients that matrix products without batch dimensions give, of sizes by which FP8 gains.

    of_given: products that are left in 16 bits for what they read, and the gradients of whose weights are so too.

    What else there is, sums over rows (biases, gains of norms), scattered rows of tables, kernels of convolutions and
    few numbers (axes, rates), is computed in wider types, and no FP8 product gives it. Nor are those among them that an
    optimiser multiplies as matrices, nor what a step averages over time besides gradients: a^T a of what layers gave.
    """
    names = NameStacks(calls)
    products = {value: _products(value, calls) for value in gradients if tensor_info(value.type).rank > 1}
    directions = {value: set(map(names.direction, each)) for value, each in products.items()}
    origins = Origins(calls)
    given = {origins.of(operand, op).root for op in of_given for operand in op.operands}
    named = any(Direction.BACKWARD in each for each in directions.values())
    return {
        value
        for value, each in directions.items()
        if (each == {Direction.BACKWARD} if named else each)
        and not _is_of_matrices(value, calls, names)
        and not any(origins.of(x, op).root in given for op in products[value] for x in op.operands)
    }


# G = U S V^T becomes U V^T, or (G G^T)^(-1/4) G (G^T G)^(-1/4): a small S counts as much as a large one, beside which
# rounding is as large as it
def _is_of_matrices(value: ir.Value, calls: CallGraph, names: NameStacks) -> bool:
    """Whether products of an optimiser read a gradient, or what it is added to or normalised to: Muon, Shampoo."""
    pending, seen = [value], set[ir.Value]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            op, index = use.owner.operation, use.operand_number
            handed = calls.handed_to(op, index)
            if handed is not None:
                pending += handed
            elif op.name == "stablehlo.while":
                pending.append(op.regions[1].blocks[0].arguments[index])
            elif op.name == "stablehlo.dot_general" or traits.is_linear_algebra(op):
                if names.direction(op) is Direction.OUTSIDE and tensor_info(op.results[0].type).rank > 1:
                    return True
            elif carries(op):
                pending.append(op.results[index])
            elif op.name in _MOVED or traits.has(op.name, traits.Trait.ELEMENTWISE):
                pending += [result for result in op.results if tensor_info(result.type).rank > 1]
    return False


def _products(value: ir.Value, calls: CallGraph) -> list[ir.Operation]:
    """The products that a value is a sum of; none where it is something else."""
    pending, seen, found = [value], set[ir.Value](), list[ir.Operation]()
    while pending:
        value = pending.pop()
        op = defining_op(value)
        if value in seen:
            continue
        seen.add(value)
        if op is None:
            return []
        if op.name in _SUMS:
            pending += op.operands
        elif op.name in BRANCHES:
            pending += yielded(op, ir.OpResult(value).result_number)
        elif op.name != "stablehlo.dot_general":
            before = op.operands[0] if op.name in _MOVED else _before(op, value, calls)
            if before is None:
                return []
            pending.append(before)
        elif is_batched(op) or is_padded_away(product_sizes(op)):
            return []
        else:
            found.append(op)
    return found


def _before(op: ir.Operation, value: ir.Value, calls: CallGraph) -> ir.Value | None:
    """What a value is, or is a multiple of, one operation earlier; None where it is something else."""
    index = ir.OpResult(value).result_number
    if carries(op):
        return op.operands[index]
    if op.name in ("stablehlo.multiply", "stablehlo.divide") and is_uniform(op.operands[1]):
        return op.operands[0]
    if op.name == "stablehlo.multiply" and is_uniform(op.operands[0]):
        return op.operands[1]
    body = calls.callee_body(op)
    if body is None:
        return None
    given = terminator(body).operands[index]
    # A marker, as one that sets a scale, hands its operand on.
    return op.operands[ir.BlockArgument(given).arg_number] if isinstance(given, ir.BlockArgument) else given
