"""Contractions and accumulations of random graphs: sums, products and extrema over dimensions."""

import math
from collections.abc import Callable

import numpy as np

from tests.graphs import bounds
from tests.graphs.bounds import Bounded, Floats, InadmissibleError, rounded
from tests.graphs.graph import MOST_ELEMENTS, Graph, Node, tensor


def dot(g: Graph) -> None:
    x = g.operand(rank=2)
    ys = [n for n in g.floats(2) if x.shape[1] in n.shape]
    if not ys:
        raise InadmissibleError("nothing to contract with")
    y = g.pick(ys[::-1])
    axis = y.shape.index(x.shape[1])
    shape = (x.shape[0], y.shape[1 - axis])
    if math.prod(shape) > MOST_ELEMENTS:
        raise InadmissibleError("too large")

    def product(a: Floats, b: Floats) -> Floats:
        return np.tensordot(a, b, ([1], [axis]))

    g.step(
        f"stablehlo.dot_general {x.name}, {y.name}, contracting_dims = [1] x [{axis}] : "
        f"({tensor(x.shape)}, {tensor(y.shape)}) -> {tensor(shape)}",
        [x, y],
        lambda a, b: bounds.contracted(a, b, product, count=x.shape[1]),
    )


def batched_dot(g: Graph) -> None:
    x = g.operand(rank=2)
    y = g.like(x)

    def product(a: Floats, b: Floats) -> Floats:
        return np.sum(a * b, axis=1)

    g.step(
        f"stablehlo.dot_general {x.name}, {y.name}, batching_dims = [0] x [0], contracting_dims = [1] x [1] : "
        f"({tensor(x.shape)}, {tensor(y.shape)}) -> {tensor(x.shape[:1])}",
        [x, y],
        lambda a, b: bounds.contracted(a, b, product, count=x.shape[1]),
    )


_REDUCERS: dict[str, tuple[float, Callable[[Bounded, int], Bounded]]] = {
    "add": (0.0, lambda x, axis: bounds.summed(x, (axis,))),
    "maximum": (-np.inf, lambda x, axis: _extremum(x, axis, np.max)),
    "minimum": (np.inf, lambda x, axis: _extremum(x, axis, np.min)),
}


def _extremum(x: Bounded, axis: int, function: Callable[..., Floats]) -> Bounded:
    return Bounded(function(x.value, axis=axis), x.error.max(axis), x.exponent, x.degree)


def reduce(g: Graph) -> Node:
    op = g.pick(tuple(_REDUCERS))
    x = g.operand(least_rank=1)
    return reduce_with(g, op, x, g.axis(x))


def reduce_with(g: Graph, op: str, x: Node, axis: int) -> Node:
    initial, apply = _REDUCERS[op]
    start = g.constant(initial, ())
    shape = tuple(n for d, n in enumerate(x.shape) if d != axis)
    return g.step(
        f"stablehlo.reduce({x.name} init: {start.name}) applies stablehlo.{op} across dimensions = [{axis}] : "
        f"({tensor(x.shape)}, {tensor(())}) -> {tensor(shape)}",
        [x],
        lambda v: apply(v, axis),
    )


def cumulative_sum(g: Graph) -> None:
    x = g.operand(least_rank=1)
    axis = g.axis(x)
    rank, n = len(x.shape), x.shape[axis]
    start = g.constant(0.0, ())
    windows = ", ".join(str(n if d == axis else 1) for d in range(rank))
    padding = ", ".join(f"[{n - 1 if d == axis else 0}, 0]" for d in range(rank))
    a, b, c = g.fresh(), g.fresh(), g.fresh()
    scalar = tensor(())
    g.step(
        f'"stablehlo.reduce_window"({x.name}, {start.name}) ({{ ^bb0({a}: {scalar}, {b}: {scalar}): '
        f"{c} = stablehlo.add {a}, {b} : {scalar} stablehlo.return {c} : {scalar} }}) "
        f"{{window_dimensions = array<i64: {windows}>, padding = dense<[{padding}]> : tensor<{rank}x2xi64>}} : "
        f"({tensor(x.shape)}, {scalar}) -> {tensor(x.shape)}",
        [x],
        lambda v: bounds.running_sum(v, axis),
    )


