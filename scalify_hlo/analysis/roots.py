"""Arguments that a program takes roots or logarithms of, and which are therefore never negative in a real run.

An optimiser's second moments are such: whoever draws inputs for a training step has to know them, because of negative
ones everything is NaN.
"""

from collections.abc import Callable

from scalify_hlo.analysis.calls import CallGraph, callee_name, defining_op, terminator, walk
from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import BRANCHES, Trait, carried, names

# NaN where operand 0 is negative.
_ROOTS = {"stablehlo.sqrt", "stablehlo.rsqrt", "stablehlo.log", "stablehlo.power"}
# Never negative where the operands are not; squares are not even then, so nothing is followed behind them.
_EVERY = names(Trait.ASSEMBLES) | {"stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.minimum"}
_FIRST = names(Trait.MOVES, without=Trait.COLLECTIVE) | {
    "stablehlo.subtract", "stablehlo.divide", "stablehlo.sqrt", "stablehlo.cbrt", "stablehlo.reduce",
}  # fmt: skip


def under_roots(module: ir.Module, function: ir.Operation) -> frozenset[int]:
    """The indices of the function's arguments of which a root, a power or a logarithm is taken.

    They are found backwards from these operations through what keeps numbers positive: sums, products, quotients,
    movements, calls, branches and loops. A difference is followed to what is subtracted from.
    """
    calls = CallGraph(module)
    seen: set[ir.Value] = set()
    left = [op.operands[0] for body in calls.functions.values() for op in walk(body) if op.name in _ROOTS]
    while left:
        value = left.pop()
        if value not in seen:
            seen.add(value)
            left.extend(_before(value, calls))
    arguments = function.regions[0].blocks[0].arguments
    return frozenset(i for i, argument in enumerate(arguments) if argument in seen)


def _before(value: ir.Value, calls: CallGraph) -> list[ir.Value]:
    """The values that are positive where `value` is."""
    op = defining_op(value)
    if op is None:
        return _before_argument(ir.BlockArgument(value), calls)
    index = ir.OpResult(value).result_number
    rounded = carried(op, index)
    if rounded is not None:
        return [rounded]
    if op.name == "stablehlo.while":
        return [op.operands[index], terminator(op.regions[1].blocks[0]).operands[index]]
    if op.name in BRANCHES:
        return [terminator(region.blocks[0]).operands[index] for region in op.regions]
    if callee_name(op) in calls.functions:
        body = calls.callee_body(op)
        assert body is not None
        return [terminator(body).operands[index]]
    return _FOLLOWED[op.name](op, index) if op.name in _FOLLOWED else []


def _before_argument(argument: ir.BlockArgument, calls: CallGraph) -> list[ir.Value]:
    block, index = argument.owner, argument.arg_number
    function = calls.function_of_block(block)
    if function is not None:
        return [site.operands[index] for site in calls.sites.get(function, ())]
    owner = block.owner.operation
    if owner.name != "stablehlo.while":
        return []
    return [owner.operands[index], terminator(owner.regions[1].blocks[0]).operands[index]]


def _every(op: ir.Operation, _: int) -> list[ir.Value]:
    operands = list(op.operands)
    is_square = op.name == "stablehlo.multiply" and operands[0] == operands[1]
    return [] if is_square else operands


_FOLLOWED: dict[str, Callable[[ir.Operation, int], list[ir.Value]]] = {
    **dict.fromkeys(_EVERY, _every),
    **dict.fromkeys(_FIRST, lambda op, index: [op.operands[index]]),
    "stablehlo.select": lambda op, _: [op.operands[1], op.operands[2]],
    "stablehlo.clamp": lambda op, _: [op.operands[1]],
}
