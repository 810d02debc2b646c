"""Scales of arguments and results in vectors: the same numbers. How many kernels: tests/aot/test_cost_counts.py."""

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scalify_hlo import ScalifyOptions, as_scaled_array, rewrite_module, scalify
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.emit.packed_scales import FEWEST, packed, reduced
from scalify_hlo.execution import xla
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.passes.cpu_scales import CPUScales

APART = ScalifyOptions(vector_scales=False)
LAYERS = 5
SHAPES = ((8, 8), (8,)) * LAYERS


def momentum_step(dynamic: bool = False, layers: int = LAYERS) -> tuple[Any, tuple[Any, ...]]:
    """Momentum on a network, and what it is called with: four tensors of state for each layer."""
    shapes = SHAPES[:2] * layers

    def loss(w: list[jax.Array], x: jax.Array) -> jax.Array:
        for i in range(0, len(w), 2):
            x = jnp.tanh(x @ w[i] + w[i + 1])
            if dynamic:
                x = x / jnp.sqrt(jnp.mean(x**2))
        return jnp.mean(x**2)

    def step(w: list[jax.Array], m: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], list[jax.Array]]:
        m = jax.tree.map(lambda m, g: 0.75 * m + g, m, jax.grad(loss)(w, x))
        return jax.tree.map(lambda w, m: w - 0.125 * m, w, m), m

    state = [np.zeros(shape, np.float32) for shape in shapes]
    return step, (state, state, np.zeros((4, 8), np.float32))


def training_step(dynamic: bool = False, layers: int = LAYERS) -> str:
    """The same, exported."""
    step, arguments = momentum_step(dynamic, layers)
    return jax.export.export(jax.jit(step))(*arguments).mlir_module()


def run(text: str) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    arrays: list[np.ndarray] = []
    for i, shape in enumerate((*SHAPES, *SHAPES, (4, 8))):
        arrays += [generator.normal(size=shape).astype(np.float32), np.float32(2.0 ** (i % 5 - 2))]
    return interpret(text, arrays)


def test_results_are_the_same_bits() -> None:
    # On the interpreter: XLA multiplies and adds in one rounding where it fuses the two.
    text = training_step()
    together, apart = rewrite_module(text), rewrite_module(text, APART)
    assert together.count("optimization_barrier") == 1 and "optimization_barrier" not in apart
    for a, b in zip(run(together), run(apart), strict=True):
        np.testing.assert_array_equal(a, b)


def test_every_scale_of_a_result_is_one_of_a_reduction() -> None:
    rewritten = rewrite_module(training_step())
    reductions = {scale.split("#")[0] for scale in _scales_returned(rewritten)}
    assert len(reductions) == 1
    assert all(re.search(rf"{name}:{len(SHAPES) * 2} = stablehlo.reduce", rewritten) for name in reductions)


def test_more_scales_than_one_reduction_takes_leave_through_a_vector() -> None:
    """And through reductions of its elements on GPUs; on XLA:CPU from calls."""
    rewritten = rewrite_module(training_step(layers=15))
    reductions = {scale.split("#")[0] for scale in _scales_returned(rewritten)}
    assert all(re.search(rf"{name}:\d+ = stablehlo.reduce", rewritten) for name in reductions)
    assert len(reductions) == 2 and "tensor<60xf32>" in rewritten
    own = _for_cpu(rewritten)
    computed = {scale.split("#")[0] for scale in _scales_returned(own) if "cst" not in scale}
    calls = re.findall(r"(%\w+):\d+ = call @scales\w*\(", own)
    assert computed <= set(calls) and "optimization_barrier" not in own
    functions = [each.split("return")[0] for each in own.split("func.func private @scales")[1:]]
    counts = [len(re.findall("stablehlo[.](?!constant)", each)) for each in functions]
    assert len(counts) == len(calls) == -(-sum(counts) // 128) and max(counts) == 128


def _scales_returned(text: str) -> list[str]:
    return re.findall(r"(?m)^    return (.*) : ", text)[0].split(", ")[1::2]


FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=True, allow_subnormal=False)


