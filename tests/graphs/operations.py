"""What a random graph is made of: one function per kind of operation, each adds one to a graph or raises
InadmissibleError. Families are those of the design's operator table (section 4).
"""

import functools
import math
from collections.abc import Callable

import numpy as np

from tests.graphs import bounds
from tests.graphs.bounds import Bounded, Floats, InadmissibleError, Predicate, rounded
from tests.graphs.graph import Graph, Node, tensor

Addition = Callable[[Graph], object]
_CONSTANTS = (0.9, 3.0, 0.1, 2.0, 0.25, -1.0, 1.0, 0.5, -0.3)
_MOST_ELEMENTS = 24


# --- homogeneous ----------------------------------------------------------------------------------------------


def _transform(g: Graph, text: str, x: Node, move: Callable[[Floats], Floats]) -> Node:
    shape = move(np.zeros(x.shape)).shape
    if math.prod(shape) > _MOST_ELEMENTS or 0 in shape:
        raise InadmissibleError("too large or empty")
    return g.step(f"{text} : ({tensor(x.shape)}) -> {tensor(shape)}", [x], lambda v: bounds.moved(v, move))


def negate(g: Graph) -> None:
    g.elementwise("stablehlo.negate", [g.operand()], lambda x: Bounded(-x.value, x.error, x.exponent, x.degree))


def absolute(g: Graph) -> Node:
    x = g.operand()
    return g.elementwise("stablehlo.abs", [x], lambda x: Bounded(np.abs(x.value), x.error, x.exponent, x.degree))


def barrier(g: Graph) -> None:
    x = g.operand()
    g.step(f"stablehlo.optimization_barrier {x.name} : {tensor(x.shape)}", [x], lambda v: v)


