"""Blocks of a network in plain StableHLO, as JAX and others write them: softmax, logsumexp, normalisation, gelu, silu.

A block is found from an operation that it cannot do without (an exponential, an inverse root, a tanh), and told by
what is computed, not by names: which values are summed, what a function of one tensor gives at some points.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.recognition.graph import Graph, Node, shape_of
from scalify_hlo.recognition.laws import GATED, Law, normalised, probabilities
from scalify_hlo.recognition.pointwise import POINTS, POINTWISE, evaluate, gelu

# How many operations a gate may be away from its tanh, exponential or error function.
_FAR = 8
# And how many values are looked at before these; erfc has its argument and a dozen of its powers.
_BEFORE = 24
# f16 constants: 0.044715, sqrt(2 / pi).
_TOLERANCE = 4e-3
_SEEDS = frozenset(
    {"chlo.erf", "chlo.erfc", "stablehlo.exponential", "stablehlo.logistic", "stablehlo.power", "stablehlo.rsqrt",
     "stablehlo.sqrt", "stablehlo.tanh"}
)  # fmt: skip
_ROOTS = ("stablehlo.power", "stablehlo.rsqrt", "stablehlo.sqrt")
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


def find_blocks(operations: Sequence[ir.Operation], graph: Graph) -> list[Block]:
    """The blocks among the operations of one region."""
    found: list[Block] = []
    seen: set[ir.Value] = set()
    for op in operations:
        name = op.name
        if name not in _SEEDS:
            continue
        node = graph.node_of(op)
        if node is None:
            continue
        if name == "stablehlo.exponential":
            blocks = list(_softmax(node, graph)) or _gated(node, graph)
        elif name in _ROOTS:
            blocks = _normalisation(node, graph)
        else:
            blocks = _gated(node, graph)
        for block in blocks:
            if block.result is None or block.result not in seen:
                found.append(block)
                seen.update([] if block.result is None else [block.result])
    return found


# --- softmax and logsumexp --------------------------------------------------------------------------------------


def _softmax(exponential: Node, graph: Graph) -> Iterable[Block]:
    # e / sum(e), also as e * (1 / sum(e)); log(sum(e)) + m
    e, x = exponential.result, _centred(exponential.operands[0], graph)
    sums: list[tuple[ir.Value, int]] = []
    for user in graph.users(e):
        found = graph.sum_of(user.result)
        if found is not None and graph.bare(found[0]) == e:
            sums.append((user.result, found[1]))
    for total, count in sums:
        if count < 2:
            continue
        law = Law("softmax", probabilities(count))
        users = graph.users(total)
        results = [node.result for user in users for node in _quotients(user, e, total, graph)]
        for result in results:
            yield Block(law, x, result, (e, total, result), count)
        if not results and _has_logarithm(users, graph):
            yield Block(Law("logsumexp", None), x, None, (e, total), count)
        elif not results and any(_divides(user, total, graph) for user in users):
            # Its gradient alone, of e and the sum.
            yield Block(law, x, None, (e, total), count)


def _quotients(user: Node, e: ir.Value, total: ir.Value, graph: Graph) -> list[Node]:
    """e / total, or e * (1 / total), of a user of the total."""
    if user.name != "stablehlo.divide" or graph.bare(user.operands[1]) != total:
        return []
    if graph.bare(user.operands[0]) == e:
        return [user]
    if graph.constant(user.operands[0]) != 1:
        return []
    return [node for node in graph.users(user.result) if _is_product(node, user.result, e, graph)]


def _divides(user: Node, total: ir.Value, graph: Graph) -> bool:
    divides = user.name == "stablehlo.divide" and graph.bare(user.operands[1]) == total
    return divides or _is_product(user, total, total, graph)


def _is_product(node: Node, a: ir.Value, b: ir.Value, graph: Graph) -> bool:
    if node.name != "stablehlo.multiply":
        return False
    return {graph.bare(operand) for operand in node.operands} == {graph.bare(a), graph.bare(b)}


def _has_logarithm(users: list[Node], graph: Graph) -> bool:
    logs = ("stablehlo.log", "stablehlo.log_plus_one")
    return any(
        user.name in logs or (user.name == "stablehlo.abs" and any(n.name in logs for n in graph.users(user.result)))
        for user in users
    )


# --- layer, RMS and batch normalisation ---------------------------------------------------------------------------


def _normalisation(root: Node, graph: Graph) -> Iterable[Block]:
    # c times an inverse deviation, or divided by a deviation, of mean(c^2) + epsilon; c = x or x - mean(x). Of a
    # multiple of the mean too: a norm is the root of N times it.
    degree = _degree(root, graph)
    squares = _mean_of_squares(root.operands[0], graph) if degree else None
    if squares is None:
        return
    argument, count, multiple = squares
    if degree < 0:
        pairs: list[tuple[ir.Value | None, ir.Value | None]] = [(root.result, None)]
    else:
        inverses = [node.result for node in graph.users(root.result) if _is_inverse(node, root.result, graph)]
        pairs = [(None, root.result), *((inverse, root.result) for inverse in inverses)]
    for inverse, deviation in pairs:
        last = deviation if inverse is None else inverse
        if last is None:
            continue
        for node in graph.users(last):
            other = _other_factor(node, last, graph) if inverse is not None else _dividend(node, last, graph)
            if other is not None and _centred(other, graph) == argument:
                law = Law("normalisation", normalised(multiple))
                inner = tuple(dict.fromkeys([last, root.result, root.operands[0], other]))
                yield Block(law, argument, node.result, inner, count, inverse, deviation)


def _degree(root: Node, graph: Graph) -> float:
    """d of x^d, 1/2 or -1/2, however it is written; 0 of other powers."""
    if root.name == "stablehlo.power":
        exponent = graph.constant(root.operands[1])
        return exponent if exponent in (0.5, -0.5) else 0.0
    return 0.5 if root.name == "stablehlo.sqrt" else -0.5


def _is_inverse(node: Node, value: ir.Value, graph: Graph) -> bool:
    """Whether an operation is 1 / value."""
    return _dividend(node, value, graph) is not None and graph.constant(node.operands[0]) == 1


def _dividend(node: Node, divisor: ir.Value, graph: Graph) -> ir.Value | None:
    """What is divided by a value, if the operation is such a quotient."""
    if node.name != "stablehlo.divide" or graph.bare(node.operands[1]) != graph.bare(divisor):
        return None
    return node.operands[0]


def _other_factor(node: Node, factor: ir.Value, graph: Graph) -> ir.Value | None:
    """What is multiplied by a value, if the operation is such a product."""
    if node.name != "stablehlo.multiply":
        return None
    others = [operand for operand in node.operands if graph.bare(operand) != graph.bare(factor)]
    return others[0] if len(others) == 1 else None


def _centred(value: ir.Value, graph: Graph) -> ir.Value:
    """x of x - m, m a number for each row; else the value itself."""
    node = graph.made_by(value, "subtract")
    mean = None if node is None else graph.node(node.operands[1])
    if node is not None and mean is not None and mean.name == "stablehlo.broadcast_in_dim":
        return graph.bare(node.operands[0])
    return graph.bare(value)


def _mean_of_squares(value: ir.Value, graph: Graph) -> tuple[ir.Value, int, float] | None:
    """(x, N, k) of k mean((x - m)^2) + epsilon over N elements; k is N of a sum, as of a norm's."""
    value, factor = graph.multiple(value)
    node = graph.node(value)
    if node is None:
        return None
    name = node.name.removeprefix("stablehlo.")
    index = None
    if name in ("add", "maximum"):  # epsilon, or a bound
        fixed = [graph.constant(v) is not None or _is_number(graph.bare(v)) for v in node.operands]
        if fixed.count(True) != 1:
            return None
        index = fixed.index(False)
    elif name in ("divide", "select", "subtract"):
        # a number of elements that is computed, NaN where it is 0, mean(x^2) - mean(x)^2
        index = int(name == "select")
    if index is not None:
        inner = _mean_of_squares(node.operands[index], graph)
        return inner and (*inner[:2], 1.0 if name == "divide" else factor * inner[2])
    found_sum = graph.sum_of(value)
    if found_sum is None:
        return None
    square = graph.made_by(found_sum[0], "multiply")
    if found_sum[1] < 2 or square is None or graph.bare(square.operands[0]) != graph.bare(square.operands[1]):
        return None
    return _centred(square.operands[0], graph), found_sum[1], factor * found_sum[1]


