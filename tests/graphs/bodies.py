"""Operations with bodies: calls, loops, branches, softmax and its like as patterns of several operations."""

import numpy as np

from tests.graphs import bounds
from tests.graphs.bounds import InadmissibleError, Value
from tests.graphs.graph import Graph, Node, Step, tensor
from tests.graphs.operations import ELEMENTWISE, Addition, compare
from tests.graphs.reductions import reduce_with

_BODY_OPERATIONS = (1, 2, 3)
_ITERATIONS = (0, 1, 2, 3)


def _filled(g: Graph, arguments: list[Node]) -> tuple[Graph, Node]:
    """A body of a few elementwise operations, and its last float node of the first argument's shape."""
    body = g.body(arguments)
    for _ in range(g.pick(_BODY_OPERATIONS)):
        body.attempt(g.pick(ELEMENTWISE))
    shape = arguments[0].shape
    return body, [node for node in body.floats() if node.shape == shape][-1]


def _renamed(g: Graph, nodes: list[Node]) -> list[Node]:
    return [Node(g.fresh(), node.value) for node in nodes]


def call(g: Graph) -> None:
    """A private function of two arguments, called once or twice; it may be inlined or not."""
    x = g.operand()
    y = g.like(x)
    parameters = _renamed(g, [x, y])
    body, result = _filled(g, parameters)
    name = f"f{len(g.functions)}"
    type_ = tensor(x.shape)
    arguments = ", ".join(f"{p.name}: {type_}" for p in parameters)
    # Every other function stays one, as a large one does.
    kept = " attributes {no_inline}" if len(g.functions) % 2 else ""
    head = f"func.func private @{name}({arguments}) -> {type_}{kept}"
    g.functions.append(f"{head} {{\n{body.text}\n    return {result.name} : {type_}\n}}")

    def apply(*values: Value) -> Value:
        known = {p.name: v for p, v in zip(parameters, values, strict=True)}
        return body.evaluate(known, [result])[0]

    first = g.step(f"func.call @{name}({x.name}, {y.name}) : ({type_}, {type_}) -> {type_}", [x, y], apply)
    if g.pick((False, True)):
        g.step(f"func.call @{name}({first.name}, {x.name}) : ({type_}, {type_}) -> {type_}", [first, x], apply)


def loop(g: Graph) -> None:
    """A while of a few iterations that carries two values; the body uses a third from outside."""
    x = g.operand()
    carried = [x, g.like(x)]
    outside = g.like(x)
    arguments = _renamed(g, carried)
    body, result = _filled(g, [*arguments, outside])
    second = g.pick([n for n in body.floats() if n.shape == x.shape])
    count = g.pick(_ITERATIONS)
    start, one, end = (g.integer(n) for n in (0, 1, count))
    index, go, following = g.fresh(), g.fresh(), g.fresh()
    types = f"tensor<i32>, {tensor(x.shape)}, {tensor(x.shape)}"
    a, b = arguments
    results = g.fresh()
    integers = "(tensor<i32>, tensor<i32>) -> tensor<i1>"

    def apply(*values: Value) -> Value:
        first, other, fixed = values
        entries = [first, other]
        for _ in range(count):
            known = {a.name: first, b.name: other, outside.name: fixed}
            returned = body.evaluate(known, [result, second])
            first, other = (bounds.held(v, entry) for v, entry in zip(returned, entries, strict=True))
        return first

    text = (
        f"stablehlo.while({index} = {start}, {a.name} = {x.name}, {b.name} = {carried[1].name}) : {types}\n"
        f"    cond {{\n      {go} = stablehlo.compare LT, {index}, {end} : {integers}\n"
        f"      stablehlo.return {go} : tensor<i1>\n    }} do {{\n"
        f"      {following} = stablehlo.add {index}, {one} : tensor<i32>\n{body.text}\n"
        f"      stablehlo.return {following}, {result.name}, {second.name} : {types}\n    }}"
    )
    value = apply(*(node.value for node in (*carried, outside)))
    names = tuple(node.name for node in (*carried, outside))
    g.steps.append(Step(f"{results}:3 = {text}", f"{results}#1", names, apply))
    g.nodes.append(Node(f"{results}#1", value))


