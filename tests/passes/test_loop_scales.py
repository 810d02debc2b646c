"""Scales that a loop carries become one number where they are known as it is entered."""

import pathlib
import re
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution import xla
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.in_place import scalify_in_place
from scalify_hlo.io.scales_file import ScalesFile
from scalify_hlo.module.carried_scales import carried_scales
from scalify_hlo.passes.fold_scales import FoldScales
from scalify_hlo.passes.pin_scales import pin_scales
from scalify_hlo.passes.precision_pipeline import precision_pipeline

RNG = np.random.default_rng(0)

# Data in f16 and their scale, which an iteration makes %next: returned are the value of both in f32, and the scale.
LOOP = """
func.func @main(%x: tensor<4xf16>, %n: tensor<i32>) -> tensor<4xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %s = stablehlo.constant dense<{entry}> : tensor<f32>
  %r:3 = stablehlo.while(%i = %zero, %d = %x, %t = %s) : tensor<i32>, tensor<4xf16>, tensor<f32>
    attributes {{scalify.carried = dense<{carried}> : tensor<{length}xi64>}}
  cond {{
    %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }} do {{
    %factor = stablehlo.constant dense<{factor}> : tensor<f32>
    %least = stablehlo.constant dense<{least}> : tensor<f32>
    %scaled = stablehlo.multiply %t, %factor : tensor<f32>
    %next = stablehlo.maximum %scaled, %least : tensor<f32>
    %ratio = stablehlo.divide %t, %next : tensor<f32>
    %wide = stablehlo.convert %d : (tensor<4xf16>) -> tensor<4xf32>
    %ratios = stablehlo.broadcast_in_dim %ratio, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %brought = stablehlo.multiply %wide, %ratios : tensor<4xf32>
    %narrow = stablehlo.convert %brought : (tensor<4xf32>) -> tensor<4xf16>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %narrow, %next : tensor<i32>, tensor<4xf16>, tensor<f32>
  }}
  %last = stablehlo.convert %r#1 : (tensor<4xf16>) -> tensor<4xf32>
  %scales = stablehlo.broadcast_in_dim %r#2, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %value = stablehlo.multiply %last, %scales : tensor<4xf32>
  return %value : tensor<4xf32>
}}"""


def module(text: str) -> ir.Module:
    return ir.Module.parse(text, context=make_context())


def loop(entry: float, factor: float, least: float, carried: str = "[-1, -1, 1]", length: int = 3) -> ir.Module:
    return module(
        LOOP.format(entry=float(entry), factor=float(factor), least=float(least), carried=carried, length=length)
    )


def folded(program: ir.Module) -> ir.Module:
    FoldScales().apply(program, [])
    assert program.operation.verify()
    return program


def scale_arithmetic(program: ir.Module) -> list[str]:
    """Operations of rank 0 in f32 that are no constants."""
    lines = [line.strip() for line in str(program).splitlines()]
    return [
        line
        for line in lines
        if re.search(r"(-> |: )tensor<f32>$", line) and "stablehlo.constant" not in line and "return" not in line
    ]


@pytest.mark.parametrize(
    ("entry", "factor", "least"),
    [
        (2.0**-40, 1, 2.0**3),  # a maximum that is settled after one iteration
        (2.0**10, 1, 2.0**3),  # it enters larger than anything in the loop
        (2.0**6, 0.5, 2.0**1),  # it falls, and is settled
    ],
)
@pytest.mark.parametrize("iterations", [0, 1, 9])
def test_a_carried_scale_that_settles_is_one_number(entry: float, factor: float, least: float, iterations: int) -> None:
    """0 iterations too: what enters is brought to the scale, and no data get larger."""
    x = np.asarray([0, 1, -3.5, 1000], np.float16)
    found = folded(loop(entry, factor, least))
    assert scale_arithmetic(found) == []
    want = x.astype(np.float32) * np.float32(entry)
    got = interpret(found, [x, np.asarray(iterations, np.int32)])[0]
    # What is 2^-43 of the scale in the loop is below f16 there, with a scale at run time too.
    assert np.abs(got - want).max() <= max(entry, least) * 2.0**-14
    assert np.isfinite(got).all()