def _is_number(value: ir.Value) -> bool:
    return shape_of(value) == ()


# --- gelu and silu ------------------------------------------------------------------------------------------------


def _gated(seed: Node, graph: Graph) -> list[Block]:
    # x g(x), told by its values at some points
    before = _upstream(seed, graph)
    reached = {seed: 0}
    pending = [seed]
    while pending:
        node = pending.pop(0)
        if node.name == "stablehlo.multiply":
            for operand in node.operands:
                x = graph.multiple(operand)[0]
                block = _as_gated(node, x, graph) if x in before else None
                if block is not None:
                    return [block]
        if reached[node] < _FAR and len(node.results) == 1:
            for user in graph.uses(node.result):
                if user is not None and user not in reached and user.name.startswith(("stablehlo.", "chlo.")):
                    reached[user] = reached[node] + 1
                    pending.append(user)
    return []


def _upstream(seed: Node, graph: Graph) -> set[ir.Value]:
    """The values that an operation is computed of, some operations back."""
    found: set[ir.Value] = set()
    pending = list(seed.operands)
    while pending and len(found) < _BEFORE:
        value = pending.pop(0)
        node = graph.node(value)
        if value not in found:
            found.add(value)
            pending += node.operands if node is not None and node.name in POINTWISE else ()
    return found


def _as_gated(node: Node, x: ir.Value, graph: Graph) -> Block | None:
    found = evaluate(node.result, x, graph)
    if found is None:
        return None
    values, inner = found
    for name, functions in _GATES.items():
        if any(np.allclose(values, function, rtol=0, atol=_TOLERANCE) for function in functions):
            law = Law(name, GATED[name], (x,))
            return Block(law, x, node.result, tuple(value for value in inner if value != node.result))
    return None
