"""Compiling and running on XLA:CPU."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import export

from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import NUMPY_DTYPES
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.modules import as_module


@pytest.mark.parametrize("element_type", NUMPY_DTYPES)
def test_every_element_type_goes_in_and_comes_out(element_type: str) -> None:
    dtype = NUMPY_DTYPES[element_type]
    values, scalar = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype), np.asarray(1).astype(dtype)
    types = f"tensor<2x3x{element_type}>, tensor<{element_type}>"
    module = f"""
      func.func public @main(%a: tensor<2x3x{element_type}>, %b: tensor<{element_type}>) -> ({types}) {{
        return %a, %b : {types}
      }}"""
    for given, got in zip([values, scalar], xla.compile(module)([values, scalar]), strict=True):
        assert got.dtype == dtype
        assert got.tobytes() == given.tobytes()


def test_results_are_those_of_the_interpreter() -> None:
    def f(x: jax.Array, n: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.tanh(x @ x.T), jax.lax.fori_loop(0, n, lambda i, c: c + i, 0)

    exported = export.export(jax.jit(f))(jnp.zeros((4, 3)), jnp.int32(0))
    text = exported.mlir_module()
    arrays = [np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32), np.asarray(5, np.int32)]
    for got, want in zip(xla.compile(text)(arrays), interpret(text, arrays), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


NEGATE = """
  func.func public @main(%x: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.negate %x : tensor<f32>
    return %0 : tensor<f32>
  }"""

WIDENED = """
  func.func public @main(%x: tensor<64xbf16>) -> tensor<64xf32> {
    %0 = stablehlo.exponential %x : tensor<64xbf16>
    %1 = stablehlo.convert %0 : (tensor<64xbf16>) -> tensor<64xf32>
    return %1 : tensor<64xf32>
  }"""


def test_bf16_values_are_rounded_unless_excess_precision_is_allowed() -> None:
    x = np.linspace(0.1, 1.3, 64).astype(ml_dtypes.bfloat16)
    (rounded,) = xla.compile(WIDENED)([x])
    (wider,) = xla.compile(WIDENED, excess_precision=True)([x])
    np.testing.assert_array_equal(rounded, rounded.astype(ml_dtypes.bfloat16).astype(np.float32))
    assert (wider != rounded).any()
    np.testing.assert_allclose(wider, np.exp(x.astype(np.float32)), rtol=1e-6)


def test_a_donated_argument_is_not_overwritten() -> None:
    module = """
      func.func public @main(%x: tensor<1024xf32> {tf.aliasing_output = 0 : i32}) -> tensor<1024xf32> {
        %0 = stablehlo.add %x, %x : tensor<1024xf32>
        return %0 : tensor<1024xf32>
      }"""
    x = np.ones(1024, np.float32)
    executable = xla.compile(module)
    for _ in range(2):
        np.testing.assert_array_equal(executable([x])[0], np.full(1024, 2, np.float32))
    assert len(executable.seconds_per_call([x], repeats=3)) == 3
    np.testing.assert_array_equal(x, np.ones(1024, np.float32))


def test_lapack_calls_run() -> None:
    exported = export.export(jax.jit(jnp.linalg.cholesky))(jnp.zeros((2, 2)))
    (got,) = xla.compile(exported.mlir_module())([np.array([[4, 2], [2, 5]], np.float32)])
    np.testing.assert_allclose(got, [[2, 0], [1, 2]], rtol=1e-6)


PARTITIONED = """
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from scalify_hlo.execution import xla

