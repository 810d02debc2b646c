"""What a training step rounds to f16 saturates: a step in which everything is a thousand times larger is clipped."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution import xla
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.saturate import Saturate

# A product of two, rounded to f16, what is computed of it, and the gradient of the first operand; with w - g it trains.
STEP = """func.func @main(%x: tensor<8x16xf16>, %w: tensor<16x4xf32>) -> (tensor<16x4xf32>, tensor<8x4xf16>) {
  %w16 = stablehlo.convert %w : (tensor<16x4xf32>) -> tensor<16x4xf16>
  %y = stablehlo.dot_general %x, %w16, contracting_dims = [1] x [0]
     : (tensor<8x16xf16>, tensor<16x4xf16>) -> tensor<8x4xf16>
  %wide = stablehlo.convert %y : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %z = stablehlo.multiply %wide, %wide : tensor<8x4xf32>
  %g = stablehlo.convert %z : (tensor<8x4xf32>) -> tensor<8x4xf16>
  %dw = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
      : (tensor<8x16xf16>, tensor<8x4xf16>) -> tensor<16x4xf32>
  %new = stablehlo.subtract %w, %dw : tensor<16x4xf32>
  return %new, %g : tensor<16x4xf32>, tensor<8x4xf16>
}"""


def saturated(text: str) -> str:
    with make_context():
        module = ir.Module.parse(text)
        Pipeline((Saturate(),)).run(module, [])
        return str(module)


def run(text: str, size: float) -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(0)
    x, w = generator.normal(size=(8, 16)).astype(np.float16), generator.normal(size=(16, 4)).astype(np.float32)
    return [np.asarray(each, np.float64) for each in xla.compile(text)([x, w * np.float32(size)])]


def test_bits_stay_within_the_range() -> None:
    for before, after in zip(run(STEP, 1.0), run(saturated(STEP), 1.0), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("size", [2.0**8, 2.0**14])
def test_beyond_it_is_the_largest_number(size: float) -> None:
    """At 2^8 the squares are beyond f16, at 2^14 the product is already."""
    assert not np.isfinite(run(STEP, size)[0]).all()
    new, squares = run(saturated(STEP), size)
    assert np.isfinite(new).all() and squares.max() == 65504


def test_nan_stays() -> None:
    assert np.isnan(run(saturated(STEP), np.nan)[0]).all()


def test_a_program_without_a_backward_pass_is_left_alone() -> None:
    text = """func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf16> {
  %0 = stablehlo.multiply %x, %x : tensor<8x16xf32>
  %1 = stablehlo.convert %0 : (tensor<8x16xf32>) -> tensor<8x16xf16>
  return %1 : tensor<8x16xf16>
}"""
    assert "clamp" not in saturated(text)


def test_weights_as_they_are_given_have_no_clamp() -> None:
    text = saturated(STEP)
    assert len(re.findall("stablehlo.clamp", text)) == 2
    assert not re.search(r"clamp %\w+, %(w|arg1),", text)


def test_what_joins_two_products_is_held_once() -> None:
    wide = """  %both = stablehlo.concatenate %y, %y2, dim = 1 : (tensor<8x4xf16>, tensor<8x4xf16>) -> tensor<8x8xf16>
  %joined = stablehlo.convert %both : (tensor<8x8xf16>) -> tensor<8x8xf32>
  %wide = stablehlo.slice %joined [0:8, 2:6] : (tensor<8x8xf32>) -> tensor<8x4xf32>
"""
    again = """  %y2 = stablehlo.dot_general %x, %w16, contracting_dims = [1] x [0]
     : (tensor<8x16xf16>, tensor<16x4xf16>) -> tensor<8x4xf16>
"""
    joined = STEP.replace("  %wide = stablehlo.convert %y : (tensor<8x4xf16>) -> tensor<8x4xf32>\n", again + wide)
    assert joined.count("dot_general") == 3
    assert len(re.findall("stablehlo.clamp", saturated(joined))) == 2


# What the gradient becomes between the square, which is held, and its rounding; how many more clamps it takes.
CHOSEN = {
    "select zeros": ("%h = stablehlo.select %m, %wider, %zeros : tensor<8x4xi1>, tensor<8x4xf32>", 0),
    "maximum, moved": (
        """%i = stablehlo.maximum %wider, %zeros : tensor<8x4xf32>
  %j = stablehlo.reverse %i, dims = [0] : tensor<8x4xf32>
  %h = stablehlo.optimization_barrier %j : tensor<8x4xf32>""",
        0,
    ),
    "select numbers beyond": ("%h = stablehlo.select %m, %wider, %masks : tensor<8x4xi1>, tensor<8x4xf32>", 1),
    "select what is computed": ("%h = stablehlo.select %m, %wider, %z : tensor<8x4xi1>, tensor<8x4xf32>", 1),
    "computed": ("%h = stablehlo.add %wider, %wider : tensor<8x4xf32>", 1),
}


@pytest.mark.parametrize("form", CHOSEN)
def test_what_is_chosen_from_what_is_within_has_no_clamp(form: str) -> None:
    chosen, clamps = CHOSEN[form]
    more = f"""  %wider = stablehlo.convert %g : (tensor<8x4xf16>) -> tensor<8x4xf32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %masks = stablehlo.constant dense<-1.0e9> : tensor<8x4xf32>
  %m = stablehlo.compare GT, %wide, %zeros : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xi1>
  {chosen}
  %k = stablehlo.convert %h : (tensor<8x4xf32>) -> tensor<8x4xf16>
