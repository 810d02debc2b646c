"""Whole training steps, rewritten from f32 by `--precision` and compiled for a GPU: every linear layer is FP8 GEMMs."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.models import Size
from experiments.recipes import RECIPES, first_state, train_step
from scalify_hlo.aot.cost import measure_cost
from scalify_hlo.aot.lint import lint
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from tests.aot.extra import needs_compiler

# Two layers, sizes of which every product's are multiples of 16.
SIZE = Size(layers=2, width=64, heads=2, groups=1, context=32)


def step_text(model: Any) -> str:
    state = first_state(model, SIZE, RECIPES["f32"], 0)
    tokens = np.zeros((2, SIZE.context + 1), np.int32)
    return jax.export.export(jax.jit(train_step(model, SIZE, RECIPES["f32"])))(
        state, tokens, np.float32(0)
    ).mlir_module()


@needs_compiler
@pytest.mark.parametrize(("model", "layers"), [("gpt2", 6), ("llama", 7)])
def test_every_product_of_every_linear_layer_is_an_fp8_gemm_on_h200(model: str, layers: int) -> None:
    with make_context():
        module = ir.Module.parse(step_text(model))
        precision_pipeline("fp8-fp16-state").run(module, [])
        report = lint(module, target("h200"))
    linear = [product for product in report.products if product.linear]
    assert len(linear) == 3 * layers * SIZE.layers  # forward, gradients of input and of weight
    assert [str(product) for product in linear if product.verdict != "fp8 gemm"] == []


def _convolutions(precision: str) -> tuple[list[str], int]:
    """The types that convolutions of a training step multiply in on an H200, and the bytes of the step."""

    def step(kernels: list[jax.Array], x: jax.Array) -> list[jax.Array]:
        def loss(kernels: list[jax.Array]) -> jax.Array:
            h = x
            for kernel in kernels:
                numbers = ("NHWC", "HWIO", "NHWC")
                h = jax.nn.relu(jax.lax.conv_general_dilated(h, kernel, (1, 1), "SAME", dimension_numbers=numbers))
            return jnp.mean(h**2)

        return jax.tree.map(lambda w, g: w - 0.1 * g, kernels, jax.grad(loss)(kernels))

    kernels, x = [np.ones((3, 3, 32, 32), np.float32)] * 3, np.ones((16, 16, 16, 32), np.float32)
    with make_context():
        module = ir.Module.parse(jax.export.export(jax.jit(step))(kernels, x).mlir_module())
        if precision:
            precision_pipeline(precision).run(module, [])
        measured = measure_cost(module, "h200")
    return [kernel.element for kernel in measured.kernels if kernel.flops], measured.cost.bytes_accessed


@needs_compiler
def test_convolutions_of_a_training_step_are_of_f16() -> None:
    """cuDNN has no convolution of f16 that gives f32: XLA computed each in f32, and more bytes moved than before."""
    wide, before = _convolutions("")
    narrow, after = _convolutions("fp16")
    assert wide == ["f32"] * 8 and narrow == ["f16"] * 8
    assert after < 0.8 * before
