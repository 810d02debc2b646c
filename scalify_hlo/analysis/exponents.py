"""Whether an exponential is known to be of a size that a type holds, whatever the arguments are.

    exp(x - max(x)), exp(x - logsumexp(x)), exp(x - softplus(x)) <= 1
    exp(-x^2), exp(-|x|), exp(2 tanh(x)): by intervals

Of any other argument the exponential may be of any size: exp(z / 0.05) of cosines z goes up to 2^29. So may that of
a bounded one which is far from 0, exp(-20 + 2 tanh(x)): it is nowhere near 1.
"""

import math

from scalify_hlo.analysis.calls import CallGraph, defining_op, terminator
from scalify_hlo.analysis.intervals import MOVES, interval
from scalify_hlo.bindings import ir
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.types import FLOAT_RANGE, tensor_info

_CHOOSING = frozenset({"stablehlo.select", "stablehlo.constant", "func.return"}) | MOVES
EXPONENTIALS = (
    "stablehlo.exponential", "stablehlo.power", "stablehlo.exponential_minus_one", "chlo.sinh", "chlo.cosh",
)  # fmt: skip
# Exponents further from 0 than this make an exponential that 1 is no estimate of: e^4 is 2^6.
_FAR = 4.0
# Operations that are looked back at from a bound.
_STEPS = 12


class Exponentials:
    """Of a module whose functions are these: `jnp.where` is one, and chooses as a select does."""

    def __init__(self, calls: CallGraph):
        self._calls = calls

    # I exp(v / 0.026), e^x - 1, sinh x, cosh x; A exp(-20 + 2 tanh x) is no larger than e^-18
    def may_leave(self, op: ir.Operation, element: str) -> bool:
        """Whether an operation is an exponential, or made of one, that may be too large for a float type of less range
        than f32, or is far from 1 in any case.

        # x^y = exp(y log(x)): 2^-24 of a probability 1/64 that is made sharper by y = 4
        """
        if op.name not in EXPONENTIALS or FLOAT_RANGE[element][0] >= FLOAT_RANGE["f32"][0]:
            return False
        if op.name == "stablehlo.power":
            return not _is_number(op.operands[1])
        exponent = op.operands[0]
        least, most = interval(exponent)
        if op.name == "stablehlo.exponential" and (most < -_FAR or least > _FAR):
            return True
        limit = FLOAT_RANGE[element][0] * math.log(2)
        if most <= limit or (op.name != "stablehlo.exponential" and self._is_at_zero(exponent)):
            return False
        return not self._is_bounded(exponent, limit) and not _saturates(op)

    def _is_at_zero(self, value: ir.Value) -> bool:
        """Whether a value is 0 where it would be positive, as in ELU: expm1(where(x > 0, 0, x))."""
        op = defining_op(_moved(value))
        return op is not None and self._chooses(op) and any(map(_is_number, op.operands))

    def _is_bounded(self, value: ir.Value, most: float) -> bool:
        """Whether no element of a value, whose interval does not say so, can exceed `most`, a positive number."""
        pending, left = [value], _STEPS
        while pending and left:
            left -= 1
            current = _moved(pending.pop())
            op = defining_op(current)
            if op is None:
                return False
            body = self._calls.callee_body(op)
            if self._chooses(op):
                pending += [operand for operand in op.operands if _is_float(operand) and interval(operand)[1] > most]
            elif body is not None:
                pending.append(terminator(body).operands[ir.OpResult(current).result_number])
            elif op.name != "stablehlo.subtract" or not self._covers(
                op.operands[1], self._unmasked(op.operands[0]), _STEPS
            ):
                return False
        return not pending

    def _unmasked(self, value: ir.Value) -> ir.Value:
        """What a value is apart from a number where a mask hides it: x of where(mask, x, 0) - max(x)."""
        value = _moved(value)
        op = defining_op(value)
        if op is None or not self._chooses(op):
            return value
        others = [operand for operand in op.operands if _is_float(operand) and not _is_number(operand)]
        return _moved(others[0]) if len(others) == 1 else value

    def _covers(self, bound: ir.Value, value: ir.Value, steps: int) -> bool:
        """Whether a bound is made to be at least as large as a value: of what it is the maximum, or the logsumexp.

        # log(sum(exp(x))) >= max(x), max(x, y) + log(1 + exp(-|x - y|)) >= x
        """
        bound = _moved(bound)
        if value in (bound, self._unmasked(bound)):
            return True
        op = defining_op(bound)
        if op is None or not steps:
            return False
        if op.name == "stablehlo.maximum" or self._chooses(op):
            return any(self._covers(operand, value, steps - 1) for operand in op.operands)
        if op.name == "stablehlo.reduce":
            return _combines(op, "maximum") and self._covers(op.operands[0], value, steps - 1)
        if op.name == "stablehlo.log":
            total = defining_op(_moved(op.operands[0]))
            term = None if total is None or not _combines(total, "add") else defining_op(total.operands[0])
            return term is not None and term.name == "stablehlo.exponential" and _moved(term.operands[0]) == value
        if op.name == "stablehlo.add":  # with the largest taken out of the sum
            is_log = [_is_logarithm(_moved(operand)) for operand in op.operands]
            return any(is_log[1 - i] and self._covers(op.operands[i], value, steps - 1) for i in (0, 1))
        return False

    def _chooses(self, op: ir.Operation) -> bool:
        """Whether an operation is a select, or calls a function that is nothing but one."""
        if op.name == "stablehlo.select":
            return True
        body = self._calls.callee_body(op) if op.name == "func.call" else None
        return body is not None and all(each.operation.name in _CHOOSING for each in body.operations)


# 1 / (1 + exp(-x)), of which 0 is left where the exponential is infinite
def _saturates(exponential: ir.Operation) -> bool:
    """Whether only sums that something is divided by read an exponential, as that of a sigmoid is."""
    sums = [use.owner.operation for use in exponential.results[0].uses]
    if any(each.name != "stablehlo.add" for each in sums):
        return False
    readers = [use for each in sums for use in each.results[0].uses]
    return all(use.owner.operation.name == "stablehlo.divide" and use.operand_number == 1 for use in readers)


def _combines(op: ir.Operation, kind: str) -> bool:
    """Whether an operation reduces one tensor by this."""
    return op.name == "stablehlo.reduce" and len(op.operands) == 2 and body_kind(op) == kind


def _is_logarithm(value: ir.Value) -> bool:
    """Whether a value is the logarithm of a sum of exponentials, as far as is looked at: not of less than 1."""
    op = defining_op(value)
    return op is not None and (
        op.name == "stablehlo.log" or (op.name == "stablehlo.log_plus_one" and interval(value)[0] >= 0)
    )


def _moved(value: ir.Value) -> ir.Value:
    """A value before it was spread, moved or converted."""
    while (op := defining_op(value)) is not None and op.name in MOVES and len(op.results) == 1:
        if not _is_float(op.operands[0]):
            break
        value = op.operands[0]
    return value


def _is_float(value: ir.Value) -> bool:
    return tensor_info(value.type).is_float


def _is_number(value: ir.Value) -> bool:
    low, high = interval(value)
    return low == high
