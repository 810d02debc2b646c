"""What a random graph is made of: one function per kind of operation, each adds one to a graph or raises
InadmissibleError. Families are those of the design's operator table (section 4).
"""

import functools
import math
from collections.abc import Callable

import numpy as np

from tests.graphs import bounds
from tests.graphs.bounds import Bounded, Floats, InadmissibleError, Predicate, rounded
from tests.graphs.graph import MOST_ELEMENTS, Graph, Node, tensor
from tests.graphs.reductions import (
    batched_dot,
    convolution,
    cumulative_sum,
    dot,
    product,
    reduce,
    scatter_add,
    window_maximum,
)

Addition = Callable[[Graph], object]
_CONSTANTS = (0.9, 3.0, 0.1, 2.0, 0.25, -1.0, 1.0, 0.5, -0.3)


# --- plain values: no argument is in them -----------------------------------------------------------------------


def constant(g: Graph) -> None:
    """A constant that other operations may move and combine before it meets an argument."""
    shape = g.operand().shape
    g.nodes.append(g.constant(g.pick((0.0, *_CONSTANTS)), shape))


def iota(g: Graph) -> None:
    x = g.operand(least_rank=1)
    axis, shape = g.axis(x), x.shape
    values = np.indices(shape)[axis].astype(np.float64)
    g.step(f"stablehlo.iota dim = {axis} : {tensor(shape)}", [], lambda: Bounded(values, np.zeros(shape)))


def integer_arithmetic(g: Graph) -> None:
    """Of two integer constants, the result converted: it is rounded toward zero, and in i8 it may be modular."""
    shape, element = g.operand().shape, g.pick(("i32", "i8"))
    op, function = g.pick(
        (("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("divide", _quotient))
    )
    numbers = [g.pick((100, 50, 7, 2, -3)) for _ in range(2)]
    names = [g.fresh() for _ in (*numbers, op)]
    type_ = tensor(shape, element)
    for name, number in zip(names, numbers, strict=False):
        g.other(f"{name} = stablehlo.constant dense<{number}> : {type_}", name)
    g.other(f"{names[2]} = stablehlo.{op} {names[0]}, {names[1]} : {type_}", names[2])
    dtype = {"i32": np.int32, "i8": np.int8}[element]
    values = np.broadcast_to(function(*np.asarray(numbers, dtype)), shape).astype(np.float64)
    text = f"stablehlo.convert {names[2]} : ({type_}) -> {tensor(shape)}"
    g.step(text, [], lambda: Bounded(values, np.abs(values) * bounds.ROUNDOFF / 2))


def _quotient(x: np.integer, y: np.integer) -> float:
    return math.trunc(int(x) / int(y))


# --- homogeneous ----------------------------------------------------------------------------------------------


def _transform(g: Graph, text: str, x: Node, move: Callable[[Floats], Floats]) -> Node:
    shape = move(np.zeros(x.shape)).shape
    if math.prod(shape) > MOST_ELEMENTS or 0 in shape:
        raise InadmissibleError("too large or empty")
    return g.step(f"{text} : ({tensor(x.shape)}) -> {tensor(shape)}", [x], lambda v: bounds.moved(v, move))


def negate(g: Graph) -> None:
    g.elementwise("stablehlo.negate", [g.operand()], lambda x: Bounded(-x.value, x.error, x.exponent, x.degree))


def absolute(g: Graph) -> Node:
    x = g.operand()
    return g.elementwise("stablehlo.abs", [x], lambda x: Bounded(np.abs(x.value), x.error, x.exponent, x.degree))


def barrier(g: Graph) -> None:
    """Of two values, either of which may be a constant; one of the results is used."""
    x = g.operand()
    values = [g.constant(g.pick(_CONSTANTS), x.shape) if g.pick((False, True)) else g.like(x) for _ in range(2)]
    results, kept = g.fresh(), g.pick((0, 1))
    shapes = [tensor(value.shape) for value in values]
    names = ", ".join(value.name for value in values)
    g.other(f"{results}:2 = stablehlo.optimization_barrier {names} : {', '.join(shapes)}", results)
    g.step(f"stablehlo.convert {results}#{kept} : {shapes[kept]}", [values[kept]], lambda v: v)


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


def sign(g: Graph) -> None:
    """Unknown where the error reaches across zero."""

    def apply(v: Bounded) -> Bounded:
        error = np.where((v.error >= np.abs(v.value)) & (v.error > 0), 2.0, 0.0)
        return Bounded(np.sign(v.value), error)

    g.elementwise("stablehlo.sign", [g.operand()], apply)


def is_finite(g: Graph) -> None:
    x = g.operand()
    g.step(
        f"stablehlo.is_finite {x.name} : ({tensor(x.shape)}) -> {tensor(x.shape, 'i1')}",
        [x],
        lambda v: Predicate(np.isfinite(v.value), np.isinf(v.error)),
    )


def argmax(g: Graph) -> None:
    """The largest element, by a reduction of (value, index) pairs."""
    x = g.operand(rank=1)
    n = x.shape[0]
    start = g.constant(-np.inf, ())
    zero = g.integer(0)
    indices, result = g.fresh(), g.fresh()
    g.other(f"{indices} = stablehlo.iota dim = 0 : tensor<{n}xi32>", indices)
    a, i, b, j, p, v, k = (g.fresh() for _ in range(7))
    scalar = tensor(())
    text = (
        f'{result}:2 = "stablehlo.reduce"({x.name}, {indices}, {start.name}, {zero}) ({{ '
        f"^bb0({a}: {scalar}, {i}: tensor<i32>, {b}: {scalar}, {j}: tensor<i32>): "
        f"{p} = stablehlo.compare GT, {a}, {b} : ({scalar}, {scalar}) -> tensor<i1> "
        f"{v} = stablehlo.select {p}, {a}, {b} : tensor<i1>, {scalar} "
        f"{k} = stablehlo.select {p}, {i}, {j} : tensor<i1>, tensor<i32> "
        f"stablehlo.return {v}, {k} : {scalar}, tensor<i32> }}) {{dimensions = array<i64: 0>}} : "
        f"({tensor(x.shape)}, tensor<{n}xi32>, {scalar}, tensor<i32>) -> ({scalar}, tensor<i32>)"
    )
    g.other(text, result)
    g.step(
        f"stablehlo.optimization_barrier {result}#0 : {scalar}",
        [x],
        lambda v: Bounded(np.max(v.value), np.max(v.error), v.exponent, v.degree),
    )


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
    if math.prod(shape) > MOST_ELEMENTS:
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
    constant, iota, integer_arithmetic, negate, absolute, barrier, reshape, transpose, reverse, broadcast, slice_,
    dynamic_slice, gather, sort, add, add_constant, multiply, multiply_constant, multiply_zero, divide, divide_constant,
    square_root, reciprocal_square_root, cube_root, power,
    dot, dot, batched_dot, convolution, reduce, product, cumulative_sum, window_maximum, scatter_add, argmax,
    compare, select, convert_predicate, sign, is_finite, maximum, clamp, concatenate, pad, dynamic_update_slice,
    bounded_function, exponential, logarithm,
)  # fmt: skip
# Those that keep a shape, of which bodies are made.
ELEMENTWISE: tuple[Addition, ...] = (
    constant, iota, negate, absolute, barrier, add, add_constant, multiply, multiply_constant, divide, square_root,
    cube_root, select, maximum, clamp, bounded_function, sort,
)  # fmt: skip
