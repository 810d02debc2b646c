"""What JAX does not write and others do: layouts, channels, numbered attributes, older spellings of products."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout
from jax.sharding import SingleDeviceSharding

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.normal_form import to_normal_form
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.in_place import scalify_in_place
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.rewrite import rewrite_module

RNG = np.random.default_rng(0)


def test_scales_have_no_layout_of_their_data() -> None:
    columns = Format(Layout((1, 0)), SingleDeviceSharding(jax.devices()[0]))
    double = jax.jit(lambda x: x * 2, in_shardings=(columns,), out_shardings=columns)
    text = rewrite_module(double.lower(jnp.zeros((8, 4))).as_text())
    assert text.count('mhlo.layout_mode = "{0,1}"') == 2
    assert text.count('mhlo.layout_mode = "default"') == 2
    xla.compile(text)


def test_attributes_that_number_the_arguments_go() -> None:
    text = """
module attributes {mhlo.xla_entry_computation_result_layout = [dense<[0, 1]> : tensor<2xindex>], test.own = 1 : i32} {
  func.func @main(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
    return %x : tensor<1x2xf32>
  }
}"""
    remarks = list[Diagnostic]()
    with make_context():
        module = ir.Module.parse(text)
        scalify_in_place(module, remarks=remarks)
        assert "xla_entry" not in str(module) and "test.own = 1" in str(module)
    assert [r.message for r in remarks if "xla_entry_computation_result_layout of the module: removed" in r.message]


def test_scales_meet_in_channels_of_their_own() -> None:
    text = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {channel_handle = #stablehlo.channel_handle<handle = 7, type = 1>, replica_groups = dense<[[0]]> : tensor<1x1xi64>,
      use_global_device_ids} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"""
    rewritten = rewrite_module(text)
    assert sorted(n for n in (7, 8) if f"handle = {n}," in rewritten) == [7, 8]
    x = np.float32(RNG.standard_normal(4))
    data, scale = xla.compile(rewritten)([x, np.float32(2)])
    np.testing.assert_array_equal(data * scale, 2 * x)


PRODUCTS = {
    "dot": ("stablehlo.dot %x, %w", (16, 32), (32, 8), (16, 8)),
    "of a vector": ("stablehlo.dot %x, %w", (32,), (32, 8), (8,)),
    "of vectors": ("stablehlo.dot %x, %w", (32,), (32,), ()),
    "ab,bc->ac": (None, (16, 32), (32, 8), (16, 8)),
    "ab,bc->ca": (None, (16, 32), (32, 8), (8, 16)),
    "bij,bkj->bik": (None, (4, 16, 32), (4, 8, 32), (4, 16, 8)),
    "bij,bkj->ikb": (None, (4, 16, 32), (4, 8, 32), (16, 8, 4)),
    "ij,k->ijk": (None, (4, 8), (3,), (4, 8, 3)),
}


def _product(name: str) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    op, *shapes = PRODUCTS[name]
    x, w, y = ("x".join([*map(str, shape), "f32"]) for shape in shapes)
    op = op or f'stablehlo.einsum %x, %w, config = "{name}"'
    text = f"""
func.func @main(%x: tensor<{x}>, %w: tensor<{w}>) -> tensor<{y}> {{
  %0 = {op} : (tensor<{x}>, tensor<{w}>) -> tensor<{y}>
  return %0 : tensor<{y}>
}}"""
    return text, shapes[0], shapes[1]


@pytest.mark.parametrize("name", PRODUCTS)
def test_older_spellings_of_products(name: str) -> None:
    text, *shapes = _product(name)
    arguments = [np.float32(RNG.integers(-8, 8, shape)) for shape in shapes]
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        to_normal_form(module)
        assert "stablehlo.dot_general" in str(module)
        assert "einsum" not in str(module) and "stablehlo.dot " not in str(module)
        (want,), (got,) = xla.compile(text)(arguments), xla.compile(str(module))(arguments)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("equation", ["ab,bc->a", "aab,bc->ac", "a...,...c->ac"])
def test_einsums_that_are_no_product_stay(equation: str) -> None:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(f"""
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {{
  %0 = stablehlo.einsum %x, %w, config = "{equation}" : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}}""")
        to_normal_form(module)
        assert "stablehlo.einsum" in str(module)


def test_products_of_presets_run_in_either_spelling() -> None:
    for name in ("dot", "ab,bc->ac"):
        text, *shapes = _product(name)
        arguments = [np.float32(RNG.standard_normal(shape)) for shape in shapes]
        with make_context():
            module = ir.Module.parse(text)
            precision_pipeline("fp16").run(module, [])
            data, scale = xla.compile(str(module))([arguments[0], np.float32(1), arguments[1], np.float32(1)])
        want = arguments[0] @ arguments[1]
        assert np.linalg.norm(data * scale - want) < 1e-2 * np.linalg.norm(want)


def test_per_device_code_of_several_operands_in_the_round_trip_form_is_refused() -> None:
    """Its scales would be left out: XLA hands the function between the two calls their results alone."""
    text = """
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %0:2 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%x, %w)
      : (tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %1 = call @xla.sdy.manual_computation_body(%0#0, %0#1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%1) : (tensor<4x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
func.func private @xla.sdy.manual_computation_body(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.add %x, %w : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}"""
    with pytest.raises(ScalifyError, match="per-device code of several operands in Shardy's round-trip form"):
        rewrite_module(text)
