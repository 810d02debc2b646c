"""The same program in f64."""

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import export

from scalify_hlo.execution import xla
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.modules import as_module, operations
from scalify_hlo.execution.promote import promote_arrays, promote_to_f64


def promoted(text: str, arrays: list[np.ndarray]) -> list[np.ndarray]:
    return interpret(promote_to_f64(as_module(text)), promote_arrays(arrays))


def test_no_narrow_float_is_left_outside_constants_and_converts() -> None:
    def f(x: jax.Array, y: jax.Array) -> jax.Array:
        h = jax.nn.softmax(x.astype(jnp.bfloat16) @ y, -1)
        return jax.lax.while_loop(lambda c: c.sum() < 10, lambda c: jax.nn.gelu(c) + 1, h.astype(jnp.float16))

    exported = export.export(jax.jit(f))(jnp.zeros((3, 4)), jnp.zeros((4, 5), jnp.bfloat16))
    module = promote_to_f64(as_module(exported.mlir_module()))
    narrow = ("bf16", "f16", "f32")
    for op in operations(module):
        for value in op.results:
            if op.name != "stablehlo.constant":
                assert not str(value.type).removesuffix(">").endswith(narrow), op


def test_differences_of_nearby_numbers_survive() -> None:
    text = """
      func.func @main(%x: tensor<2xf16>) -> tensor<2xf16> {
        %one = stablehlo.constant dense<2048.0> : tensor<2xf16>
        %0 = stablehlo.add %x, %one : tensor<2xf16>
        %1 = stablehlo.subtract %0, %one : tensor<2xf16>
        return %1 : tensor<2xf16>
      }"""
    x = np.array([0.25, 1.5], np.float16)
    assert interpret(text, [x])[0].tolist() != [0.25, 1.5]
    (got,) = promoted(text, [x])
    assert got.dtype == np.float64
    assert got.tolist() == [0.25, 1.5]


@pytest.mark.parametrize("element_type", ["f16", "bf16", "f32", "f8E4M3FN", "complex<f32>"])
def test_constants_keep_the_values_that_the_narrow_program_has(element_type: str) -> None:
    literal = "(0.1,0.3)" if element_type.startswith("complex") else "0.1"
    wide = {"complex<f32>": "complex<f32>"}.get(element_type, "f32")
    text = f"""
      func.func @main() -> tensor<2x{wide}> {{
        %c = stablehlo.constant dense<{literal}> : tensor<2x{element_type}>
        %0 = stablehlo.convert %c : (tensor<2x{element_type}>) -> tensor<2x{wide}>
        return %0 : tensor<2x{wide}>
      }}"""
    (narrow,), (got,) = interpret(text, []), promoted(text, [])
    assert got.dtype == (np.complex128 if element_type.startswith("complex") else np.float64)
    np.testing.assert_array_equal(got, narrow.astype(got.dtype))


def test_bits_are_those_of_the_narrow_type() -> None:
    """jax.random makes floats out of bits, and libraries take them apart."""
    text = """
      func.func @main(%x: tensor<2xf32>) -> (tensor<2xui32>, tensor<2xf32>) {
        %0 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2xui32>
        %one = stablehlo.constant dense<1> : tensor<2xui32>
        %1 = stablehlo.add %0, %one : tensor<2xui32>
        %2 = stablehlo.bitcast_convert %1 : (tensor<2xui32>) -> tensor<2xf32>
        return %0, %2 : tensor<2xui32>, tensor<2xf32>
      }"""
    x = np.array([1.0, -3.5], np.float32)
    bits, following = promoted(text, [x])
    np.testing.assert_array_equal(bits, x.view(np.uint32))
    np.testing.assert_array_equal(following, np.nextafter(x, x * 2).astype(np.float64))


def test_random_draws_are_the_same() -> None:
    exported = export.export(jax.jit(lambda key: jax.random.uniform(key, (64,))))(jnp.zeros(2, jnp.uint32))
    key = np.array([3, 7], np.uint32)
    text = exported.mlir_module()
    np.testing.assert_array_equal(interpret(text, [key])[0].astype(np.float64), promoted(text, [key])[0])


def test_deliberate_rounding_is_left_out() -> None:
    text = """
      func.func @main(%x: tensor<f32>) -> tensor<f32> {
        %0 = stablehlo.reduce_precision %x, format = e5m2 : tensor<f32>
        return %0 : tensor<f32>
      }"""
    (got,) = promoted(text, [np.asarray(1.3, np.float32)])
    assert got == np.float64(np.float32(1.3))


def test_functions_regions_and_composites_are_promoted_together() -> None:
    text = """
      func.func public @main(%x: tensor<4xf32>) -> tensor<f32> {
        %0 = stablehlo.composite "my.double" %x {composite_attributes = {factor = 2.0 : f32}, decomposition = @double}
          : (tensor<4xf32>) -> tensor<4xf32>
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
        return %1 : tensor<f32>
      }
      func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
        %0 = stablehlo.add %x, %x : tensor<4xf32>
        return %0 : tensor<4xf32>
      }"""
    (got,) = promoted(text, [np.array([1e8, 1, -1e8, 1], np.float32)])
    assert got == 4


@pytest.mark.parametrize(("target", "wide"), [("lapack_spotrf_ffi", "lapack_dpotrf_ffi"), ("mystery", "mystery")])
def test_custom_calls_become_double_precision_ones_or_stay_narrow(target: str, wide: str) -> None:
    text = f"""
      func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {{
        %0 = stablehlo.custom_call @{target}(%x) : (tensor<2x2xf32>) -> tensor<2x2xf32>
        return %0 : tensor<2x2xf32>
      }}"""
    module = promote_to_f64(as_module(text))
    (call,) = [op for op in operations(module) if op.name == "stablehlo.custom_call"]
    assert call.attributes["call_target_name"].value == wide
    assert str(call.results[0].type) == ("tensor<2x2xf32>" if wide == "mystery" else "tensor<2x2xf64>")


def test_the_module_given_stays_narrow() -> None:
    module = as_module("func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }")
    before = str(module)
    promote_to_f64(module)
    assert str(module) == before


def test_arrays_keep_their_values() -> None:
    arrays = [
        np.array([0.1], ml_dtypes.bfloat16),
        np.array([0.1], ml_dtypes.float8_e4m3fn),
        np.array([0.1 + 0.2j], np.complex64),
        np.array([3], np.int32),
        np.array([True]),
    ]
    got = promote_arrays(arrays)
    assert [a.dtype for a in got] == [np.float64, np.float64, np.complex128, np.int32, np.bool_]
    for a, b in zip(arrays, got, strict=True):
        np.testing.assert_array_equal(a.astype(b.dtype), b)


@pytest.mark.parametrize("top_k", [jax.lax.approx_max_k, jax.lax.approx_min_k])
def test_what_a_custom_call_calls_keeps_its_types(top_k: Any) -> None:
    """XLA: the type of the called computation does not match the expected one."""
    exported = export.export(jax.jit(lambda x: top_k(x * 2, 2)))(jnp.zeros((4, 6)))
    x = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    module = as_module(exported.mlir_module())
    with jax.enable_x64(True):
        wide = xla.compile(promote_to_f64(module))(promote_arrays([x]))
    assert wide[0].dtype == np.float64
    for got, expected in zip(wide, xla.compile(module)([x]), strict=True):
        np.testing.assert_array_equal(got, expected)