@pytest.mark.parametrize("form", [packed, reduced])
@given(numbers=st.lists(FLOATS, min_size=FEWEST, max_size=60))
@settings(max_examples=20, deadline=None)
def test_any_numbers_pass_as_they_are(form: Any, numbers: list[float]) -> None:
    """Of either sign, infinite ones, zeros of both signs and what is no number: on the interpreter and on XLA:CPU."""
    count = len(numbers)
    arguments = ", ".join(f"%a{i}: tensor<f32>" for i in range(count))
    returned, types = ", ".join(f"%a{i}" for i in range(count)), ", ".join(["tensor<f32>"] * count)
    text = f"func.func @main({arguments}) -> ({types}) {{ return {returned} : {types} }}"
    with make_context():
        module = ir.Module.parse(text)
        block = module.body.operations[0].regions[0].blocks[0]
        end = block.operations[0]
        with ir.InsertionPoint(end), ir.Location.unknown():
            for i, value in enumerate(form(list(block.arguments))):
                end.operation.operands[i] = value
        module.operation.verify()
        changed = str(module)
    assert len(changed) > 2 * len(text)
    arrays = [np.float32(number) for number in numbers]
    for found in (interpret(changed, arrays), interpret(_for_cpu(changed), arrays), xla.compile(changed)(arrays)):
        np.testing.assert_array_equal(found, arrays)
        assert [np.signbit(x) for x, y in zip(found, arrays, strict=True) if y == y] == [
            np.signbit(y) for y in arrays if y == y
        ]


def test_few_scales_are_left_alone() -> None:
    text = """func.func @main(%a: tensor<4xf16>, %b: tensor<4xf16>) -> tensor<4xf16> {
  %0 = stablehlo.add %a, %b : tensor<4xf16>
  return %0 : tensor<4xf16>
}"""
    assert rewrite_module(text) == rewrite_module(text, APART)


def test_what_follows_from_statistics_of_data_waits_for_nothing_else() -> None:
    """A quotient by a root mean square is no scale of arguments: its arithmetic stays behind the reduction."""
    rewritten = rewrite_module(training_step(dynamic=True))
    with make_context():
        module = ir.Module.parse(rewritten)
        module.operation.verify()
    start = rewritten[: rewritten.index("optimization_barrier")]
    assert "stablehlo.reduce(" not in start and "stablehlo.dot_general" not in start


def test_a_choice_between_scales_of_arguments_is_made_in_the_vector() -> None:
    """Weights of zeros take the scale of their update: a choice for each weight, all in one kernel."""
    step = training_step()
    text = rewrite_module(step)
    assert "stablehlo.select" in text
    start, rest = text.split("optimization_barrier", 1)
    choice = r"stablehlo.select .* : tensor<i1>, tensor<f32>"
    assert len(re.findall(choice, start)) == len(SHAPES) and not re.search(choice, rest)


def _for_cpu(text: str, *, calls: bool = True) -> str:
    with make_context():
        module = ir.Module.parse(text)
        CPUScales(calls=calls).apply(module, [])
        module.operation.verify()
        return str(module)


def test_on_xla_cpu_all_scales_are_one_kernel_and_the_numbers_stay() -> None:
    """The vector has a kernel for each of its numbers there. Beside the call there are copies of what leaves twice."""
    text = rewrite_module(training_step())
    own, partitioned = _for_cpu(text), _for_cpu(text, calls=False)
    for form in (own, partitioned):
        assert "optimization_barrier" not in form and "stablehlo.concatenate" not in form
        for a, b in zip(run(text), run(form), strict=True):
            np.testing.assert_array_equal(a, b)
    assert "stablehlo.pad" not in own and "stablehlo.pad" in partitioned
    compiled = xla.compile(text)
    entry = compiled.as_text().split("\nENTRY")[1]
    assert entry.count(" call(") == 1 and not re.search(r" = f32\[\] fusion\(", entry)
    others = (training_step(), rewrite_module(training_step(), APART))
    original, apart = (xla.compile(each).cost.kernels for each in others)
    assert compiled.cost.kernels - original < (apart - original) / 3


def test_keeping_scales_above_zero_is_no_kernel_on_xla_cpu() -> None:
    """The front end's arguments may have scales of zero. It took a kernel for each of them."""
    step, arguments = momentum_step(layers=30)
    compiled = jax.jit(scalify(step)).lower(*as_scaled_array(arguments)).compile().as_text()
    entry = compiled.split("\nENTRY")[1]
    assert entry.count(" call(") > 1 and not re.search(r" = f32\[\] fusion\(", entry)


