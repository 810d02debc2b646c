"""Whole training steps, rewritten from f32 by `--precision` and compiled for a GPU: every linear layer is FP8 GEMMs."""

from typing import Any

import jax
import numpy as np
import pytest

from experiments.models import Size
from experiments.recipes import RECIPES, first_state, train_step
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