@pytest.mark.parametrize(("factor", "least"), [(2.0, 1.0), (0.5, 2.0**-30)])
def test_a_scale_that_does_not_settle_stays_carried(factor: float, least: float) -> None:
    """It grows or fades with its value: at one scale the value would leave the range of f16."""
    x, n = np.asarray([1, 2, 4, 2.0**-6], np.float16), np.asarray(5, np.int32)
    found = folded(loop(1.0, factor, least))
    assert scale_arithmetic(found)
    assert np.array_equal(interpret(found, [x, n])[0], x.astype(np.float32))


@pytest.mark.parametrize(("carried", "length"), [("[-1, 1]", 2), ("[-1, -1, -1]", 3), ("[-1, -1, 0]", 3)])
def test_a_mark_that_does_not_fit_the_loop_is_not_believed(carried: str, length: int) -> None:
    found = folded(loop(2.0**-3, 1, 2.0**3, carried, length))
    assert scale_arithmetic(found)
    assert np.array_equal(
        interpret(found, [np.asarray([1, 2, 3, 4], np.float16), np.asarray(2, np.int32)])[0],
        np.asarray([1, 2, 3, 4], np.float32) / 8,
    )


def recurrent(params: dict[str, jax.Array], x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A recurrent layer over a sequence, from zeros; what it returns for each token is written slice by slice."""

    def step(h: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        gate = jax.nn.sigmoid(x @ params["gate"])
        h = gate * h + (1 - gate) * jnp.tanh(x @ params["in"] + h @ params["state"]) * 3e5
        return h, h

    return jax.lax.scan(step, jnp.zeros((x.shape[1], params["state"].shape[0])), x)


def test_a_served_recurrence_has_no_scale_arithmetic(tmp_path: pathlib.Path) -> None:
    """The state is of size 3e5: without its scale f16 would not hold it."""
    params = {name: np.asarray(RNG.standard_normal((16, 16)) / 4, np.float32) for name in ("gate", "in")}
    params["state"] = np.asarray(RNG.standard_normal((16, 16)) * 2.0**-20, np.float32)
    x = np.asarray(RNG.standard_normal((6, 3, 16)), np.float32)
    text = jax.export.export(jax.jit(recurrent))(params, x).mlir_module()
    names = ["params['gate']", "params['in']", "params['state']", "x"]
    numbers = [2.0**-2, 2.0**-2, 2.0**-20, 1.0]
    file = tmp_path / "scales.json"
    scales = ScalesFile(
        arguments={name: np.asarray(number, np.float32) for name, number in zip(names, numbers, strict=True)}
    )
    file.write_bytes(scales.to_json())
    served = module(text)
    precision_pipeline("fp16", pin_scales=str(file)).run(served, [])
    assert served.operation.verify()
    assert "stablehlo.while" in str(served) and "scalify.carried" not in str(served)
    assert scale_arithmetic(served) == []
    arrays = [params["gate"], params["in"], params["state"], x]
    types = [spec.dtype for spec in entry_signature(served).arguments]  # weights in the type they are computed with
    data = [np.asarray(array / number, dtype) for array, number, dtype in zip(arrays, numbers, types, strict=True)]
    got, want = xla.compile(served)(data), xla.compile(text)(arrays)
    for a, b in zip(got, want, strict=True):
        assert np.isfinite(a).all() and np.abs(b).max() > 65504
        assert np.linalg.norm(a.astype(np.float32) - b) <= 0.02 * np.linalg.norm(b)


def test_a_rewritten_loop_says_what_its_carried_scales_belong_to() -> None:
    """Two tensors that change places have each other's scales after an iteration; so has what is stacked."""

    def exchanged(a: jax.Array, b: jax.Array) -> Any:
        return jax.lax.scan(lambda pair, _: (pair[::-1], pair[0]), (a, b), None, 4)

    rewritten = module(jax.export.export(jax.jit(exchanged))(*np.ones((2, 2, 8), np.float32)).mlir_module())
    scalify_in_place(rewritten)
    functions = list(rewritten.body.operations)
    loops = [op for function in functions for op in function.regions[0].blocks[0] if op.name == "stablehlo.while"]
    pairs = carried_scales(loops[0].operation)
    types = [str(value.type) for value in loops[0].operation.operands]
    assert sorted((types[data], types[scale]) for scale, data in pairs.items()) == [
        ("tensor<2x8xf32>", "tensor<f32>"),
        ("tensor<2x8xf32>", "tensor<f32>"),
        ("tensor<4x2x8xf32>", "tensor<4x1x1xf32>"),
    ]


# Two branches that return data in f16, each at its own scale.
BRANCHES = """
func.func @main(%i: tensor<i32>, %x: tensor<4xf16>) -> tensor<4xf32> {{
  %r:2 = "stablehlo.case"(%i) ({{
    %s = stablehlo.constant dense<4.0> : tensor<f32>
    stablehlo.return %x, %s : tensor<4xf16>, tensor<f32>
  }}, {{
    %s = stablehlo.constant dense<{other}> : tensor<f32>
    %y = stablehlo.negate %x : tensor<4xf16>
    stablehlo.return %y, %s : tensor<4xf16>, tensor<f32>
  }}) {{scalify.carried = dense<[-1, 0]> : tensor<2xi64>}} : (tensor<i32>) -> (tensor<4xf16>, tensor<f32>)
  %least = stablehlo.constant dense<2.0> : tensor<f32>
  %larger = stablehlo.maximum %r#1, %least : tensor<f32>
  %wide = stablehlo.convert %r#0 : (tensor<4xf16>) -> tensor<4xf32>
  %scales = stablehlo.broadcast_in_dim %r#1, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %value = stablehlo.multiply %wide, %scales : tensor<4xf32>
  %ratio = stablehlo.divide %larger, %larger : tensor<f32>
  %ratios = stablehlo.broadcast_in_dim %ratio, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %y = stablehlo.multiply %value, %ratios : tensor<4xf32>
  return %y : tensor<4xf32>
}}"""


@pytest.mark.parametrize("other", [4.0, 0.125, 64.0, 2.0**-20])
def test_branches_return_data_at_the_largest_of_their_scales(other: float) -> None:
    folded = module(BRANCHES.format(other=other))
    FoldScales().apply(folded, [])
    assert folded.operation.verify()
    near = other > 2.0**-8  # data of the other branch would lose bits
    assert ("stablehlo.maximum" not in str(folded)) == near
    x = np.float16([1, -3, 0.5, 1000])
    for i, want in ((0, x * 4.0), (1, x * -other)):
        (got,) = interpret(folded, [np.int32(i), x])
        assert np.array_equal(got, want.astype(np.float32))


def test_branches_bring_their_data_once_however_often_scales_are_folded() -> None:
    """Pinning folds several times, and a fold looks again at the bodies of loops: expm's squarings lost 2^16."""
    program = folded(folded(module(BRANCHES.format(other=2.0))))
    x = np.float16([1, -3, 0.5, 1000])
    for i, want in ((0, x * 4.0), (1, x * -2.0)):
        (got,) = interpret(program, [np.int32(i), x])
        assert np.array_equal(got, want.astype(np.float32))


def test_a_conditional_has_no_scale_arithmetic_once_it_is_pinned() -> None:
    def program(x: jax.Array, w: jax.Array, deep: jax.Array) -> jax.Array:
        return jax.lax.cond(deep, lambda h: jnp.tanh(h @ w) * 8, lambda h: h * 0.25, x) @ w

    shapes = [jax.ShapeDtypeStruct(shape, np.float32) for shape in ((4, 8), (8, 8))]
    exported = jax.export.export(jax.jit(program))(*shapes, jax.ShapeDtypeStruct((), np.bool_))
    pinned = module(exported.mlir_module())
    precision_pipeline("fp16").run(pinned, [])
    assert carried_scales(next(op for op in _operations(pinned) if op.name == "stablehlo.case"))
    pin_scales(pinned, ScalesFile({"x": np.float32(1), "w": np.float32(0.5)}))
    assert not re.search(r"stablehlo.(maximum|multiply|divide).*: tensor<f32>$", str(pinned), re.MULTILINE)


def _operations(root: ir.Module) -> list[ir.Operation]:
    found: list[ir.Operation] = []
    for function in root.body.operations:
        found += [op.operation for op in function.regions[0].blocks[0].operations]
    return found
