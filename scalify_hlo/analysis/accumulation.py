"""Loops that add a term to a carried value in each of a known number of iterations."""

import dataclasses
import math
from collections.abc import Callable

from scalify_hlo.analysis.calls import defining_op, only_reader, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.module.constants import Number

Callee = Callable[[ir.Operation], ir.Operation | None]

# Calls within calls that a carried value is followed through.
_DEEPEST = 8


@dataclasses.dataclass(frozen=True)
class Counter:
    """What a loop counts: the carried value at `index`, from `first` in steps, in `count` iterations."""

    index: int
    first: float
    step: float
    count: int


def iterations(loop: ir.Operation, number: Number) -> int | None:
    """How often a `stablehlo.while` runs that counts up to a constant; None if unknown. number: as of `counter`."""
    found = counter(loop, number)
    return None if found is None else found.count


def counter(loop: ir.Operation, number: Number) -> Counter | None:
    """What a `stablehlo.while` counts that counts up to a constant, as scan and fori_loop do; None if unknown.

    number: the number that all elements of a value equal, if known.
    """
    condition, body = (region.blocks[0] for region in loop.regions)
    compare = defining_op(terminator(condition).operands[0])
    if compare is None or compare.name != "stablehlo.compare":
        return None
    if "LT" not in str(compare.attributes["comparison_direction"]):
        return None
    counted, last = compare.operands
    if not isinstance(counted, ir.BlockArgument) or counted.owner != condition:
        return None
    index = counted.arg_number
    step = defining_op(terminator(body).operands[index])
    if step is None or step.name != "stablehlo.add":
        return None
    steps = [number(value) for value in step.operands if value != body.arguments[index]]
    first, bound = number(loop.operands[index]), number(last)
    if len(steps) != 1 or not steps[0] or steps[0] < 0 or first is None or bound is None:
        return None
    return Counter(index, first, steps[0], max(0, math.ceil((bound - first) / steps[0])))


def is_accumulated(loop: ir.Operation, index: int, callee: Callee) -> bool:
    """Whether an iteration does nothing with carried value `index` but add to it, be it in functions that it calls.

    callee: the function that a call refers to, if it is known.

    # c <- c + t
    """
    body = loop.regions[1].blocks[0]
    return _is_sum(terminator(body).operands[index], body.arguments[index], callee, _DEEPEST)


def _is_sum(value: ir.Value, carried: ir.Value, callee: Callee, depth: int) -> bool:
    """Whether `value` is `carried` plus something, and `carried` is used for nothing else."""
    op = defining_op(value)
    if op is not None and op.name == "stablehlo.convert":  # of a narrow type, added to in a wider one
        value = op.operands[0]
        op = defining_op(value)
    reader = only_reader(carried)
    if reader is not None and reader.name == "stablehlo.convert":
        carried = reader.results[0]
        reader = only_reader(carried)
    if op is None or reader is None or reader != op:
        return False
    if op.name == "stablehlo.add":
        return True
    function = callee(op) if depth else None
    if function is None:
        return False
    block = function.regions[0].blocks[0]
    inner = terminator(block).operands[ir.OpResult(value).result_number]
    return _is_sum(inner, block.arguments[list(op.operands).index(carried)], callee, depth - 1)
