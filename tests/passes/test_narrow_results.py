"""Products of f16 give f16 themselves: as near as before, and finite where the product without its factor is not."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array
from scalify_hlo.passes.narrow_results import NarrowResults
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import precision_pipeline

ROWS, K, COLUMNS = 64, 256, 512


def product(
    factor: float, element: str = "f16", operand: str = "f16", sizes: tuple[int, int, int] = (ROWS, K, COLUMNS)
) -> str:
    """A product of two matrices, times a factor, rounded."""
    m, k, n = sizes
    a, b, wide = f"tensor<{m}x{k}x{operand}>", f"tensor<{k}x{n}x{operand}>", f"tensor<{m}x{n}xf32>"
    rounded = f"tensor<{m}x{n}x{element}>"
    return f"""func.func @main(%a: {a}, %b: {b}) -> {rounded} {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({a}, {b}) -> {wide}
  %c = stablehlo.constant dense<{factor!r}> : {wide}
  %1 = stablehlo.multiply %0, %c : {wide}
  %2 = stablehlo.convert %1 : ({wide}) -> {rounded}
  return %2 : {rounded}
}}"""


def narrowed(text: str, serving: bool = True) -> str:
    with make_context():
        module = ir.Module.parse(text)
        Pipeline((NarrowResults(serving=serving),)).run(module, [])
        return str(module)


def operands(size: float) -> list[Array]:
    generator = np.random.default_rng(0)
    return [(generator.normal(size=shape) * size).astype(np.float16) for shape in ((ROWS, K), (K, COLUMNS))]


@pytest.mark.parametrize("exponent", [-8, -4, 0])
@pytest.mark.parametrize("size", [1.0, 2.0**4, 2.0**-4])
def test_results_are_as_near_as_before(exponent: int, size: float) -> None:
    text = product(2.0**exponent)
    after = narrowed(text)
    assert re.search(r"dot_general.*-> tensor<64x512xf16>", after)
    arrays = operands(size)
    exact = arrays[0].astype(np.float64) @ arrays[1].astype(np.float64) * 2.0**exponent
    scale = np.sqrt(np.mean(exact**2))
    before, found = (
        np.sqrt(np.mean((np.asarray(xla.compile(each)(arrays)[0], np.float64) - exact) ** 2)) / scale
        for each in (text, after)
    )
    assert found < 1.02 * before


def test_nothing_overflows_before_the_factor() -> None:
    text = product(2.0**-8)
    arrays = operands(2.0**6.5)  # sums of 2^17
    before, after = (xla.compile(each)(arrays)[0].astype(np.float64) for each in (text, narrowed(text)))
    assert np.abs(before).max() * 2.0**8 > 65504 and np.isfinite(after).all()
    np.testing.assert_allclose(after, before, rtol=2.0**-10, atol=2.0**-10 * np.abs(before).max())


def test_the_smaller_operand_takes_the_factor() -> None:
    assert re.search(r"multiply %arg0, .* : tensor<64x256xf16>", narrowed(product(2.0**-4)))
    assert re.search(r"multiply %arg1, .* : tensor<256x64xf16>", narrowed(product(2.0**-4, sizes=(512, 256, 64))))
    assert "multiply" not in narrowed(product(1.0))


@pytest.mark.parametrize(
    "text",
    [
        product(2.0**-9),  # what becomes subnormal would be seen
        product(2.0),
        product(0.3),
        product(2.0**-4, element="bf16"),
        product(2.0**-4, operand="bf16", element="bf16"),
        product(2.0**-4, operand="f32"),
        product(2.0**-4, sizes=(16, 1024, 16)),  # a weight's gradient: the operands are larger than the result
        product(2.0**-4).replace("func.func", "module attributes {mhlo.num_partitions = 2 : i32} { func.func") + "}",
    ],
    ids=["too small", "larger", "no power of two", "bf16", "bf16 operands", "f32", "large operands", "partitioned"],
)
def test_products_that_are_left_alone(text: str) -> None:
    assert re.search(r"dot_general.*-> tensor<\d+x\d+xf32>", narrowed(text))


def test_programs_that_do_not_train_are_left_alone_unless_asked() -> None:
    assert "xf32>" in narrowed(product(2.0**-4), serving=False)


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_scores_and_logits_are_written_in_f16(precision: str) -> None:
    """The largest values of a step: attention's scores, their gradient, and the logits."""
    length, width, vocabulary = 32, 16, 64

    def loss(w: tuple[jax.Array, jax.Array, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
        q, k = x @ w[0], x @ w[1]
        p = jax.nn.softmax(q @ k.mT / 4, -1)
        logits = p @ x @ w[2]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits, -1), y[..., None], -1))

    def step(w: tuple[jax.Array, jax.Array, jax.Array], x: jax.Array, y: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(w - 0.125 * g for w, g in zip(w, jax.grad(loss)(w, x, y), strict=True))

    w = tuple(np.ones(shape, np.float32) for shape in ((width, width), (width, width), (width, vocabulary)))
    x, y = np.ones((4, length, width), np.float32), np.zeros((4, length), np.int32)
    text = jax.export.export(jax.jit(step))(w, x, y).mlir_module()
    with make_context():
        module = ir.Module.parse(text)
        precision_pipeline(precision).run(module, [])
        products = re.findall(r"dot_general .* -> tensor<(\S+)>", str(module))
    square, logits = f"4x{length}x{length}x", f"4x{length}x{vocabulary}x"
    assert [each for each in products if each.startswith(square)] == [f"{square}f16"] * 2
    assert [each for each in products if each.startswith(logits)] == [f"{logits}f16"]