"""
    text = STEP.replace("  %dw = ", more + "  %dw = ").replace(
        "%dw = stablehlo.dot_general %x, %g", "%dw = stablehlo.dot_general %x, %k"
    )
    assert len(re.findall("stablehlo.clamp", saturated(text))) == 2 + clamps
    if "beyond" not in form:
        for before, after in zip(run(text, 1.0), run(saturated(text), 1.0), strict=True):
            np.testing.assert_array_equal(before, after)
    assert np.isfinite(run(saturated(text), 2.0**14)[0]).all()


def test_a_smaller_type_has_a_clamp_of_its_own() -> None:
    text = STEP.replace("-> (tensor<16x4xf32>, tensor<8x4xf16>)", "-> (tensor<16x4xf32>, tensor<8x4xf8E5M2>)")
    text = text.replace("  %dw = ", "  %k = stablehlo.convert %g : (tensor<8x4xf16>) -> tensor<8x4xf8E5M2>\n  %dw = ")
    text = text.replace(
        "return %new, %g : tensor<16x4xf32>, tensor<8x4xf16>", "return %new, %k : tensor<16x4xf32>, tensor<8x4xf8E5M2>"
    )
    assert len(re.findall("stablehlo.clamp", saturated(text))) == 3


@pytest.mark.parametrize("precision", ["fp16", "fp8-fp16-state"])
def test_the_gradient_of_relu_is_chosen_in_f16(precision: str) -> None:
    """It was widened, chosen, clamped and rounded; and what is measured was converted to the type that it has."""

    def loss(w: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.mean((jax.nn.relu(x @ w[0] + w[1]) @ w[0] + w[1] - y) ** 2)

    x, w = np.ones((16, 32), np.float32), [np.ones((32, 32), np.float32), np.ones(32, np.float32)]
    scaled = scalify_hlo.scalify(jax.grad(loss), precision=precision)
    text = scaled.lower(*scalify_hlo.as_scaled_array((w, x, x))).as_text()
    assert re.search(r"stablehlo.select .*: tensor<16x32xi1>, tensor<16x32xf16>", text)
    assert not re.search(r"stablehlo.select .*: tensor<16x32xi1>, tensor<16x32xf32>", text)
    assert not re.search(r"stablehlo.convert %\w+ : tensor", text)


def step(state: Any, x: jax.Array) -> tuple[Any, jax.Array]:
    """Two layers and momentum; the loss is as large as the targets that x brings."""

    def loss_of(weights: Any) -> jax.Array:
        return jnp.mean((jnp.tanh(x[:, :16] @ weights[0]) @ weights[1] - x[:, 16:]) ** 2)

    weights, momentum = state
    loss, gradients = jax.value_and_grad(loss_of)(weights)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
    length = jnp.sqrt(sum(jnp.sum(m * m) for m in jax.tree.leaves(momentum)))
    return (jax.tree.map(lambda w, m: w - 0.1 * m / length, weights, momentum), momentum), loss


@pytest.mark.parametrize("precision", ["fp16", "fp16-state", "fp8", "fp8-fp16-state"])
def test_a_step_that_jumps_is_clipped(precision: str) -> None:
    """Targets of one step are 2^20 times as large as those that the scales are for: its gradients are, too."""
    generator = np.random.default_rng(1)
    weights = [generator.normal(size=shape).astype(np.float32) / 4 for shape in ((16, 32), (32, 16))]
    batch = generator.normal(size=(32, 32)).astype(np.float32)
    jump = batch.copy()
    jump[:, 16:] *= 2.0**20
    scaled = scalify_hlo.scalify(step, precision=precision)
    state = (weights, [np.zeros_like(w) for w in weights])
    expected, _ = jax.jit(step)(state, jump)
    inputs = scalify_hlo.as_scaled_array(state), scalify_hlo.as_scaled_array(batch)
    state, inputs = scaled.stored(*inputs)
    large = scalify_hlo.ScaledArray((jump / np.asarray(inputs.scale)).astype(inputs.data.dtype), inputs.scale)
    (weights_after, _), _ = jax.jit(scaled)(state, large)
    for found, exact, before in zip(weights_after, expected[0], weights, strict=True):
        moved = np.asarray(scalify_hlo.asarray(found, np.float32)) - before
        assert np.isfinite(moved).all()
        assert np.sum(moved * (exact - before)) > 0.5 * np.linalg.norm(moved) * np.linalg.norm(exact - before)
