"""Sums that are written once, and samples of what samples are computed from: the same bits, and where they are put."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.passes.held_sums import HoldSums
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.samples import Samples
from tests.support import by_passes

WIDTH = 16


def step(weights: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """Gradient descent on a network with a normalised residual stream."""

    def loss(weights: list[jax.Array]) -> jax.Array:
        h = x @ weights[0]
        for w in weights[1:]:
            n = h * jax.lax.rsqrt(jnp.mean(h**2, 1, keepdims=True) + 0.1)
            h = h + (jnp.tanh(n @ w) * (n @ w.T) * (n @ w[::-1])) @ w  # the gradient of n is a sum of three products
        return jnp.mean(h**2)

    value, gradients = jax.value_and_grad(loss)(weights)
    return [w - 0.25 * g for w, g in zip(weights, gradients, strict=True)], value


def rewritten(precision: str | None, drop: tuple[type, ...] = (), layers: int = 3, width: int = WIDTH) -> str:
    weights = [np.zeros((width, width), np.float32)] * layers
    exported = jax.export.export(jax.jit(step))(weights, np.zeros((8, width), np.float32))
    return str(by_passes(exported.mlir_module(), precision, *drop))


def run(text: str, element: type[np.floating[Any]], layers: int = 3, width: int = WIDTH) -> list[Array]:
    rng = np.random.default_rng(0)
    arrays: list[Array] = []
    for _ in range(layers):
        arrays += [rng.normal(size=(width, width)).astype(element), np.array(0.25, np.float32)]
    return interpret(text, [*arrays, rng.normal(size=(8, width)).astype(np.float32), np.array(1, np.float32)])


@pytest.mark.parametrize(("precision", "element"), [(None, np.float32), ("fp16", np.float32), ("fp8", np.float16)])
@pytest.mark.parametrize("drop", [HoldSums, Samples])
def test_bits_stay(precision: str | None, element: type[np.floating[Any]], drop: type) -> None:
    width = 64  # a sample is a fourth
    with_pass, without = rewritten(precision, width=width), rewritten(precision, (drop,), width=width)
    assert (with_pass != without) == (drop is HoldSums or precision is not None)
    for a, b in zip(run(with_pass, element, width=width), run(without, element, width=width), strict=True):
        np.testing.assert_array_equal(a, b)


def test_each_sum_of_the_stream_and_of_its_gradient_is_written_once() -> None:
    for layers in (2, 3, 4):
        text = rewritten(None, layers=layers)
        held = [line for line in text.splitlines() if "optimization_barrier" in line and f"8x{WIDTH}xf32" in line]
        # Of each block the sum of the stream, and the gradient of what is normalised.
        assert len(held) == 2 * (layers - 1)
    assert not [line for line in rewritten(None).splitlines() if "barrier" in line and f"{WIDTH}x{WIDTH}" in line]


def held(body: str, attributes: str = "") -> str:
    x = "tensor<8x16xf32>"
    text = f"""module @m {attributes} {{ func.func @main(%x: {x}, %w: tensor<16x16xf32>) -> ({x}, {x}) {{
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({x}, tensor<16x16xf32>) -> {x}
  %f = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : ({x}, tensor<16x16xf32>) -> {x}
  {body}
  return %a, %b : {x}, {x} }} }}"""
    with make_context():
        module = ir.Module.parse(text)
        Pipeline((HoldSums(),)).run(module, [])
        return str(module)


TWO_READERS = """%a = stablehlo.tanh %s : tensor<8x16xf32>
  %b = stablehlo.negate %s : tensor<8x16xf32>"""


@pytest.mark.parametrize(
    ("sum_", "is_held"),
    [
        ("stablehlo.add %h, %f", True),
        ("stablehlo.add %x, %f", False),  # of what enters: a new state
        ("stablehlo.add %h, %h", False),  # of one tensor
    ],
)
def test_which_sums_are_held(sum_: str, is_held: bool) -> None:
    body = f"%s = {sum_} : tensor<8x16xf32>\n  {TWO_READERS}"
    assert ("optimization_barrier" in held(body)) == is_held
    assert "optimization_barrier" not in held(body, "attributes {mhlo.num_partitions = 2 : i32}")


def test_streams_of_what_a_step_is_given_are_held() -> None:
    """Inputs that a stream starts with, and targets in a loss, are no state: between them and results are products."""
    x = "tensor<8x16xf32>"
    lines = [
        f"%s = stablehlo.add %x, %f : {x}",
        f"%t = stablehlo.tanh %s : {x}",
        *(f"%{name} = stablehlo.dot_general %{of}, %w, contracting_dims = [1] x [0] : ({x}, tensor<16x16xf32>) -> {x}"
          for name, of in (("a", "s"), ("b", "t"))),
    ]  # fmt: skip
    assert "optimization_barrier" in held("\n  ".join(lines))


@pytest.mark.parametrize(("terms", "is_held"), [("hf", False), ("hfg", True)])
def test_a_sum_is_written_where_its_parts_are_more_to_read(terms: str, is_held: bool) -> None:
    x, narrow = "tensor<8x16xf32>", "tensor<8x16xf16>"
    lines = [
        f"%g = stablehlo.dot_general %f, %w, contracting_dims = [1] x [0] : ({x}, tensor<16x16xf32>) -> {x}",
        *(f"%{t}n = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : ({x}, tensor<16x16xf32>) -> {narrow}"
          f"\n  %{t}w = stablehlo.convert %{t}n : ({narrow}) -> {x}" for t in terms),
        f"%first = stablehlo.add %hw, %fw : {x}",
        f"%s = stablehlo.add %first, %{terms[2:] or 'fw'}{'w' * len(terms[2:])} : {x}",
        TWO_READERS,
    ]  # fmt: skip
    assert ("optimization_barrier" in held("\n  ".join(lines))) == is_held


def test_what_one_operation_reads_is_not_held() -> None:
    x = "tensor<8x16xf32>"
    assert "optimization_barrier" not in held(
        f"%s = stablehlo.add %h, %f : {x}\n  %a = stablehlo.tanh %s : {x}\n  %b = stablehlo.negate %a : {x}"
    )
