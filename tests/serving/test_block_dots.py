"""MXFP8: products whose operands have a power of two for each 32 elements along what is contracted."""

import pathlib
import re
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.modules import clone
from scalify_hlo.passes.block_dots import BlockDots
from scalify_hlo.passes.block_formats import MXFP8
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.serving.calibration import Calibration
from scalify_hlo.serving.comparison import compare
from scalify_hlo.serving.exported import pin_exported
from tests.serving.block_programs import ROWS, D, model, one_product
from tests.training_programs import train_step_text

RNG = np.random.default_rng(0)
LAYERS = 3


def normal(*shape: int) -> Array:
    return np.asarray(RNG.standard_normal(shape) / shape[-2] ** 0.5, np.float32)


PARAMS = {"a": normal(D, 2 * D), "b": normal(2 * D, D), "c": normal(D, D), "head": normal(D, D)}
# Tokens of very unlike sizes, and one element in 64 that is far above the others.
X = np.asarray(RNG.standard_normal((ROWS, D)) * np.exp2(RNG.integers(-11, 5, (ROWS, 1))), np.float32)
X[:, 5] *= 64


def exported() -> str:
    return jax.export.export(jax.jit(model))(PARAMS, X).mlir_module()


def inputs() -> list[Array]:
    return [*jax.tree.leaves(PARAMS), X]


def served(precision: str, folder: pathlib.Path, function: str = "") -> ir.Module:
    module = ir.Module.parse(function or exported(), context=make_context())
    calibration = Calibration(module, precision)
    calibration.arguments([inputs()])
    calibration.operands([inputs()])
    (folder / "scales.json").write_bytes(calibration.scales.to_json())
    precision_pipeline(precision, pin_scales=str(folder / "scales.json")).run(module, [])
    return module


def row_errors(module: ir.Module, result: ir.Module) -> Array:
    """The relative error of each token's row."""
    from scalify_hlo.serving.comparison import served_run

    want = xla.compile(module)(inputs())[0]
    got = served_run(result, ["p['a']", "p['b']", "p['c']", "p['head']", "x"])(inputs())[0]
    return np.linalg.norm(got - want, axis=1) / np.linalg.norm(want, axis=1)


def test_tokens_of_unlike_sizes_keep_their_precision(tmp_path: pathlib.Path) -> None:
    original = ir.Module.parse(exported(), context=make_context())
    one_scale = row_errors(original, served("fp8", tmp_path))
    blocks = row_errors(original, served("mxfp8", tmp_path))
    assert one_scale.max() > 0.5  # the small ones are below E4M3's smallest number
    assert blocks.max() < 0.12