def reshape(g: Graph) -> None:
    x = g.operand()
    size = math.prod(x.shape)
    shapes = [(size,), (1, size), *[(d, size // d) for d in (2, 3, 4) if size % d == 0]]
    shape = g.pick(shapes)
    _transform(g, f"stablehlo.reshape {x.name}", x, lambda v: v.reshape(shape))


def transpose(g: Graph) -> None:
    x = g.operand(least_rank=2)
    order = g.pick([tuple(reversed(range(len(x.shape)))), (*range(1, len(x.shape)), 0)])
    text = f"stablehlo.transpose {x.name}, dims = {list(order)}"
    _transform(g, text, x, lambda v: v.transpose(order))


def reverse(g: Graph) -> None:
    x = g.operand(least_rank=1)
    axis = g.axis(x)
    text = f"stablehlo.reverse {x.name}, dims = [{axis}] : {tensor(x.shape)}"
    g.step(text, [x], lambda v: bounds.moved(v, lambda a: np.flip(a, axis)))


def broadcast(g: Graph) -> None:
    x = g.operand()
    if len(x.shape) > 2:
        raise InadmissibleError("of rank 3 already")
    n = g.pick((2, 3))
    leading = g.pick((True, False))
    shape = (n, *x.shape) if leading else (*x.shape, n)
    dims = list(range(1, len(x.shape) + 1)) if leading else list(range(len(x.shape)))

    def move(v: Floats) -> Floats:
        return np.broadcast_to(v if leading else v[..., None], shape)

    _transform(g, f"stablehlo.broadcast_in_dim {x.name}, dims = {dims}", x, move)


def slice_(g: Graph) -> None:
    x = g.operand(least_rank=1)
    axis = g.axis(x)
    n = x.shape[axis]
    start = g.pick(range(n))
    stop = g.pick(range(start + 1, n + 1))
    parts = [f"{start}:{stop}" if d == axis else f"0:{m}" for d, m in enumerate(x.shape)]
    take = tuple(slice(start, stop) if d == axis else slice(None) for d in range(len(x.shape)))
    _transform(g, f"stablehlo.slice {x.name} [{', '.join(parts)}]", x, lambda v: v[take])


def dynamic_slice(g: Graph) -> None:
    x = g.operand(least_rank=1)
    starts = [g.pick(range(n)) for n in x.shape]
    sizes = [g.pick(range(1, n - s + 1)) for s, n in zip(starts, x.shape, strict=True)]
    names = [g.integer(s) for s in starts]
    take = tuple(slice(s, s + m) for s, m in zip(starts, sizes, strict=True))
    integers = ", ".join(["tensor<i32>"] * len(names))
    g.step(
        f"stablehlo.dynamic_slice {x.name}, {', '.join(names)}, sizes = {sizes} : "
        f"({tensor(x.shape)}, {integers}) -> {tensor(sizes)}",
        [x],
        lambda v: bounds.moved(v, lambda a: a[take]),
    )


def gather(g: Graph) -> None:
    x = g.operand(least_rank=1)
    rows = [g.pick(range(x.shape[0])) for _ in range(g.pick((1, 2, 3)))]
    rest = x.shape[1:]
    indices = g.fresh()
    text = f"{indices} = stablehlo.constant dense<{[[r] for r in rows]}> : tensor<{len(rows)}x1xi64>"
    g.other(text, indices)
    offset = list(range(1, len(rest) + 1))
    g.step(
        f'"stablehlo.gather"({x.name}, {indices}) {{dimension_numbers = #stablehlo.gather<offset_dims = {offset}, '
        f"collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
        f"slice_sizes = array<i64: {', '.join(map(str, (1, *rest)))}>}} : "
        f"({tensor(x.shape)}, tensor<{len(rows)}x1xi64>) -> {tensor((len(rows), *rest))}",
        [x],
        lambda v: bounds.moved(v, lambda a: a[rows]),
    )


def sort(g: Graph) -> None:
    x = g.operand(least_rank=1)
    axis = g.axis(x)
    a, b, c = g.fresh(), g.fresh(), g.fresh()
    scalar = tensor(())

    def apply(v: Bounded) -> Bounded:
        # The k-th smallest of perturbed numbers is within the largest perturbation of the k-th smallest.
        error = np.broadcast_to(v.error.max(axis, keepdims=True), v.error.shape)
        return Bounded(np.sort(v.value, axis), error, v.exponent, v.degree)

    g.step(
        f'"stablehlo.sort"({x.name}) ({{ ^bb0({a}: {scalar}, {b}: {scalar}): '
        f"{c} = stablehlo.compare LT, {a}, {b} : ({scalar}, {scalar}) -> tensor<i1> "
        f"stablehlo.return {c} : tensor<i1> }}) {{dimension = {axis} : i64, is_stable = true}} : "
        f"({tensor(x.shape)}) -> {tensor(x.shape)}",
        [x],
        apply,
    )


# --- additive and multiplicative ------------------------------------------------------------------------------


def add(g: Graph) -> None:
    x = g.operand()
    sign, op = g.pick(((1, "add"), (-1, "subtract")))
    g.elementwise(f"stablehlo.{op}", [x, g.like(x)], functools.partial(bounds.add, sign=sign))


def add_constant(g: Graph) -> None:
    x = g.operand()
    g.elementwise("stablehlo.add", [x, g.constant(g.pick(_CONSTANTS), x.shape)], bounds.add)


def multiply(g: Graph) -> None:
    x = g.operand()
    g.elementwise("stablehlo.multiply", [x, g.like(x)], bounds.multiply)


def multiply_constant(g: Graph) -> None:
    x = g.operand()
    operands = [x, g.constant(g.pick(_CONSTANTS), x.shape)]
    g.elementwise("stablehlo.multiply", operands[:: g.pick((1, -1))], bounds.multiply)


def multiply_zero(g: Graph) -> None:
    x = g.operand()
    g.elementwise("stablehlo.multiply", [x, g.constant(0.0, x.shape)], bounds.multiply)


def divide(g: Graph) -> None:
    x = g.operand()
    g.elementwise("stablehlo.divide", [x, g.like(x)], bounds.divide)


def divide_constant(g: Graph) -> None:
    x = g.operand()
    g.elementwise("stablehlo.divide", [x, g.constant(g.pick(_CONSTANTS), x.shape)], bounds.divide)


def square_root(g: Graph) -> None:
    absolute(g)
    x = g.nodes[-1]
    g.elementwise("stablehlo.sqrt", [x], lambda v: bounds.monotone(v, np.sqrt, v.exponent / 2, v.degree, 0))


def reciprocal_square_root(g: Graph) -> None:
    absolute(g)
    x = g.nodes[-1]
    g.elementwise(
        "stablehlo.rsqrt", [x], lambda v: bounds.monotone(v, lambda a: a**-0.5, -v.exponent / 2, v.degree, 1e-300)
    )


def cube_root(g: Graph) -> None:
    g.elementwise("stablehlo.cbrt", [g.operand()], lambda v: bounds.monotone(v, np.cbrt, v.exponent / 3, v.degree))


def power(g: Graph) -> None:
    x = g.operand()
    n = g.pick((2, 3))

    def apply(v: Bounded, _: Bounded) -> Bounded:
        error = (np.abs(v.value) + v.error) ** n - np.abs(v.value) ** n
        return rounded(v.value**n, error, n * v.exponent, n * v.degree)

    g.elementwise("stablehlo.power", [x, g.constant(n, x.shape)], apply)


# --- contractions and accumulations ---------------------------------------------------------------------------


def dot(g: Graph) -> None:
    x = g.operand(rank=2)
    ys = [n for n in g.floats(2) if x.shape[1] in n.shape]
    if not ys:
        raise InadmissibleError("nothing to contract with")
    y = g.pick(ys[::-1])
    axis = y.shape.index(x.shape[1])
    shape = (x.shape[0], y.shape[1 - axis])
    if math.prod(shape) > _MOST_ELEMENTS:
        raise InadmissibleError("too large")

    def product(a: Floats, b: Floats) -> Floats:
        return np.tensordot(a, b, ([1], [axis]))

    g.step(
        f"stablehlo.dot_general {x.name}, {y.name}, contracting_dims = [1] x [{axis}] : "
        f"({tensor(x.shape)}, {tensor(y.shape)}) -> {tensor(shape)}",
        [x, y],
        lambda a, b: bounds.contracted(a, b, product),
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
        lambda a, b: bounds.contracted(a, b, product),
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


# --- selections and predicates --------------------------------------------------------------------------------


def compare(g: Graph) -> Node:
    x = g.operand()
    y = g.constant(g.pick((0.0, *_CONSTANTS)), x.shape) if g.pick((False, True)) else g.like(x)
    direction, function = g.pick((("GT", np.greater), ("LE", np.less_equal), ("GE", np.greater_equal)))
    types = f"({tensor(x.shape)}, {tensor(y.shape)}) -> {tensor(x.shape, 'i1')}"
    return g.step(
        f"stablehlo.compare {direction}, {x.name}, {y.name} : {types}",
        [x, y],
        lambda a, b: bounds.compare(a, b, function),
    )


def select(g: Graph) -> None:
    p = compare(g)
    members = [n for n in g.floats() if n.shape == p.shape]
    x = g.pick(members[::-1])
    y = g.constant(g.pick((0.0, 1.0, 0.75)), p.shape) if g.pick((False, True)) else g.pick(members)
    g.step(
        f"stablehlo.select {p.name}, {x.name}, {y.name} : {tensor(p.shape, 'i1')}, {tensor(p.shape)}",
        [p, x, y],
        bounds.select,
    )


def convert_predicate(g: Graph) -> None:
    p = compare(g)

    def apply(v: Predicate) -> Bounded:
        return Bounded(v.value.astype(np.float64), v.unknown.astype(np.float64), 0.0, 0)

    g.step(f"stablehlo.convert {p.name} : ({tensor(p.shape, 'i1')}) -> {tensor(p.shape)}", [p], apply)


def maximum(g: Graph) -> None:
    x = g.operand()
    y = g.constant(g.pick((0.0, *_CONSTANTS)), x.shape) if g.pick((False, True)) else g.like(x)
    op, function = g.pick((("maximum", np.maximum), ("minimum", np.minimum)))
    g.elementwise(f"stablehlo.{op}", [x, y], functools.partial(bounds.selected, function))


def clamp(g: Graph) -> None:
    x = g.operand()
    low, high = (g.constant(number, x.shape) for number in g.pick(((-1.0, 1.0), (0.0, 6.0), (0.5, 2.0))))
    g.elementwise(
        "stablehlo.clamp", [low, x, high], lambda a, v, b: bounds.selected(lambda p, q, r: np.clip(q, p, r), a, v, b)
    )


def concatenate(g: Graph) -> None:
    x = g.operand(least_rank=1)
    y = g.like(x)
    axis = g.axis(x)

    def apply(a: Bounded, b: Bounded) -> Bounded:
        return bounds.assembled(lambda p, q: np.concatenate([p, q], axis), a, b)

    shape = tuple(2 * n if d == axis else n for d, n in enumerate(x.shape))
    if math.prod(shape) > _MOST_ELEMENTS:
        raise InadmissibleError("too large")
    g.step(
        f"stablehlo.concatenate {x.name}, {y.name}, dim = {axis} : "
        f"({tensor(x.shape)}, {tensor(y.shape)}) -> {tensor(shape)}",
        [x, y],
        apply,
    )


def pad(g: Graph) -> None:
    x = g.operand(rank=1)
    scalars = g.floats(0)
    y = g.pick(scalars) if scalars and g.pick((False, True)) else g.constant(g.pick((0.0, 1.0)), ())
    n = x.shape[0] + 3

    def place(v: Floats, w: Floats) -> Floats:
        return np.concatenate([np.reshape(w, (1,)), v, np.full(2, w)])

    g.step(
        f"stablehlo.pad {x.name}, {y.name}, low = [1], high = [2], interior = [0] : "
        f"({tensor(x.shape)}, {tensor(())}) -> {tensor((n,))}",
        [x, y],
        functools.partial(bounds.assembled, place),
    )


def dynamic_update_slice(g: Graph) -> None:
    x = g.operand(least_rank=1)
    updates = [n for n in g.floats(len(x.shape)) if all(a <= b for a, b in zip(n.shape, x.shape, strict=True))]
    u = g.pick(updates[::-1])
    starts = [g.pick(range(n - m + 1)) for n, m in zip(x.shape, u.shape, strict=True)]
    names = [g.integer(s) for s in starts]
    take = tuple(slice(s, s + m) for s, m in zip(starts, u.shape, strict=True))

    def place(v: Floats, w: Floats) -> Floats:
        result = v.copy()
        result[take] = w
        return result

    integers = ", ".join(["tensor<i32>"] * len(names))
    g.step(
        f"stablehlo.dynamic_update_slice {x.name}, {u.name}, {', '.join(names)} : "
        f"({tensor(x.shape)}, {tensor(u.shape)}, {integers}) -> {tensor(x.shape)}",
        [x, u],
        functools.partial(bounds.assembled, place),
    )


# --- nonlinear ------------------------------------------------------------------------------------------------


def bounded_function(g: Graph) -> None:
    op, function, lipschitz, most = g.pick(
        (
            ("tanh", np.tanh, 1.0, 2.0),
            ("logistic", lambda v: 0.5 + 0.5 * np.tanh(0.5 * v), 0.25, 1.0),
            ("sine", np.sin, 1.0, 2.0),
            ("cosine", np.cos, 1.0, 2.0),
        )
    )
    g.elementwise(f"stablehlo.{op}", [g.operand()], lambda v: bounds.contracting(v, function, lipschitz, most))


def exponential(g: Graph) -> None:
    g.elementwise("stablehlo.exponential", [g.operand()], lambda v: bounds.monotone(v, np.exp, 0.0, 0))


def logarithm(g: Graph) -> None:
    absolute(g)
    x = g.nodes[-1]
    g.elementwise("stablehlo.log", [x], lambda v: bounds.monotone(v, np.log, 0.0, 0, 1e-300))


OPERATIONS: tuple[Addition, ...] = (
    negate, absolute, barrier, reshape, transpose, reverse, broadcast, slice_, dynamic_slice, gather, sort,
    add, add_constant, multiply, multiply_constant, multiply_zero, divide, divide_constant,
    square_root, reciprocal_square_root, cube_root, power,
    dot, batched_dot, reduce, cumulative_sum, scatter_add,
    compare, select, convert_predicate, maximum, clamp, concatenate, pad, dynamic_update_slice,
    bounded_function, exponential, logarithm,
)  # fmt: skip
# Those that keep a shape, of which bodies are made.
ELEMENTWISE: tuple[Addition, ...] = (
    negate, absolute, add, add_constant, multiply, multiply_constant, divide, square_root, cube_root, select, maximum,
    clamp, bounded_function, sort,
)  # fmt: skip
