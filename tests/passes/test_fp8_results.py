"""FP8 products of training steps give their rounded results: the same bits, whatever the f32 sums are."""

import re
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array
from scalify_hlo.passes.fp8_results import FP8Results
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import precision_pipeline

K = 64


def product(factor: float, element: str = "f16", lhs: str = "f8E4M3FN", rhs: str = "f8E5M2", also: str = "") -> str:
    """A product of FP8 operands, times a factor, rounded; `also`: what reads it in f32 besides."""
    a, b, wide, rounded = f"tensor<8x{K}x{lhs}>", f"tensor<{K}x8x{rhs}>", "tensor<8x8xf32>", f"tensor<8x8x{element}>"
    results = f"{rounded}, {wide}" if also else rounded
    return f"""func.func @main(%a: {a}, %b: {b}) -> ({results}) {{
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({a}, {b}) -> {wide}
  %c = stablehlo.constant dense<{factor!r}> : {wide}
  %1 = stablehlo.multiply %0, %c : {wide}
  %2 = stablehlo.convert %1 : ({wide}) -> {rounded}
  {also}
  return %2{", %3" if also else ""} : {results}
}}"""


def narrowed(text: str) -> str:
    with make_context():
        module = ir.Module.parse(text)
        Pipeline((FP8Results(),)).run(module, [])
        return str(module)


def run(text: str, arrays: Sequence[Array]) -> list[Array]:
    return xla.compile(text)(arrays)


def operands(lhs: float, rhs: float) -> list[Array]:
    generator = np.random.default_rng(0)
    a, b = generator.normal(size=(8, K)) * lhs, generator.normal(size=(K, 8)) * rhs
    return [
        np.clip(a, -448, 448).astype(ml_dtypes.float8_e4m3fn),
        np.clip(b, -57344, 57344).astype(ml_dtypes.float8_e5m2),
    ]


@pytest.mark.parametrize(
    ("factor", "lhs", "rhs"),
    [
        (2.0**-14, 150, 15000),  # sums of 2^24: f16 has none of them before the factor
        (2.0**-23, 400, 57344),  # as much as the operands bear
        (2.0**-3, 1, 1),
        (2.0**5, 2.0**-8, 2.0**-14),  # subnormal operands
        (1.0, 1, 1),
    ],
)
def test_results_are_the_same_bits(factor: float, lhs: float, rhs: float) -> None:
    text = product(factor)
    after = narrowed(text)
    assert re.search(r"dot_general.*-> tensor<8x8xf16>", after)
    arrays = operands(lhs, rhs)
    (expected,), (found,) = run(text, arrays), run(after, arrays)
    assert np.isfinite(expected).all() and expected.any()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "text",
    [
        product(2.0**-24),  # beyond what subnormal operands bear: 2^-15 and 2^-8
        product(2.0**8),
        product(0.3),  # f16 has no such operands
        product(2.0**-3, lhs="f8E4M3FN", rhs="f8E4M3FN"),  # no gradient: not a training step
        product(2.0**-3, element="f64"),
        product(2.0**-3).replace("func.func", "module attributes {mhlo.num_partitions = 2 : i32} { func.func") + "}",
    ],
    ids=["too small", "too large", "no power of two", "no gradient", "wide result", "partitioned"],
)
def test_products_that_are_left_alone(text: str) -> None:
    assert re.search(r"dot_general.*-> tensor<8x8xf32>", narrowed(text))


def test_readers_in_f32_read_the_rounded_result() -> None:
    text = product(2.0**-14, also="%3 = stablehlo.negate %1 : tensor<8x8xf32>")
    after = narrowed(text)
    assert re.search(r"dot_general.*-> tensor<8x8xf16>", after)
    rounded, negated = run(after, operands(150, 15000))
    np.testing.assert_array_equal(negated, -rounded.astype(np.float32))
    (expected, _) = run(text, operands(150, 15000))
    np.testing.assert_array_equal(rounded, expected)


def test_bf16_takes_any_factor_of_the_same_bits() -> None:
    text = product(2.0**-60, element="bf16")
    after = narrowed(text)
    assert re.search(r"dot_general.*-> tensor<8x8xbf16>", after)
    arrays = operands(1, 1)
    np.testing.assert_array_equal(run(after, arrays)[0], run(text, arrays)[0])


def training_step() -> str:
    def loss(w: list[jax.Array], x: jax.Array) -> jax.Array:
        for each in w:
            x = jax.nn.relu(x @ each)
        return jnp.mean((x @ w[0]) ** 2)

    def step(w: list[jax.Array], x: jax.Array) -> list[jax.Array]:
        gradient: Callable[..., list[jax.Array]] = jax.grad(loss)  # pyright: ignore[reportUnknownVariableType]
        return [p - 0.125 * g for p, g in zip(w, gradient(w, x), strict=True)]

    w = [np.zeros((32, 32), np.float32)] * 3
    return jax.export.export(jax.jit(step))(w, np.zeros((16, 32), np.float32)).mlir_module()


def test_no_fp8_product_of_a_training_step_is_rounded_by_a_kernel_of_its_own() -> None:
    with make_context():
        module = ir.Module.parse(training_step())
        precision_pipeline("fp8").run(module, [])
        text = str(module)
    assert text.count("f8E5M2>") > 0
    products = re.findall(r"stablehlo.dot_general .* -> tensor<[\dx]+x(\w+)>", text)
    assert products and set(products) == {"f16"}


def test_a_product_without_a_factor_whose_rounded_result_is_computed_with() -> None:
    """What read the rounded result was given f32: no module (softplus of a product in fp8-fp16-state)."""
    text = re.sub(r"  %c = .*\n  %1 = .*\n", "", product(1.0)).replace("convert %1", "convert %0")
    text = text.replace("  return %2", "  %3 = stablehlo.abs %2 : tensor<8x8xf16>\n  return %3")
    after = narrowed(text)
    assert re.search(r"dot_general.*-> tensor<8x8xf16>", after)
    arrays = operands(1, 1)
    for got, expected in zip(run(after, arrays), run(text, arrays), strict=True):
        np.testing.assert_array_equal(got, expected)
