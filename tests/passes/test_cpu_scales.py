"""`scalify-cpu-scales`: calls that XLA:CPU makes one kernel of. Where they go: test/lit/passes/cpu-scales.mlir."""

import subprocess
import sys

import pytest

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
