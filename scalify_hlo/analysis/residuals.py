"""What the end of a loop depends on: a loop that goes on until a residual is below a tolerance.

# z' = f(z) until |z' - z| < t: of z rounded to f16 the difference is 0 or at least 2^-11 |z|, so that the loop ends too
# early, when both are rounded alike, or never
"""

import functools
from collections.abc import Iterator

from scalify_hlo.analysis.calls import CallGraph, defining_op, enters_unchanged, terminator, walk
from scalify_hlo.analysis.intervals import MOVES, interval
from scalify_hlo.bindings import ir
from scalify_hlo.types import tensor_info

_LOGIC = frozenset(
    f"stablehlo.{name}"
    for name in ("and", "or", "xor", "not", "select", "reduce", "reshape", "broadcast_in_dim", "convert")
)

# Of which a tolerance is made.
_TERMS = frozenset(f"stablehlo.{name}" for name in ("multiply", "add", "maximum", "minimum"))
# How many operations back a constant is looked for.
_STEPS = 8


def residual_values(calls: CallGraph, loop: ir.Operation, largest: float) -> set[ir.Value]:
    """The float values inside of a `stablehlo.while` that what is compared with a tolerance is computed of.

    A tolerance is a positive constant below `largest`, or that times a size. What the loop does not change is left out.
    """
    return Slice(calls, loop).behind(list(_compared(calls, loop, largest)))


def _compared(calls: CallGraph, loop: ir.Operation, largest: float) -> Iterator[ir.Value]:
    """What a loop compares with a tolerance to decide whether to go on, in its condition or in its body."""
    condition, body = (region.blocks[0] for region in loop.regions)
    pending = list(terminator(condition).operands)
    seen: set[ir.Value] = set()
    while pending:
        value = pending.pop()
        if value in seen or tensor_info(value.type).element != "i1":
            continue
        seen.add(value)
        op = defining_op(value)
        if op is None:
            argument = ir.BlockArgument(value)
            if argument.owner in (condition, body):
                pending.append(terminator(body).operands[argument.arg_number])
        elif op.name == "stablehlo.compare":
            if not tensor_info(op.operands[0].type).is_float:
                continue
            for i, other in enumerate(op.operands):
                if _is_tolerance(other, largest):
                    yield op.operands[1 - i]
        elif op.name in _LOGIC:
            pending.extend(op.operands)
        elif (callee := calls.callee_body(op)) is not None:
            pending.append(terminator(callee).operands[ir.OpResult(value).result_number])


# |d| > t |z| is |d| / |z| > t; max(t |b|, s) and t |z| + s are as small as the larger of the two
def _is_tolerance(value: ir.Value, largest: float, steps: int = _STEPS) -> bool:
    low, high = interval(value)
    if low == high:
        return 0 < low < largest
    if not steps:
        return False
    op = defining_op(value)
    if op is None:
        entering = enters_unchanged(value)
        return entering is not None and _is_tolerance(entering, largest, steps - 1)
    if op.name in MOVES or op.name in _TERMS:
        terms = (_is_tolerance(operand, largest, steps - 1) for operand in op.operands)
        return any(terms) if op.name in ("stablehlo.multiply", "stablehlo.minimum") else all(terms)
    return False


class Slice:
    """The values inside of a loop, and of the functions that it calls, that others are computed of."""

    def __init__(self, calls: CallGraph, loop: ir.Operation):
        self._calls = calls
        self._condition, self._body = (region.blocks[0] for region in loop.regions)
        self._returned = terminator(self._body).operands
        self._loop = loop
        self._found = set[ir.Value]()

    @functools.cached_property
    def _inside(self) -> set[ir.Operation]:
        found = set[ir.Operation]()
        pending = [self._loop]
        while pending:
            for inner in walk(pending.pop()):
                found.add(inner)
                function = self._calls.called(inner)
                if function is not None:
                    pending.append(function)
        return found

    def behind(self, pending: list[ir.Value]) -> set[ir.Value]:
        """The values themselves and all float values inside that they are computed of."""
        self._found = set[ir.Value]()
        while pending:
            value = pending.pop()
            if value in self._found or not tensor_info(value.type).is_float:
                continue
            op = defining_op(value)
            if op is None:
                pending += self._argument(ir.BlockArgument(value))
            elif op in self._inside and len(op.operands):
                self._found.update(op.results)
                pending += op.operands
                pending += self._regions(op)
        return self._found

    def _argument(self, argument: ir.BlockArgument) -> list[ir.Value]:
        """What an argument of the loop's blocks is in the next iteration; others come with their operation."""
        if argument.owner not in (self._condition, self._body):
            return []
        i = argument.arg_number
        carried, returned = self._body.arguments[i], self._returned[i]
        if returned == carried:
            return []
        self._found.update((carried, self._condition.arguments[i]))
        return [returned]

    def _regions(self, op: ir.Operation) -> list[ir.Value]:
        """What the regions of an operation, or the function that it calls, return."""
        callee = self._calls.callee_body(op)
        blocks = [block for region in op.regions for block in region]
        if callee is not None:
            blocks.append(callee)
        self._found.update(argument for block in blocks for argument in block.arguments)
        return [value for block in blocks for value in terminator(block).operands]
