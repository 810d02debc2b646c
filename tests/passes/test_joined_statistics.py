"""Statistics that scales follow, reduced together: the same results, and which are joined."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.xla import compile as compile_for_cpu
from scalify_hlo.passes.cpu_scales import CPUScales
from scalify_hlo.passes.joined_statistics import JoinStatistics
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.precision import Preset
from tests.support import by_passes

optax: Any = pytest.importorskip("optax", reason="optax is not installed")
optimiser = optax.adam(1e-2)
untyped: Any = jax


def step(w: Any, state: Any, x: Any) -> Any:
    def loss(w: Any) -> Any:
        h = x
        for matrix, bias in w:
            h = jnp.tanh(h @ matrix + bias)
        return jnp.mean(h * h)

    value, gradients = untyped.value_and_grad(loss)(w)
    updates, state = optimiser.update(gradients, state, w)
    return optax.apply_updates(w, updates), state, value


def rewritten(precision: Preset, *dropped: type) -> str:
    w = [(np.zeros((16, 16), np.float32), np.zeros(16, np.float32))] * 3
    exported = jax.export.export(jax.jit(step))(w, optimiser.init(w), np.zeros((8, 16), np.float32))
    return str(by_passes(exported.mlir_module(), precision, *dropped))


def statistics(text: str) -> list[int]:
    """How many sums of squares of tensors to numbers each reduction of a module takes at once."""
    with make_context():
        module = ir.Module.parse(text)
        reductions = [op for op in walk(module.operation) if op.name == "stablehlo.reduce"]
        squares = [
            op for op in reductions
            if not ir.RankedTensorType(op.results[0].type).shape
            and all(isinstance(value, ir.OpResult) for value in list(op.operands)[: len(op.results)])
            and all(_is_square(value) for value in list(op.operands)[: len(op.results)])
        ]  # fmt: skip
        return sorted(len(op.results) for op in squares)


def _is_square(value: ir.Value) -> bool:
    op = value.owner.operation
    return op.name == "stablehlo.multiply" and op.operands[0] == op.operands[1]


def test_statistics_of_one_shape_are_one_reduction() -> None:
    """Three gradients and six moments of matrices, as many of vectors; not what all gradients follow."""
    apart = statistics(rewritten("fp8-fp16-state", JoinStatistics))
    together = statistics(rewritten("fp8-fp16-state"))
    assert set(apart) == {1}
    assert sum(together) == sum(apart)
    assert (len(apart), together) == (20, [1, 1, 3, 3, 6, 6])


def exponents(module: ir.Module | str) -> list[str]:
    """Of what exponents are read: "" for numbers, "3x" for vectors of three."""
    return sorted(re.findall(r"stablehlo.and %\S+ %\S+ : tensor<(\d*x?)i32>", str(module)))


def test_scales_that_follow_statistics_are_computed_of_vectors() -> None:
    """On XLA:CPU, which makes a kernel of each number that enters a vector, they are not: `scalify-cpu-scales`."""
    apart, together = exponents(rewritten("fp8-fp16-state", JoinStatistics)), exponents(rewritten("fp8-fp16-state"))
    with make_context():
        module = ir.Module.parse(rewritten("fp8-fp16-state"))
        Pipeline((CPUScales(),)).run(module, [])
        assert exponents(module) == apart
    assert (apart.count(""), together.count(""), together.count("12x")) == (19, 7, 1)


@pytest.mark.parametrize("precision", ["fp16-state", "fp8-fp16-state"])
def test_results_stay(precision: str) -> None:
    """Scales are powers of two: the order of the terms of a sum does not reach them but at the edge of a binade."""
    rng = np.random.default_rng(0)
    texts = rewritten(precision, JoinStatistics), rewritten(precision)
    signature = compile_for_cpu(texts[0]).signature
    arguments = [
        rng.normal(size=each.shape).astype(each.dtype) if each.shape else np.ones((), each.dtype)
        for each in signature.arguments
    ]
    for a, b in zip(*(compile_for_cpu(text)(arguments) for text in texts), strict=True):
        np.testing.assert_array_equal(a, b)


def program(other: str, second: str = "%t") -> str:
    """Two statistics of f32[4], that of %x and that of another value, whose exponents scale %x."""
    return f"""
    func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %four = stablehlo.constant dense<4.0> : tensor<f32>
      %mask = stablehlo.constant dense<2139095040> : tensor<i32>
      %a = stablehlo.multiply %arg0, %arg0 : tensor<4xf32>
      %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      %s1 = stablehlo.divide %s, %four : tensor<f32>
      %s2 = stablehlo.sqrt %s1 : tensor<f32>
      %s3 = stablehlo.bitcast_convert %s2 : (tensor<f32>) -> tensor<i32>
      %s4 = stablehlo.and %s3, %mask : tensor<i32>
      %s5 = stablehlo.bitcast_convert %s4 : (tensor<i32>) -> tensor<f32>
      %sb = stablehlo.broadcast_in_dim %s5, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %y = stablehlo.multiply %arg0, %sb : tensor<4xf32>
      %b = stablehlo.multiply {other}, {other} : tensor<4xf32>
      %t = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      %t1 = stablehlo.divide %t, %four : tensor<f32>
      %t2 = stablehlo.sqrt {second} : tensor<f32>
      %t3 = stablehlo.bitcast_convert %t2 : (tensor<f32>) -> tensor<i32>
      %t4 = stablehlo.and %t3, %mask : tensor<i32>
      %t5 = stablehlo.bitcast_convert %t4 : (tensor<i32>) -> tensor<f32>
      %tb = stablehlo.broadcast_in_dim %t5, dims = [] : (tensor<f32>) -> tensor<4xf32>
      %z = stablehlo.multiply %y, %tb : tensor<4xf32>
      return %y, %z : tensor<4xf32>, tensor<4xf32>
    }}"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (program("%arg1", "%t1"), [2]),
        (program("%y", "%t1"), [1, 1]),  # the second depends on the first
        (program("%arg1", "%t"), [1, 1]),  # the mean of the second is read by nothing, its sum twice
    ],
)
def test_only_independent_exponents_are_joined(text: str, found: list[int]) -> None:
    with make_context():
        module = ir.Module.parse(text)
        Pipeline((JoinStatistics(),)).run(module, [])
        assert module.operation.verify()
        joined = str(module)
    assert statistics(joined) == found
    x, y = np.array([1, 2, 3, 4], np.float32), np.array([0.5, 8, 0, 0.25], np.float32)
    for a, b in zip(interpret(joined, [x, y]), interpret(text, [x, y]), strict=True):
        np.testing.assert_array_equal(a, b)
