"""Numbers that a program computes of integers that it is given: of a step's count a rate, a weight of the loss.

# w(n) = 0.99^n, min(1, n / 10^6), (1 + cos(pi n / N)) / 2

They come without a scale, and what is computed of them is as far from 1 as the schedule says: nothing that is known
when a program is rewritten tells how far.
"""

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.analysis.intervals import before_moves
from scalify_hlo.bindings import ir
from scalify_hlo.types import tensor_info

# Operations that are looked back at.
_FAR = 60
_PRODUCTS = ("stablehlo.multiply", "stablehlo.divide")


def is_times_integers(value: ir.Value, root: ir.Value) -> bool:
    """Whether a value is `root`, moved, times a number that follows from integers, perhaps among others."""
    for _ in range(_FAR):
        *_, value = before_moves(value)
        op = defining_op(value)
        if value == root or op is None or op.name not in _PRODUCTS:
            return False
        numbers = [_number_spread(operand) for operand in op.operands]
        if all(number is None for number in numbers):
            return False
        if any(number is not None and _is_of_integers(number) for number in numbers):
            return True
        value = op.operands[0 if numbers[0] is None else 1]
    return False


def _is_of_integers(value: ir.Value) -> bool:
    """Whether a float follows from integers that the block is given, and from constants, alone."""
    pending, seen, found = [value], {value}, False
    while pending:
        current = pending.pop()
        op = defining_op(current)
        if op is None:
            if tensor_info(current.type).is_float:
                return False
            found = True
            continue
        if len(op.regions) or len(seen) > _FAR:
            return False
        for operand in op.operands:
            if operand not in seen:
                seen.add(operand)
                pending.append(operand)
    return found


def _number_spread(value: ir.Value) -> ir.Value | None:
    """The number of rank 0 that all elements of a value are; None if there is none."""
    *_, moved = before_moves(value)
    return moved if tensor_info(moved.type).rank == 0 else None