def branch(g: Graph) -> None:
    """An if on a run-time predicate, or a case on a constant."""
    x = g.operand()
    y = g.like(x)
    first, left = _filled(g, [x, y])
    second, right = _filled(g, [y, x])
    type_ = tensor(x.shape)
    taken = g.pick((0, 1))
    if g.pick((False, True)):
        chosen = g.integer(taken)
        head, index_type = f'"stablehlo.case"({chosen})', "tensor<i32>"
    else:
        chosen = g.fresh()
        g.other(f"{chosen} = stablehlo.constant dense<{'false' if taken else 'true'}> : tensor<i1>", chosen)
        head, index_type = f'"stablehlo.if"({chosen})', "tensor<i1>"

    def apply(a: Value, b: Value) -> Value:
        """Which branch is taken the rewriter does not know: both results come at one scale."""
        known = {x.name: a, y.name: b}
        (one,), (other,) = first.evaluate(known, [left]), second.evaluate(known, [right])
        return bounds.assembled(lambda *pair: pair[taken], one, other)

    g.step(
        f"{head} ({{\n{first.text}\n      stablehlo.return {left.name} : {type_}\n    }}, {{\n{second.text}\n"
        f"      stablehlo.return {right.name} : {type_}\n    }}) : ({index_type}) -> {type_}",
        [x, y],
        apply,
    )


# --- patterns -------------------------------------------------------------------------------------------------


def _along(g: Graph, x: Node, reduced: Node) -> Node:
    """A reduction over the last axis, broadcast back."""
    dims = list(range(len(reduced.shape)))
    return g.step(
        f"stablehlo.broadcast_in_dim {reduced.name}, dims = {dims} : ({tensor(reduced.shape)}) -> {tensor(x.shape)}",
        [reduced],
        lambda v: bounds.moved(v, lambda a: np.broadcast_to(a[..., None], x.shape)),
    )


def softmax(g: Graph) -> None:
    """Softmax, with a mask of minus infinities now and then."""
    x = g.operand(least_rank=1)
    axis = len(x.shape) - 1
    if g.pick((False, True)):
        p = compare(g)
        if p.shape != x.shape:
            raise InadmissibleError("no mask of this shape")
        far = g.constant(-np.inf, x.shape)
        types = f"{tensor(x.shape, 'i1')}, {tensor(x.shape)}"
        x = g.step(f"stablehlo.select {p.name}, {x.name}, {far.name} : {types}", [p, x, far], bounds.select)
        if np.isneginf(x.value.value).all(axis).any():
            raise InadmissibleError("a row without members")
    largest = reduce_with(g, "maximum", x, axis)
    centred = g.elementwise("stablehlo.subtract", [x, _along(g, x, largest)], lambda a, b: bounds.add(a, b, -1))
    powers = g.elementwise("stablehlo.exponential", [centred], lambda v: bounds.monotone(v, np.exp, 0.0, 0))
    total = reduce_with(g, "add", powers, axis)
    g.elementwise("stablehlo.divide", [powers, _along(g, x, total)], bounds.divide)


def normalise(g: Graph) -> None:
    """(x - mean) / sqrt(mean square + eps), or without the mean."""
    x = g.operand(least_rank=1)
    axis = len(x.shape) - 1
    share = 1 / x.shape[axis]
    if g.pick((False, True)):
        total = reduce_with(g, "add", x, axis)
        mean = g.elementwise("stablehlo.multiply", [total, g.constant(share, total.shape)], bounds.multiply)
        x = g.elementwise("stablehlo.subtract", [x, _along(g, x, mean)], lambda a, b: bounds.add(a, b, -1))
    square = g.elementwise("stablehlo.multiply", [x, x], bounds.multiply)
    total = reduce_with(g, "add", square, axis)
    variance = g.elementwise("stablehlo.multiply", [total, g.constant(share, total.shape)], bounds.multiply)
    guarded = g.elementwise("stablehlo.add", [variance, g.constant(1e-3, variance.shape)], bounds.add)
    inverse = g.elementwise(
        "stablehlo.rsqrt",
        [guarded],
        lambda v: bounds.monotone(v, lambda a: a**-0.5, -v.exponent / 2, v.degree, 1e-300),
    )
    g.elementwise("stablehlo.multiply", [x, _along(g, x, inverse)], bounds.multiply)


def moving_average(g: Graph) -> None:
    """0.9 m + 0.1 g, as in Adam."""
    m = g.operand()
    x = g.like(m)
    old = g.elementwise("stablehlo.multiply", [m, g.constant(0.9, m.shape)], bounds.multiply)
    new = g.elementwise("stablehlo.multiply", [g.constant(0.1, m.shape), x], bounds.multiply)
    g.elementwise("stablehlo.add", [old, new], bounds.add)


BODIES: tuple[Addition, ...] = (call, loop, branch, softmax, normalise, moving_average)
