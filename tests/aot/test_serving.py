"""What a served decoder costs on an H200: no scale arithmetic, every linear product an FP8 GEMM."""

import pathlib
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.aot.compiler import compile_for
from scalify_hlo.aot.cost import Cost, measure_cost
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.modules import clone
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.serving.calibration import Calibration
from tests.aot.extra import needs_compiler

RNG = np.random.default_rng(0)
D, HEADS, VOCABULARY, BATCH, LENGTH = 64, 4, 128, 2, 32


def normal(*shape: int) -> np.ndarray:
    return np.asarray(RNG.standard_normal(shape) / shape[-2] ** 0.5, np.float32)


def norm(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def decoder(p: dict[str, Any], tokens: jax.Array) -> jax.Array:
    x = p["embedding"][tokens]
    for w in p["layers"]:
        h = norm(x)
        q, k, v = ((h @ w[name]).reshape(BATCH, LENGTH, HEADS, D // HEADS) for name in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (D // HEADS) ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ w["o"]
        x = x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]
    return x @ p["head"]


def costs(path: pathlib.Path, guard: bool = False) -> dict[str, Cost]:
    """Of the program cast to bf16, weights included, and served in FP8; two layers."""
    layer = {name: normal(D, D) for name in "qkvo"} | {"up": normal(D, 4 * D), "down": normal(4 * D, D)}
    p = {"embedding": normal(VOCABULARY, D), "head": normal(D, VOCABULARY), "layers": [layer, layer]}
    tokens = np.zeros((BATCH, LENGTH), np.int32)
    text = jax.export.export(jax.jit(decoder))(p, tokens).mlir_module()
    module = ir.Module.parse(text, context=make_context())
    arrays = [np.asarray(leaf) for leaf in jax.tree.leaves((p, tokens))]
    calibration = Calibration(module, "fp8")
    calibration.arguments([arrays])
    calibration.operands([arrays])
    (path / "scales.json").write_bytes(calibration.scales.to_json())
    bf16, served = clone(module), clone(module)
    Cast(precision="bf16", parameters="bf16").apply(bf16, [])
    precision_pipeline("fp8", pin_scales=str(path / "scales.json"), guard=guard, transpose_weights=True).run(served, [])
    return {name: measure_cost(each, "h200").cost for name, each in (("bf16", bf16), ("served", served))}


@needs_compiler
@pytest.mark.parametrize("guard", [False, True])
def test_kernels_of_a_served_decoder(guard: bool, tmp_path: pathlib.Path) -> None:
    found = costs(tmp_path, guard)
    bf16, served = found["bf16"], found["served"]
    # Beside bf16's: the rounding of three operands, or a count for each of nine tensors.
    assert (bf16.kernels, served.kernels) == ((32, 48) if guard else (32, 35))
    assert served.scalar_kernels + served.copies == 0 and served.gemms == bf16.gemms
    # q, k and v are one product; then o, up and down; attention's and the head's are left.
    assert served.fp8_gemms == 2 * 4


@needs_compiler
def test_convolutions_are_computed_in_f16_though_the_compiler_has_fp8_ones(tmp_path: pathlib.Path) -> None:
    """What docs/serving.md says of convolutions: served ones read FP8 weights, and multiply in f16."""
    dims = ("NHWC", "HWIO", "NHWC")

    def convolve(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", None, None, dims, preferred_element_type=jnp.float32)

    def compiled(module: ir.Module) -> str:
        return compile_for(module, target("h200")).text

    def exported(fun: Any, *arrays: np.ndarray) -> ir.Module:
        return ir.Module.parse(jax.export.export(jax.jit(fun))(*arrays).mlir_module(), context=make_context())

    x, w = normal(2, 8, 8, 32), normal(3, 3, 32, 32)
    narrow = compiled(exported(convolve, *(each.astype(jnp.float8_e4m3fn) for each in (x, w))))
    assert re.search(r'f8e4m3fn.*\n.*cudnn\$convForwardGraph"', narrow[narrow.index("ENTRY") :])
    module = exported(lambda w, x: jnp.tanh(convolve(x, w)), w, x)
    calibration = Calibration(module, "fp8")
    calibration.arguments([[w, x]])
    calibration.operands([[w, x]])
    (tmp_path / "scales.json").write_bytes(calibration.scales.to_json())
    precision_pipeline("fp8", pin_scales=str(tmp_path / "scales.json")).run(module, [])
    text = compiled(module)
    assert "f8e4m3fn[3,3,32,32]" in text and "convForwardGraph" not in text
    # The scale of its result is a factor that cuDNN multiplies by.
    assert re.search(r'= \(f16\[2,8,8,32\].*cudnn\$convBiasActivationForward"', text)
