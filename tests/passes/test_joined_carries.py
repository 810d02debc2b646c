"""Numbers that loops and branches carry, in vectors: the same bits, and what is left in the loops."""

import math
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.analysis.calls import terminator, walk
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.passes.joined_carries import JoinCarried
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.precision import Preset
from tests.support import by_passes

lax: Any = jax.lax
untyped: Any = jax


def accumulated(w: Any, xs: Any) -> Any:
    """Gradients of some batches, summed: in narrow types each sum has a scale that an iteration chooses."""

    def loss(w: Any, x: Any) -> Any:
        return jnp.mean(jnp.tanh(jnp.tanh(x @ w[0]) @ w[1]) ** 2)

    def add(total: Any, x: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(w, x)
        return jax.tree.map(jnp.add, total, (gradients, value)), value

    zeros = [jnp.zeros_like(each) for each in w]
    (gradients, value), each = lax.scan(add, (zeros, jnp.float32(0)), xs)
    return [a - 0.1 * b for a, b in zip(w, gradients, strict=True)], value, each


def chosen(w: Any, xs: Any) -> Any:
    """Branches within a loop whose results have scales of their own."""

    def left(h: Any) -> Any:
        return jnp.tanh(h @ w[0]), 2 * h

    def right(h: Any) -> Any:
        return h, jnp.exp(-(h**2)) @ w[1]

    def step(carry: Any, x: Any) -> Any:
        h, g = carry
        h, d = lax.cond(x[0, 0] > 0, left, right, h + x)
        return (h, g + d), None

    return [*w, *lax.scan(step, (xs[0], jnp.zeros_like(xs[0])), xs)[0]]


def until(w: Any, xs: Any) -> Any:
    """A loop that ends by a number that it carries, around one that does not change what it reads."""

    def outer(carry: Any) -> Any:
        size: Any = carry[1]

        def inner(_: Any, h: Any) -> Any:
            return jnp.tanh(h @ w[0]) * size + 0.5 * h

        h: Any = lax.fori_loop(0, 2, inner, carry[0])
        return h, jnp.max(jnp.abs(h)), carry[2] + jnp.sum(h), carry[3] + jnp.sum(h * h)

    def goes_on(carry: Any) -> Any:
        return carry[1] > 0.3

    first = (xs[0], jnp.float32(1), jnp.float32(0), jnp.float32(0))
    return [*w, *lax.while_loop(goes_on, outer, first)]


def recurrent(w: Any, xs: Any) -> Any:
    """A gradient through a loop whose activations, and two numbers of each, have a scale in each iteration."""

    def loss(w: Any) -> Any:
        def left(h: Any) -> Any:
            return 2 * (h @ w[0])

        def right(h: Any) -> Any:
            return jnp.tanh(h) @ w[1]

        def step(h: Any, x: Any) -> Any:
            size: Any = jnp.max(jnp.abs(x))
            h = lax.cond(size > 1, left, right, h + x)
            return h, (jnp.sum(h * h) * size, jnp.sum(h))

        _, (squares, sums) = lax.scan(step, xs[0], xs)
        return jnp.sum(squares) + squares[1] * sums[2]

    gradients: list[Any] = untyped.grad(loss)(w)
    return [a - 0.1 * b for a, b in zip(w, gradients, strict=True)]


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "accumulated": accumulated, "chosen": chosen, "recurrent": recurrent, "until": until,
}  # fmt: skip


def rewritten(name: str, precision: Preset | None, *dropped: type) -> str:
    w, xs = [np.zeros((16, 16), np.float32)] * 2, np.zeros((3, 4, 16), np.float32)
    exported = jax.export.export(jax.jit(PROGRAMS[name]))(w, xs)
    return str(by_passes(exported.mlir_module(), precision, *dropped))


def run(text: str) -> list[Array]:
    rng = np.random.default_rng(0)
    arrays: list[Array] = []
    signature = next(line for line in text.splitlines() if " @main(" in line)
    types = re.findall(r"%arg\d+: (tensor<[^>]*>)", signature)
    for each in types:
        shape = [int(n) for n in re.findall(r"(\d+)x", each)]
        element = np.float16 if each.endswith("f16>") else np.float32
        arrays.append(rng.normal(size=shape).astype(element) if shape else np.array(0.25, np.float32))
    return interpret(text, arrays)


