"""Blocks of a network in plain StableHLO, as JAX and others write them: softmax, logsumexp, normalisation, gelu, silu.

A block is found from an operation that it cannot do without (an exponential, an inverse root, a tanh), and told by
what is computed, not by names: which values are summed, what a function of one tensor gives at some points.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.recognition.graph import (
    Callee,
    bare,
    constant,
    made_by,
    operation_of,
    returned,
    shape_of,
    sum_of,
    users,
    without_constants,
)
from scalify_hlo.recognition.laws import GATED, NORMALISED, Law, probabilities
from scalify_hlo.recognition.pointwise import POINTS, POINTWISE, evaluate, gelu

# How many operations a gate may be away from its tanh, exponential or error function.
_FAR = 8
# And how many values are looked at before these; erfc has its argument and a dozen of its powers.
_BEFORE = 24
# f16 constants: 0.044715, sqrt(2 / pi).
_TOLERANCE = 4e-3
_SEEDS = frozenset(
    {"chlo.erf", "chlo.erfc", "stablehlo.exponential", "stablehlo.logistic", "stablehlo.rsqrt", "stablehlo.sqrt",
     "stablehlo.tanh"}
)  # fmt: skip
_GATES = {
    "gelu": (gelu(POINTS, by_tanh=True), gelu(POINTS, by_tanh=False)),
    "silu": (POINTS / (1 + np.exp(-POINTS)),),
}


@dataclasses.dataclass(frozen=True)
class Block:
    """A recognised block.

    argument, result: what goes in and what comes out; no result for the row sums of a logsumexp that is not formed.
    inner: values between, from which the gradient is computed.
    count: number of elements that a row of it has; 1 for elementwise functions.
    inverse, deviation: of a normalisation, what the argument is multiplied or divided by.
    """

    law: Law
    argument: ir.Value | None
    result: ir.Value | None
    inner: tuple[ir.Value, ...]
    count: int = 1
    inverse: ir.Value | None = None
    deviation: ir.Value | None = None

    @property
    def name(self) -> str:
        """What it is."""
        return self.law.block

    @property
    def exponential(self) -> bool:
        """Whether it is made of exponentials, the first of `inner`, and their sum."""
        return self.name in ("softmax", "logsumexp")


def find_blocks(operations: Sequence[ir.Operation], callee: Callee) -> list[Block]:
    """The blocks among the operations of one region."""
    found: list[Block] = []
    seen: set[ir.Value] = set()
    for op in operations:
        name = op.name
        if name == "stablehlo.exponential":
            blocks = list(_softmax(op)) or _gated(op)
        elif name in ("stablehlo.tanh", "stablehlo.logistic", "chlo.erf", "chlo.erfc"):
            blocks = _gated(op)
        elif name in ("stablehlo.rsqrt", "stablehlo.sqrt"):
            blocks = _normalisation(op, callee)
        elif name == "func.call":
            blocks = _called(op, callee)
        else:
            continue
        for block in blocks:
            if block.result is None or block.result not in seen:
                found.append(block)
                seen.update([] if block.result is None else [block.result])
    return found


# --- functions that are blocks --------------------------------------------------------------------------------------


def _called(call: ir.Operation, callee: Callee) -> Iterable[Block]:
    # jax.nn.silu and log_softmax are functions, which return values for their gradients beside the result.
    function = callee(call)
    if function is None:
        return
    body = function.regions[0].blocks[0]
    names = {op.operation.name for op in body.operations}
    if not names & _SEEDS:
        return
    results = {bare(value): result for value, result in zip(returned(function), call.results, strict=True)}
    for block in find_blocks([op.operation for op in body.operations], callee):
        argument = block.argument
        if argument is None or not isinstance(argument.owner, ir.Block):
            continue
        result = None if block.result is None else results.get(block.result)
        known = results if block.count == 1 else {v: results[v] for v in block.inner if v in results}
        inner = tuple(value for value in known.values() if result is None or value != result)
        inverse, deviation = (None if v is None else results.get(v) for v in (block.inverse, block.deviation))
        outside = call.operands[argument.arg_number]
        like = tuple(outside if value == argument else value for value in block.law.like)
        law = dataclasses.replace(block.law, like=like)
        yield Block(law, outside, result, inner, block.count, inverse, deviation)


# --- softmax and logsumexp --------------------------------------------------------------------------------------


def _softmax(exponential: ir.Operation) -> Iterable[Block]:
    # e / sum(e), also as e * (1 / sum(e)); log(sum(e)) + m
    e, x = exponential.results[0], _centred(exponential.operands[0])
    sums = [(op.results[0], found[1]) for op in users(e) if (found := sum_of(op.results[0])) and bare(found[0]) == e]
    for total, count in sums:
        if count < 2:
            continue
        law = Law("softmax", probabilities(count))
        results = [op.results[0] for user in users(total) for op in _quotients(user, e, total)]
        for result in results:
            yield Block(law, x, result, (e, total, result), count)
        if not results and _has_logarithm(total):
            yield Block(Law("logsumexp", None), x, None, (e, total), count)
        elif not results and any(_divides(user, total) for user in users(total)):
            # Its gradient alone, of e and the sum.
            yield Block(law, x, None, (e, total), count)


def _quotients(user: ir.Operation, e: ir.Value, total: ir.Value) -> list[ir.Operation]:
    """e / total, or e * (1 / total), of a user of the total."""
    if user.name != "stablehlo.divide" or bare(user.operands[1]) != total:
        return []
    if bare(user.operands[0]) == e:
        return [user]
    if constant(user.operands[0]) != 1:
        return []
    return [op for op in users(user.results[0]) if _is_product(op, user.results[0], e)]


def _divides(user: ir.Operation, total: ir.Value) -> bool:
    return (user.name == "stablehlo.divide" and bare(user.operands[1]) == total) or _is_product(user, total, total)


def _is_product(op: ir.Operation, a: ir.Value, b: ir.Value) -> bool:
    return op.name == "stablehlo.multiply" and {bare(operand) for operand in op.operands} == {bare(a), bare(b)}


def _has_logarithm(total: ir.Value) -> bool:
    logs = ("stablehlo.log", "stablehlo.log_plus_one")
    return any(
        user.name in logs or (user.name == "stablehlo.abs" and any(op.name in logs for op in users(user.results[0])))
        for user in users(total)
    )


# --- layer, RMS and batch normalisation ---------------------------------------------------------------------------


def _normalisation(root: ir.Operation, callee: Callee) -> Iterable[Block]:
    # c / sqrt(mean(c^2) + epsilon), c = x or x - mean(x)
    squares = _mean_of_squares(root.operands[0], callee, ())
    if squares is None:
        return
    argument, count = squares
    inverse = deviation = None
    if root.name == "stablehlo.rsqrt":
        inverse = root.results[0]
    else:
        deviation = root.results[0]
    for op in users(root.results[0]):
        if op.name == "stablehlo.multiply" and inverse is not None:
            others = [operand for operand in op.operands if bare(operand) != bare(inverse)]
        elif op.name == "stablehlo.divide" and deviation is not None and bare(op.operands[1]) == bare(deviation):
            others = [op.operands[0]]
        else:
            continue
        if len(others) == 1 and argument is not None and _centred(others[0]) == argument:
            law = Law("normalisation", NORMALISED)
            inner = (root.results[0], root.operands[0], others[0])
            yield Block(law, argument, op.results[0], inner, count, inverse, deviation)


def _centred(value: ir.Value) -> ir.Value:
    """x of x - m, m a number for each row; else the value itself."""
    op = made_by(value, "subtract")
    mean = None if op is None else operation_of(op.operands[1])
    if op is not None and mean is not None and mean.name == "stablehlo.broadcast_in_dim":
        return bare(op.operands[0])
    return bare(value)


def _mean_of_squares(
    value: ir.Value, callee: Callee, calls: tuple[ir.Operation, ...]
) -> tuple[ir.Value | None, int] | None:
    """(x, N) of mean((x - m)^2) + epsilon over N elements; x is None where it is no argument of the function, as
    that of jax.numpy.var is, which the squares are summed in.

    calls: the calls that the value is inside of.
    """
    value = without_constants(value)
    op = operation_of(value)
    if op is None:
        if not calls:
            return None
        argument = calls[-1].operands[ir.BlockArgument(value).arg_number]
        return _mean_of_squares(argument, callee, calls[:-1])
    name = op.name.removeprefix("stablehlo.")
    if name == "func.call":
        function = callee(op)
        index = list(op.results).index(value)
        if function is None or len(calls) > 3:
            return None
        return _mean_of_squares(returned(function)[index], callee, (*calls, op))
    if name in ("add", "maximum"):  # epsilon, or a bound
        fixed = [constant(operand) is not None or _is_number(bare(operand)) for operand in op.operands]
        if fixed.count(True) != 1:
            return None
        return _mean_of_squares(op.operands[fixed.index(False)], callee, calls)
    if name in ("divide", "select", "subtract"):
        # a number of elements that is computed, NaN where it is 0, mean(x^2) - mean(x)^2
        return _mean_of_squares(op.operands[int(name == "select")], callee, calls)
    found_sum = sum_of(value)
    if found_sum is None:
        return None
    square = made_by(found_sum[0], "multiply")
    if found_sum[1] < 2 or square is None or bare(square.operands[0]) != bare(square.operands[1]):
        return None
    return _outside(_centred(square.operands[0]), calls), found_sum[1]


def _is_number(value: ir.Value) -> bool:
    return shape_of(value) == ()


def _outside(value: ir.Value, calls: tuple[ir.Operation, ...]) -> ir.Value | None:
    """An argument of nested functions as the value that the outermost call passes; None for other values."""
    for call in reversed(calls):
        if not isinstance(value.owner, ir.Block):
            return None
        value = bare(call.operands[ir.BlockArgument(value).arg_number])
    return value


# --- gelu and silu ------------------------------------------------------------------------------------------------


def _gated(seed: ir.Operation) -> list[Block]:
    # x g(x), told by its values at some points
    before = _upstream(seed)
    reached = {seed: 0}
    pending = [seed]
    while pending:
        op = pending.pop(0)
        if op.name == "stablehlo.multiply":
            for operand in op.operands:
                x = without_constants(operand)
                block = _as_gated(op, x) if x in before else None
                if block is not None:
                    return [block]
        if reached[op] < _FAR and len(op.results) == 1:
            for use in op.results[0].uses:
                user = use.owner.operation
                if user not in reached and user.name.startswith(("stablehlo.", "chlo.")):
                    reached[user] = reached[op] + 1
                    pending.append(user)
    return []


def _upstream(seed: ir.Operation) -> set[ir.Value]:
    """The values that an operation is computed of, some operations back."""
    found: set[ir.Value] = set()
    pending = list(seed.operands)
    while pending and len(found) < _BEFORE:
        value = pending.pop(0)
        op = operation_of(value)
        if value not in found:
            found.add(value)
            pending += op.operands if op is not None and op.name in POINTWISE else ()
    return found


def _as_gated(op: ir.Operation, x: ir.Value) -> Block | None:
    found = evaluate(op.results[0], x)
    if found is None:
        return None
    values, inner = found
    for name, functions in _GATES.items():
        if any(np.allclose(values, function, rtol=0, atol=_TOLERANCE) for function in functions):
            law = Law(name, GATED[name], (x,))
            return Block(law, x, op.results[0], tuple(value for value in inner if value != op.results[0]))
    return None
