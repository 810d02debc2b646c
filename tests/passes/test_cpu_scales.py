"""`scalify-cpu-scales`: calls that XLA:CPU makes one kernel of. Where they go: test/lit/passes/cpu-scales.mlir."""

import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.execution import xla
from scalify_hlo.execution.modules import as_module, to_bytecode
from scalify_hlo.passes.precision_pipeline import precision_pipeline

# XLA finds that %far is not read, within the called function only.
MODULE = """
func.func @main(%x: tensor<64xf32>, %far: tensor<f32>, %scales: tensor<3xf32> {scalify.role = "scales"})
    -> (tensor<64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  %other = stablehlo.reduce(%x init: %one) applies stablehlo.maximum across dimensions = [0]
    : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
  %0 = stablehlo.multiply %sum, %one : tensor<f32>
  %1 = stablehlo.compare GE, %one, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %2 = stablehlo.multiply %other, %far : tensor<f32>
  %3 = stablehlo.select %1, %0, %2 : tensor<i1>, tensor<f32>
  %4 = stablehlo.RESULT %3, %0 : tensor<f32>
  %5 = stablehlo.add %4, %4 : tensor<f32>
  %6 = stablehlo.multiply %4, %4 : tensor<f32>
  %7 = stablehlo.sqrt %4 : tensor<f32>
  %8 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<64xf32>
  %9 = stablehlo.multiply %x, %8 : tensor<64xf32>
  return READ, %4, %5, %6, %7 : tensor<64xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
"""

RUN = """
import sys
import numpy as np
from scalify_hlo.execution import xla
x, far, scales = np.arange(64, dtype=np.float32), np.float32(3), np.ones(3, np.float32)
print(float(xla.compile(sys.stdin.read())([x, far, scales])[1]))
"""


@pytest.mark.parametrize("read", ["%9", "%x"], ids=["read by data", "leaving"])
@pytest.mark.parametrize("result", ["maximum", "add"])
def test_a_parameter_that_nothing_reads(read: str, result: str) -> None:
    # In a process of its own: XLA:CPU ended it ("All or none of the slices should have an explicit index").
    module = MODULE.replace("RESULT", result).replace("READ", read)
    run = subprocess.run([sys.executable, "-c", RUN], input=module, text=True, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert float(run.stdout) == {"maximum": 2016, "add": 4032}[result]


ODE = """
import jax, jax.numpy as jnp, numpy as np, scalify_hlo as sc
from jax.experimental.ode import odeint
rng = np.random.default_rng(0)
p = {"a": np.float32(rng.standard_normal((3, 32)) / 2), "b": np.float32(rng.standard_normal((32, 3)) / 6)}
x = np.float32(rng.standard_normal((64, 3)))
def loss(p, x):
    f = lambda y, t: jnp.tanh(y @ p["a"]) @ p["b"]
    return jnp.mean((odeint(f, x, jnp.array([0.0, 1.0]), rtol=1e-3, atol=1e-3)[-1] - jnp.sin(x)) ** 2)
def step(p, x):
    value, g = jax.value_and_grad(loss)(p, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, p, g), value
new, value = sc.scalify(step, precision="fp16")(*sc.as_scaled_array((p, x)))
print(abs(float(value) - float(jax.jit(step)(p, x)[1])))
"""


def test_a_parameter_that_is_a_constant() -> None:
    """As XLA finds of some numbers that a differential equation's solver carries; it ended the process as above."""
    run = subprocess.run([sys.executable, "-c", ODE], text=True, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    assert float(run.stdout) < 2e-3


def test_results_of_more_parameters_than_a_call_computes() -> None:
    """Packed into one vector, which is put together of numbers that one call computes in another."""

    def step(p: list[Any], m: list[Any], x: Any) -> Any:
        def loss(p: list[Any]) -> Any:
            return sum(jnp.mean((jnp.tanh(x @ w) - x) ** 2) for w in p)

        g = jax.grad(loss)(p)
        m = [0.9 * a + 0.1 * b for a, b in zip(m, g, strict=True)]
        return [w - 0.1 * a / (1 + jnp.max(jnp.abs(w))) for w, a in zip(p, m, strict=True)], m

    rng = np.random.default_rng(0)
    parameters = [np.float32(rng.standard_normal((4, 4))) for _ in range(80)]
    moments = [np.zeros((4, 4), np.float32) for _ in parameters]
    x = np.float32(rng.standard_normal((8, 4)))
    module = as_module(jax.jit(step).lower(parameters, moments, x).as_text())
    precision_pipeline(None, pack_scales=True).run(module, [])
    executable = xla.compile(to_bytecode(module))
    assert len(executable.signature.results) == 161