def test_what_is_rounded_is_the_mx_format() -> None:
    """One product, beside the same arithmetic in NumPy: equal but for the order of the sum."""
    product = ir.Module.parse(one_product(), context=make_context())
    BlockDots().apply(product, [])
    x, narrow = X.astype(np.float16), normal(D, D).astype(ml_dtypes.float8_e4m3fn)
    x[0], x[1, 0] = 0, np.inf  # zeros, and a block that saturates
    got = xla.compile(product)([x, narrow])[0]
    blocks = x.astype(np.float32).reshape(ROWS, D // MXFP8.block, MXFP8.block)
    amax = np.minimum(np.abs(blocks), 65504).max(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        scale = np.where(amax > 0, np.exp2(np.ceil(np.log2(amax / np.float32(448)))), 1)
    data = np.clip(blocks / scale, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    rounded = (data.astype(np.float32) * scale).reshape(ROWS, D)
    want = rounded @ narrow.astype(np.float32)
    assert np.isfinite(got).all() and (got[0] == 0).all()
    np.testing.assert_array_less(
        np.abs(got - want), 1e-6 * (np.abs(rounded) @ np.abs(narrow.astype(np.float32))) + 1e-30
    )


def test_products_that_share_an_operand_round_it_once(tmp_path: pathlib.Path) -> None:
    def three(p: Any, x: jax.Array) -> jax.Array:
        return jnp.tanh(x @ p["c"]) @ p["a"] + jnp.tanh(x @ p["head"]) @ p["a"] + x @ p["a"] @ p["b"] @ p["a"]

    text = str(served("mxfp8", tmp_path, jax.export.export(jax.jit(three))(PARAMS, X).mlir_module()))
    products = len(re.findall('stablehlo.composite "xla.scaled_dot"', text))
    assert text.count("stablehlo.optimization_barrier") < products


def test_what_contracts_no_multiple_of_32_stays_in_fp8() -> None:
    step = jax.export.export(jax.jit(lambda w, v, u, x: jnp.tanh(jnp.tanh(x @ w) @ v) @ u))
    whole = step(normal(48, D), normal(D, D), normal(D, D), X[:, :48])
    module = ir.Module.parse(whole.mlir_module(), context=make_context())
    remarks: list[Diagnostic] = []
    precision_pipeline("mxfp8").run(module, remarks)
    text = str(module)
    assert "1 products with a scale for each 32 elements, 1 left in fp8" in remarks[-1].message
    products = [line for line in text.splitlines() if "dot_general" in line and line.count("f8E4M3FN") == 2]
    assert len(products) == 1 and f"{ROWS}x48x" in products[0]


def test_an_exported_program_is_served(tmp_path: pathlib.Path) -> None:
    served("mxfp8", tmp_path)
    whole = jax.export.export(jax.jit(model))(PARAMS, X)
    pinned = pin_exported(whole, str(tmp_path / "scales.json"), precision="mxfp8")
    assert 'composite "xla.scaled_dot"' in pinned.mlir_module()
    loaded = jax.export.deserialize(pinned.serialize())
    zeros = jax.tree.map(
        lambda aval: np.zeros(aval.shape, aval.dtype), jax.tree.unflatten(loaded.in_tree, loaded.in_avals)
    )
    assert np.isfinite(np.asarray(jax.tree.leaves(loaded.call(*zeros[0]))[0])).all()


def test_comparison_and_scales_of_fp8_serve_it_too(tmp_path: pathlib.Path) -> None:
    served("fp8", tmp_path)
    original = ir.Module.parse(exported(), context=make_context())
    result = clone(original)
    precision_pipeline("mxfp8", pin_scales=str(tmp_path / "scales.json")).run(result, [])
    error = next(each.error for each in compare(original, result, [inputs()]) if each.form == "served")
    assert error < 0.1


def test_training_steps_other_gpus_and_devices_are_refused() -> None:
    module = ir.Module.parse(train_step_text(), context=make_context())
    with pytest.raises(ScalifyError, match="MXFP8 is for programs without a backward pass"):
        precision_pipeline("mxfp8").run(module, [])
    module = ir.Module.parse(exported(), context=make_context())
    with pytest.raises(ScalifyError, match="NVIDIA H200 has no block-scaled matrix units"):
        precision_pipeline("mxfp8 target=h200").run(module, [])
    module = ir.Module.parse(
        exported().replace("mhlo.num_partitions = 1", "mhlo.num_partitions = 2"), context=make_context()
    )
    remarks: list[Diagnostic] = []
    precision_pipeline("mxfp8").run(module, remarks)
    assert any(each.severity == "warning" and "cannot partition block-scaled" in each.message for each in remarks)
    assert "xla.scaled_dot" not in str(module) and "f8E4M3FN" in str(module)


def test_products_of_e2m1_lose_more() -> None:
    """What docs/serving.md says that NVFP4 costs: E2M1 with an E4M3 scale for each 16 elements, beside E4M3."""

    def rounded(x: Array, type_: Any) -> Array:
        return np.asarray(x, np.float32).astype(type_).astype(np.float32)

    def nvfp4(x: Array) -> Array:
        whole = np.abs(x).max() / (448 * 6)
        blocks = (x / whole).reshape(len(x), -1, 16)
        scales = rounded(np.abs(blocks).max(-1, keepdims=True) / 6, ml_dtypes.float8_e4m3fn)
        return (rounded(blocks / scales, ml_dtypes.float4_e2m1fn) * scales).reshape(x.shape) * whole

    def e4m3(x: Array) -> Array:
        return rounded(x, ml_dtypes.float8_e4m3fn)

    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(shape).astype(np.float32) for shape in ((256, 512), (512, 512)))

    def error(left: Array, right: Array) -> float:
        return float(np.linalg.norm(left @ right.T - x @ w.T) / np.linalg.norm(x @ w.T))

    assert error(e4m3(x), e4m3(w)) == pytest.approx(0.037, abs=1e-3)
    assert error(e4m3(x), nvfp4(w)) == pytest.approx(0.099, abs=2e-3)
    assert error(nvfp4(x), nvfp4(w)) == pytest.approx(0.135, abs=2e-3)