module = '''module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%x: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %y: tensor<3xf32>)
      -> (tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<f32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<3xf32>) -> tensor<4x3xf32>
    %1 = stablehlo.multiply %x, %0 : tensor<4x3xf32>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
    return %1, %2 : tensor<4x3xf32>, tensor<f32>
  }
}'''
executable = xla.compile(module)
x, y = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([1, 2, 3], np.float32)
product, total = executable([x, y])
np.testing.assert_array_equal(product, x * y)
assert total == (x * y).sum()
assert "num_partitions=2" in executable.as_text()
assert len(jax.devices("cpu")) == 2
"""


def test_a_partitioned_module_runs_on_as_many_devices() -> None:
    """In a process of its own, because JAX fixes the number of its devices on first use."""
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"} | {"JAX_PLATFORMS": "cpu"}
    finished = subprocess.run(
        [sys.executable, "-c", PARTITIONED], env=environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr


def test_the_only_public_function_runs_when_there_is_no_main() -> None:
    module = as_module(NEGATE.replace("@main", "@apply"))
    assert xla.compile(module)([np.asarray(2, np.float32)])[0] == -2
    assert "@apply" in str(module)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("rubbish", "rubbish"),
        (NEGATE.replace("tensor<f32>", "tensor<?xf32>"), "dynamic"),
        (
            """func.func @main(%x: tensor<f32>) -> tensor<f32> {
              %0 = stablehlo.custom_call @mystery(%x) : (tensor<f32>) -> tensor<f32>
              return %0 : tensor<f32> }""",
            "XLA:CPU does not compile the module: .*mystery",
        ),
        (f"module attributes {{mhlo.num_partitions = 512 : i32}} {{ {NEGATE} }}", "512 devices"),
        (f"module attributes {{mhlo.num_replicas = 2 : i32}} {{ {NEGATE} }}", "replicas"),
    ],
)
def test_what_cannot_be_compiled_is_one_clear_error(module: str, message: str) -> None:
    with pytest.raises(ScalifyError, match=message):
        xla.compile(module)


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ScalifyError, match=r"argument 0 .* tensor<f32>, but the array is float64\[\]"):
        xla.compile(NEGATE)([np.asarray(1.0)])


HLO = """HloModule m, is_scheduled=true

%fused (p0: f32[4], p1: f32[4]) -> f32[4] {
  %p0 = f32[4]{0} parameter(0)
  %p1 = f32[4]{0} parameter(1)
  %m.1 = f32[4]{0} multiply(%p0, %p1)
  ROOT %a = f32[4]{0} add(%m.1, %p1)
}

%body (t: (s32[], f32[4])) -> (s32[], f32[4]) {
  %t = (s32[], f32[4]{0}) parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  %x = f32[4]{0} get-tuple-element(%t), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %y = f32[4]{0} fusion(%x, %x), kind=kLoop, calls=%fused
  ROOT %r = (s32[], /*index=1*/f32[4]{0}) tuple(%next, %y)
}

%condition (t.1: (s32[], f32[4])) -> pred[] {
  %t.1 = (s32[], f32[4]{0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%t.1), index=0
  %n = s32[] constant(3)
  ROOT %lt = pred[] compare(%i.1, %n), direction=LT
}

ENTRY %main (x.1: f32[4]) -> f32[4] {
  %x.1 = f32[4]{0} parameter(0)
  %zero = s32[] constant(0)
  %c = f32[4]{0} copy(%x.1)
  %init = (s32[], f32[4]{0}) tuple(%zero, %c)
  %w = (s32[], f32[4]{0}) while(%init), condition=%condition, body=%body
  ROOT %out = f32[4]{0} get-tuple-element(%w), index=1
}
"""


def test_kernels_are_counted_outside_fusions_and_inside_loops() -> None:
    cost = xla.count_cost(HLO)
    assert cost.lines == HLO.count("\n")
    assert cost.instructions == 4 + 7 + 4 + 6
    assert cost.kernels == 4  # copy; the body's add and fusion; the condition's compare


def test_cost_of_a_compiled_module() -> None:
    executable = xla.compile(NEGATE)
    assert executable.cost.lines == len(executable.as_text().splitlines())
    assert 1 <= executable.cost.kernels <= executable.cost.instructions
    assert executable.compile_seconds > 0


def test_a_python_function_that_is_not_there_is_refused() -> None:
    """The call holds an address in the process that wrote the text: XLA followed it, and the tool crashed."""

    def fun(x: jax.Array) -> jax.Array:
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(np.sin, like, x) + jax.pure_callback(np.cos, like, x)

    text = jax.jit(fun).lower(np.ones(3, np.float32)).as_text(debug_info=True)
    with pytest.raises(ScalifyError, match="calls a Python function") as raised:
        xla.compile(text)
    assert len(raised.value.diagnostics) == 2
    assert "test_xla.py" in raised.value.diagnostics[0].location