@pytest.mark.parametrize("precision", [None, "fp16", "fp8-fp16-state"])
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_bits_stay(name: str, precision: str | None) -> None:
    with_pass, without = rewritten(name, precision), rewritten(name, precision, JoinCarried)
    for a, b in zip(run(with_pass), run(without), strict=True):
        np.testing.assert_array_equal(a, b)


def numbers_changed(text: str) -> list[int]:
    """How many f32 numbers that its body changes each loop of a module carries apart."""
    found: list[int] = []
    with make_context():
        module = ir.Module.parse(text)
        for op in walk(module.operation):
            if op.name == "stablehlo.while":
                body = op.regions[1].blocks[0]
                pairs = zip(body.arguments, terminator(body).operands, strict=True)
                found.append(sum(str(a.type) == "tensor<f32>" and a != b for a, b in pairs))
    return found


@pytest.mark.parametrize(
    ("name", "precision", "apart", "left"),
    [("accumulated", "fp8-fp16-state", [3], [0]), ("chosen", "fp16", [2], [0]), ("until", None, [3, 0], [1, 0])],
)
def test_numbers_are_elements_of_vectors(name: str, precision: str | None, apart: list[int], left: list[int]) -> None:
    found = numbers_changed(rewritten(name, precision, JoinCarried)), numbers_changed(rewritten(name, precision))
    assert found == (apart, left)


def numbers_written(text: str) -> list[list[int]]:
    """How many numbers the updates of stacks of numbers write at once, for each loop of a module."""
    with make_context():
        module = ir.Module.parse(text)
        found: list[list[int]] = []
        for loop in walk(module.operation):
            if loop.name == "stablehlo.while":
                updates = [op.operands[1] for op in walk(loop) if op.name == "stablehlo.dynamic_update_slice"]
                shapes = [ir.RankedTensorType(value.type).shape for value in updates]
                found.append([math.prod(shape) for shape in shapes if len(shape) < 3 or math.prod(shape) == 1])
        return found


@pytest.mark.parametrize("precision", [None, "fp16"])
def test_stacks_of_numbers_are_rows(precision: str | None) -> None:
    """Four that the program returns or its derivative reads, and scales: as many as the version of JAX stacks."""
    apart, none = numbers_written(rewritten("recurrent", precision, JoinCarried))
    assert set(apart) == {1} and len(apart) > 4 and none == []
    assert numbers_written(rewritten("recurrent", precision)) == [[len(apart)], []]


def stacked(iterations: int, other_index: str = "%n") -> str:
    """A loop that writes two numbers of an iteration into stacks, the second at an index."""
    stack = f"tensor<{iterations}xf32>"
    return f"""
    func.func @main(%arg0: {stack}, %arg1: {stack}) -> ({stack}, {stack}) {{
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %count = stablehlo.constant dense<{iterations}> : tensor<i32>
      %r:3 = stablehlo.while(%n = %zero, %a = %arg0, %b = %arg1) : tensor<i32>, {stack}, {stack}
      cond {{
        %p = stablehlo.compare LT, %n, %count : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      }} do {{
        %m = stablehlo.add %n, %one : tensor<i32>
        %e = stablehlo.convert %m : (tensor<i32>) -> tensor<f32>
        %f = stablehlo.reshape %e : (tensor<f32>) -> tensor<1xf32>
        %g = stablehlo.multiply %f, %f : tensor<1xf32>
        %c = stablehlo.dynamic_update_slice %a, %f, %n : ({stack}, tensor<1xf32>, tensor<i32>) -> {stack}
        %d = stablehlo.dynamic_update_slice %b, %g, {other_index} : ({stack}, tensor<1xf32>, tensor<i32>) -> {stack}
        stablehlo.return %m, %c, %d : tensor<i32>, {stack}, {stack}
      }}
      return %r#1, %r#2 : {stack}, {stack}
    }}"""


@pytest.mark.parametrize(("text", "written"), [(stacked(3), [2]), (stacked(2), [1, 1]), (stacked(4, "%m"), [1, 1])])
def test_only_numbers_of_one_row_are_joined(text: str, written: list[int]) -> None:
    """Not of two iterations, whose rows are as many kernels as their columns, nor of other places."""
    with make_context():
        module = ir.Module.parse(text)
        Pipeline((JoinCarried(),)).run(module, [])
        found = str(module)
    assert numbers_written(found) == [written]
    for a, b in zip(run(found), run(text), strict=True):
        np.testing.assert_array_equal(a, b)
