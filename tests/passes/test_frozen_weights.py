"""Weights that are constants of functions: a nested `jit` has those it closes over, an export of symbolic sizes all."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.precision_pipeline import precision_pipeline

RNG = np.random.default_rng(0)
A, B, C = (np.float32(RNG.standard_normal(shape) / 6) for shape in ((32, 64), (64, 32), (32, 64)))
X = np.float32(RNG.standard_normal((3, 32)))


def plain(x: jax.Array) -> jax.Array:
    return jax.nn.gelu(jax.nn.gelu(x @ A) @ B)


def long(x: jax.Array) -> jax.Array:
    """Of so many operations that it is not copied to each call."""
    for i in range(24):
        x = x + jnp.tanh(i * x) / 2.0**i
    return plain(x)


layer, long_layer = jax.jit(plain), jax.jit(long)
# With how many FP8 products there are then: all but the head.
FORMS: dict[str, tuple[Callable[[jax.Array], jax.Array], int]] = {
    "one function": (lambda x: layer(x) @ C, 2),
    "functions of functions": (lambda x: jax.jit(lambda x: jnp.tanh(layer(x)))(x) @ C, 2),
    "called twice": (lambda x: long_layer(long_layer(x)) @ C, 4),
}


def fp8_products(text: str) -> int:
    return sum("stablehlo.dot_general" in line and line.count("xf8E") >= 2 for line in text.splitlines())


def pipeline_of(exported: jax.export.Exported) -> tuple[str, list[Any]]:
    module = ir.Module.parse(exported.mlir_module(), context=make_context())
    remarks: list[Any] = []
    precision_pipeline("fp8").run(module, remarks)
    return str(module), remarks


@pytest.mark.parametrize("form", FORMS)
def test_constants_of_functions_are_weights_at_all_doors(form: str) -> None:
    function, products = FORMS[form]
    want = np.asarray(function(jnp.asarray(X)))
    exported = jax.export.export(jax.jit(function))(X)
    rewritten = sc.scalify_exported(exported, precision="fp8")
    scaled = sc.scalify(function, precision="fp8")
    texts = [
        pipeline_of(exported)[0], rewritten.mlir_module(), scaled.lower(sc.as_scaled_array(X)).as_text(),
    ]  # fmt: skip
    assert [fp8_products(text) for text in texts] == [products] * 3
    # 6144 weights of a byte each.
    assert len(rewritten.serialize()) < len(exported.serialize()) - 2 * 6144
    for got in (scaled(sc.as_scaled_array(X)), rewritten.call(sc.as_scaled_array(X))):
        error = np.linalg.norm(np.asarray(got) - want) / np.linalg.norm(want)
        assert 1e-3 < error < 0.1


def test_an_export_of_symbolic_sizes_has_its_weights() -> None:
    shape = jax.ShapeDtypeStruct((jax.export.symbolic_shape("b")[0], 32), np.float32)
    exported = jax.export.export(jax.jit(lambda x: plain(x) @ C))(shape)
    rewritten = sc.scalify_exported(exported, precision="fp8")
    assert fp8_products(rewritten.mlir_module()) == fp8_products(pipeline_of(exported)[0]) == 2
    assert len(rewritten.serialize()) < len(exported.serialize()) - 2 * 6144
    want = np.asarray(plain(jnp.asarray(X)) @ C)
    got = np.asarray(rewritten.call(sc.as_scaled_array(X)))
    assert 1e-3 < np.linalg.norm(got - want) / np.linalg.norm(want) < 0.1


def test_a_product_with_a_constant_that_is_too_small_is_told_of() -> None:
    small = np.ones((16, 8), np.float32) + np.eye(16, 8, dtype=np.float32)
    exported = jax.export.export(jax.jit(lambda x: jnp.tanh(x @ small) @ small.T))(np.ones((16, 16), np.float32))
    text, remarks = pipeline_of(exported)
    assert fp8_products(text) == 0
    (told,) = [each.message for each in remarks if each.severity == "warning"]
    assert "2: kept by scalify-cast: one side is a constant, such as a transform's or a small weight" in told


PER_DEVICE = """
sdy.mesh @mesh = <["d"=4]>
func.func private @layer(%x: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %w = stablehlo.constant dense<"0xWEIGHT"> : tensor<32x32xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
  return %y : tensor<16x32xf32>
}
func.func public @main(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %y = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"d"}, {}]>] out_shardings=[<@mesh, [{"d"}, {}]>]
      manual_axes={"d"} (%part: tensor<16x32xf32>) {
    %z = func.call @layer(%part) : (tensor<16x32xf32>) -> tensor<16x32xf32>
    sdy.return %z : tensor<16x32xf32>
  } : (tensor<64x32xf32>) -> tensor<64x32xf32>
  return %y : tensor<64x32xf32>
}
""".replace("WEIGHT", np.float32(RNG.standard_normal((32, 32))).tobytes().hex())


def test_a_constant_of_per_device_code_stays_in_it() -> None:
    """Nothing from outside of it may be read there."""
    module = ir.Module.parse(PER_DEVICE, context=make_context())
    precision_pipeline("fp8").run(module, [])
    assert module.operation.verify()