def test_what_waits_for_statistics_and_only_leaves_is_a_kernel_of_its_own_on_xla_cpu() -> None:
    text = """func.func @main(%x: tensor<4xf32>)
    -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %read = stablehlo.abs %sum : tensor<f32>
  %square = stablehlo.multiply %read, %read : tensor<f32>
  %most = stablehlo.maximum %read, %square : tensor<f32>
  %ratio = stablehlo.divide %read, %most : tensor<f32>
  %twice = stablehlo.add %ratio, %most : tensor<f32>
  %spread = stablehlo.broadcast_in_dim %read, dims = [] : (tensor<f32>) -> tensor<4xf32>
  return %square, %most, %ratio, %twice, %spread : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<4xf32>
}"""
    with make_context():
        module = ir.Module.parse(text)
        end = list(module.body.operations[0].regions[0].blocks[0].operations)[-1].operation
        with ir.InsertionPoint(end), ir.Location.unknown():
            for i, number in enumerate(reduced(list(end.operands)[:4])):
                end.operands[i] = number
        together = str(module)
    own = _for_cpu(together)
    assert (
        re.search(r"%(\w+):5 = call @leaving_scales\(%\w+\)", own) and "stablehlo.pad" not in own
    )  # and what it is given
    # Behind it are its spreading, and the vector that the call is given.
    assert re.search(r"stablehlo.abs (.*\n){2}.*reshape.*\n.*concatenate.*\n.*call @leaving", own), (
        "what data are computed with stays where it is"
    )
    x = np.array([1, -5, 2, 4.5], np.float32)
    for a, b in zip(interpret(together, [x]), interpret(own, [x]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_kernels_of_equal_layers_read_numbers_of_their_own() -> None:
    """Only arithmetic of numbers, and updates, which stand behind the last product, take elements of vectors."""
    with make_context():
        module = ir.Module.parse(rewrite_module(training_step(layers=15)))
        operations = [op.operation for op in module.body.operations[0].regions[0].blocks[0].operations]
        products = [i for i, op in enumerate(operations) if op.name == "stablehlo.dot_general"]
        reshapes = [op for op in operations if op.name == "stablehlo.reshape"]
        elements = {op.results[0] for op in reshapes if str(op.operands[0].type) == "tensor<1xf32>"}
        readers = [(i, op) for i, op in enumerate(operations) if any(x in elements for x in op.operands)]
        spread = [i for i, op in readers if str(op.results[0].type) not in ("tensor<f32>", "tensor<1xf32>")]
        assert len(elements) > 4 * 15 and spread and min(spread) > max(products)


def test_nothing_divides_by_a_scale_of_an_argument() -> None:
    """XLA would compute 1 / scale by itself, for each scale in a kernel of its own on XLA:CPU."""
    rewritten = rewrite_module(training_step())
    assert re.search(r"stablehlo.divide %\w+, %\w+ : tensor<f32>", rewritten.split("optimization_barrier")[0])
    assert not re.search(r"stablehlo.divide .* : tensor<\d", rewritten)


def test_nothing_in_a_loop_divides_by_a_scale_of_an_argument() -> None:
    """The same in each iteration: 1 / scale is computed before the loop."""

    def layers(x: jax.Array, w: list[jax.Array], count: int) -> jax.Array:
        def body(_: int, x: jax.Array) -> jax.Array:
            for each in w:
                x = jnp.tanh(x @ each) + each[0]
            return x

        return jax.lax.fori_loop(0, count, body, x)

    generator = np.random.default_rng(0)
    arguments = [generator.normal(size=(8, 8)).astype(np.float32) for _ in range(10)]
    exported = jax.export.export(jax.jit(layers))(arguments[0], arguments[1:], np.int32(3))
    rewritten = rewrite_module(exported.mlir_module())
    assert re.search(r"stablehlo.divide %\w+, %\w+ : tensor<f32>", rewritten.split("stablehlo.while")[0])
    assert not re.search(r"stablehlo.divide .* : tensor<\d", rewritten)
    scaled = [x for each in arguments for x in (each / 2, np.float32(2))]
    (data, scale) = interpret(rewritten, [*scaled, np.int32(3)])
    np.testing.assert_allclose(data * scale, layers(arguments[0], arguments[1:], 3), rtol=1e-4, atol=1e-5)


def test_numbers_of_the_program_are_kept_whatever_their_sign() -> None:
    """What follows from rank-0 arguments stands in the vector too, and on XLA:CPU in the reduction."""

    def multiples(x: jax.Array, numbers: list[np.float32]) -> list[jax.Array]:
        return [x * (number * number * number) for number in numbers]

    x = np.arange(1, 9, dtype=np.float32)
    numbers = [np.float32(-1.5 - i / 8) for i in range(10)]
    found = scalify(multiples)(*as_scaled_array((x, numbers)))
    for expected, result in zip(multiples(x, numbers), found, strict=True):
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-6)


def test_numbers_of_the_program_stay_divisors() -> None:
    """x / 3 is not x * (1 / 3), which is for scales, powers of two."""

    def quotients(x: jax.Array, numbers: list[np.float32]) -> list[jax.Array]:
        return [x / number for number in numbers]

    generator = np.random.default_rng(0)
    x = generator.normal(size=64).astype(np.float32)
    numbers = [np.float32(3 + i) for i in range(10)]
    text = jax.export.export(jax.jit(quotients))(x, numbers).mlir_module()
    rewritten = rewrite_module(text, ScalifyOptions(args="0"))
    results = interpret(rewritten, [x, np.float32(1), *numbers])[::2]
    for result, number in zip(results, numbers, strict=True):
        np.testing.assert_array_equal(result, x / number)
