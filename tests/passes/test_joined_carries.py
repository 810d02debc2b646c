"""Numbers that loops and branches carry, in vectors: the same bits, and what is left in the loops."""

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
from scalify_hlo.passes.precision_pipeline import precision_pipeline

lax: Any = jax.lax


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


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {"accumulated": accumulated, "chosen": chosen, "until": until}


def rewritten(name: str, precision: str | None, drop: type | None = None) -> str:
    w, xs = [np.zeros((16, 16), np.float32)] * 2, np.zeros((3, 4, 16), np.float32)
    exported = jax.export.export(jax.jit(PROGRAMS[name]))(w, xs)
    with make_context():
        module = ir.Module.parse(exported.mlir_module())
        elements = precision_pipeline(precision).elements
        Pipeline(tuple(each for each in elements if type(each) is not drop)).run(module, [])
        assert module.operation.verify()
        return str(module)


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