def scatter_add(g: Graph) -> None:
    x = g.operand(least_rank=1)
    updates = g.like(x)
    rows = [g.pick(range(x.shape[0])) for _ in range(x.shape[0])]
    indices = g.fresh()
    text = f"{indices} = stablehlo.constant dense<{[[r] for r in rows]}> : tensor<{len(rows)}x1xi64>"
    g.other(text, indices)
    a, b, c = g.fresh(), g.fresh(), g.fresh()
    scalar = tensor(())

    def place(start: Floats, terms: Floats) -> Floats:
        result = start.copy()
        np.add.at(result, rows, terms)
        return result

    g.step(
        f'"stablehlo.scatter"({x.name}, {indices}, {updates.name}) ({{ ^bb0({a}: {scalar}, {b}: {scalar}): '
        f"{c} = stablehlo.add {a}, {b} : {scalar} stablehlo.return {c} : {scalar} }}) "
        f"{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {list(range(1, len(x.shape)))}, "
        f"inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}} : "
        f"({tensor(x.shape)}, tensor<{len(rows)}x1xi64>, {tensor(x.shape)}) -> {tensor(x.shape)}",
        [x, updates],
        lambda v, u: bounds.repeated_sum(v, u, place, len(rows)),
    )


def product(g: Graph) -> None:
    """A product over a dimension of two or three."""
    x = g.operand(least_rank=1)
    axis = g.axis(x)
    n = x.shape[axis]
    start = g.constant(1.0, ())
    shape = tuple(m for d, m in enumerate(x.shape) if d != axis)

    def apply(v: Bounded) -> Bounded:
        sizes = np.abs(v.value)
        error = np.prod(sizes + v.error, axis) - np.prod(sizes, axis)
        value = np.prod(v.value, axis)
        return rounded(value, error + n * bounds.ROUNDOFF * np.abs(value), n * v.exponent, n * v.degree)

    g.step(
        f"stablehlo.reduce({x.name} init: {start.name}) applies stablehlo.multiply across dimensions = [{axis}] : "
        f"({tensor(x.shape)}, {tensor(())}) -> {tensor(shape)}",
        [x],
        apply,
    )


def convolution(g: Graph) -> None:
    """Along the first dimension, features in the second: [b, 0, f] with b = 1 and a window of 2."""
    x = g.operand(rank=2)
    rows, features = x.shape
    kernels = [n for n in g.floats(2) if n.shape[0] == 2 * features and n.shape[1] <= 4]
    if rows < 2 or not kernels:
        raise InadmissibleError("no kernel")
    k = g.pick(kernels[::-1])
    outputs = k.shape[1]
    image, window, result = g.fresh(), g.fresh(), g.fresh()
    types = tensor((1, rows, features)), tensor((2, features, outputs)), tensor((1, rows - 1, outputs))
    g.other(f"{image} = stablehlo.reshape {x.name} : ({tensor(x.shape)}) -> {types[0]}", image)
    g.other(f"{window} = stablehlo.reshape {k.name} : ({tensor(k.shape)}) -> {types[1]}", window)
    g.other(
        f'{result} = "stablehlo.convolution"({image}, {window}) '
        "{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, "
        f"feature_group_count = 1 : i64}} : ({types[0]}, {types[1]}) -> {types[2]}",
        result,
    )

    def slide(a: Floats, b: Floats) -> Floats:
        b = b.reshape(2, features, outputs)
        return a[:-1] @ b[0] + a[1:] @ b[1]

    g.step(
        f"stablehlo.reshape {result} : ({types[2]}) -> {tensor((rows - 1, outputs))}",
        [x, k],
        # The interpreter accumulates a convolution in the operands' type, even if the result is wider.
        lambda a, b: bounds.contracted(a, b, slide, rounded_terms=2 * features),
    )


def window_maximum(g: Graph) -> None:
    x = g.operand(rank=1)
    start = g.constant(-np.inf, ())
    a, b, c = g.fresh(), g.fresh(), g.fresh()
    scalar = tensor(())
    n = x.shape[0]
    if n < 2:
        raise InadmissibleError("no window")

    def slide(v: Floats) -> Floats:
        return np.maximum(v[:-1], v[1:])

    g.step(
        f'"stablehlo.reduce_window"({x.name}, {start.name}) ({{ ^bb0({a}: {scalar}, {b}: {scalar}): '
        f"{c} = stablehlo.maximum {a}, {b} : {scalar} stablehlo.return {c} : {scalar} }}) "
        f"{{window_dimensions = array<i64: 2>}} : ({tensor(x.shape)}, {scalar}) -> {tensor((n - 1,))}",
        [x],
        lambda v: Bounded(slide(v.value), slide(v.error), v.exponent, v.degree),
    )
