"""Factors of what is scattered into zeros are multiplied into the updates."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo import rewrite_module
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.emit.scatter_factors import move_factors_to_updates
from scalify_hlo.execution import xla


def program(body: str, factor: str, user: str = "multiply", zeros: str = "0.0", more: str = "") -> str:
    """A scatter of [3] numbers into [8] zeros, and a factor of the result."""
    arguments = "%i: tensor<3x1xi32>, %u: tensor<3xf32>, %s: tensor<f32>, %x: tensor<8xf32>"
    return f"""func.func @main({arguments}) -> tensor<8xf32> {{
  %z = stablehlo.constant dense<{zeros}> : tensor<8xf32>
  %0 = "stablehlo.scatter"(%z, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0],
    scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {body}
  }}) : (tensor<8xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<8xf32>
  {factor}
  %1 = stablehlo.{user} %0, %c : tensor<8xf32>
  {more}
  %2 = stablehlo.add %1, %x : tensor<8xf32>
  return %2 : tensor<8xf32>
}}"""


ADD = "%c = stablehlo.add %a, %b : tensor<f32>\n    stablehlo.return %c : tensor<f32>"
REPLACE = "stablehlo.return %b : tensor<f32>"
KEEP_LARGER = "%c = stablehlo.maximum %a, %b : tensor<f32>\n    stablehlo.return %c : tensor<f32>"
CONSTANT = "%c = stablehlo.constant dense<0.125> : tensor<8xf32>"
SCALAR = "%t = stablehlo.multiply %s, %s : tensor<f32>\n" + (
    "%c = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<f32>) -> tensor<8xf32>"
)
TENSOR = "%c = stablehlo.add %x, %x : tensor<8xf32>"
FULL_PRODUCT = re.compile(r"stablehlo\.(multiply|divide) .*tensor<8xf32>")


def moved(text: str) -> str:
    with make_context():
        module = ir.Module.parse(text)
        move_factors_to_updates(module)
        module.operation.verify()
        return str(module)


def run(text: str) -> np.ndarray:
    arrays = [np.array([[1], [5], [1]], np.int32), np.array([1.5, -3.0, 0.75], np.float32), np.float32(0.25)]
    return xla.compile(text)([*arrays, np.arange(8, dtype=np.float32)])[0]


@pytest.mark.parametrize("body", [ADD, REPLACE], ids=["add", "replace"])
@pytest.mark.parametrize("factor", [CONSTANT, SCALAR], ids=["constant", "scalar"])
@pytest.mark.parametrize("user", ["multiply", "divide"])
def test_the_factor_goes_to_the_updates_and_no_bit_changes(body: str, factor: str, user: str) -> None:
    text = program(body, factor, user)
    rewritten = moved(text)
    assert FULL_PRODUCT.search(text) and not FULL_PRODUCT.search(rewritten)
    assert f"stablehlo.{user}" in rewritten
    # Of two updates of one element, which one stays is not defined: only sums are compared bit for bit.
    if body == ADD:
        np.testing.assert_array_equal(run(rewritten), run(text))


@pytest.mark.parametrize(
    "text",
    [
        program(KEEP_LARGER, CONSTANT),  # max(0, c u) is c max(0, u) for positive c only
        program(ADD, CONSTANT, zeros="1.0"),
        program(ADD, TENSOR),
        program(ADD, CONSTANT, more="%3 = stablehlo.add %0, %0 : tensor<8xf32>"),  # the result is read elsewhere too
        program(ADD, CONSTANT, zeros="[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]"),
        # Numbers that stand beside the program are not looked at.
        program(ADD, CONSTANT).replace("dense<0.0>", "dense_resource<zeros>")
        + '\n{-# dialect_resources: {builtin: {zeros: "0x04000000'
        + "00" * 32
        + '"}} #-}',
    ],
    ids=["maximum", "ones", "tensor", "two readers", "not all zeros", "resource"],
)
def test_other_factors_stay(text: str) -> None:
    assert FULL_PRODUCT.search(moved(text))


def test_the_gradient_of_a_loss_is_scattered_into_softmaxs_without_a_pass_of_its_own() -> None:
    def loss(logits: jax.Array, labels: jax.Array) -> jax.Array:
        chosen = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - chosen)

    arguments = np.zeros((64, 128), np.float32), np.zeros(64, np.int32)
    text = jax.export.export(jax.jit(jax.grad(loss)))(*arguments).mlir_module()
    rewritten = rewrite_module(text)
    (result,) = re.findall(r'(%\d+) = "stablehlo.scatter"', rewritten)
    reader = next(line for line in rewritten.splitlines() if re.search(rf"{result}\b(?! = )", line))
    assert "stablehlo.add" in reader or "stablehlo.subtract" in reader
