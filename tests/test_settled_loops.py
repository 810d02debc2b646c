"""Values that enter a loop as zeros have, from there on, the scale that the loop leaves them at: it carries none."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.inputs import Split, recombine, split_by_exponent
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from tests.support import Rewritten, same_bits

RNG = np.random.default_rng(0)


def _normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def _lstm(weights: Any, x: Any) -> Any:
    """Gated states of different sizes, one in the other."""

    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x + h @ weights, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros_like(x[0, :, : weights.shape[0]])
    return jax.lax.scan(step, (zeros, zeros), x)[1]


def _lstm_gradient(weights: Any, x: Any) -> Any:
    """Back through time: stacks of what the way there saved, the sum of the weights' gradients."""
    return jax.grad(lambda w: jnp.sum(_lstm(w, x) ** 2))(weights)


def _microbatches(weights: Any, x: Any) -> Any:
    """The gradient of a layer, summed over the parts of a batch."""

    def part(total: Any, x: Any) -> Any:
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x[:, :4] @ w) ** 2))(weights)
        return total + gradient, loss

    return jax.lax.scan(part, jnp.zeros_like(weights), x)


def _moving_average(weights: Any, x: Any) -> Any:
    """An average that starts from zeros, and every value that it had."""

    def step(mean: Any, x: Any) -> Any:
        mean = 0.875 * mean + 0.125 * x
        return mean, mean

    return jax.lax.scan(step, jnp.zeros_like(x[0]), x), weights


def _solved(weights: Any, x: Any) -> Any:
    """Steps of a solver, from a value of its own size: the slope is of size 1, and so is its correction."""

    def step(_: Any, carried: Any) -> Any:
        y, error = carried
        slope = jnp.tanh(y[:, :4] @ weights)
        return y + 0.125 * slope, jnp.maximum(error, jnp.abs(slope - y))

    return jax.lax.fori_loop(0, 5, step, (x[0], jnp.abs(x[1])))


PROGRAMS = (_lstm, _lstm_gradient, _microbatches, _moving_average)


def module(text: str) -> ir.Module:
    with make_context():
        return ir.Module.parse(text)


def text_of(function: Callable[..., Any]) -> str:
    return str(jax.export.export(jax.jit(function))(_normal(4, 16), _normal(6, 3, 16)).mlir_module())


def scales_in_loops(text: str) -> list[str]:
    """Operations on single f32 numbers in the bodies of loops, and what carries scales."""
    found: list[str] = []

    def look(op: ir.Operation, inside: bool) -> None:
        carried = op.attributes.get("scalify.carried", None)
        if carried is not None:
            found.append(f"{op.name} {carried}")
        single = len(op.results) == 1 and str(op.results[0].type) == "tensor<f32>"
        if inside and single and op.name != "stablehlo.constant" and any("f32" in str(v.type) for v in op.operands):
            found.append(str(op))
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    look(inner.operation, inside or op.name == "stablehlo.while")

    look(module(text).operation, False)
    return found


@pytest.mark.parametrize(
    ("function", "precision"),
    [(function, precision) for function in PROGRAMS for precision in (None, "fp16", "fp8")
     if (function, precision) != (_lstm_gradient, "fp8")] + [(_solved, None)],
)  # fmt: skip
def test_no_iteration_computes_a_scale(function: Callable[..., Any], precision: str | None) -> None:
    """But in FP8 on the way back through time, where the gradient is measured in each iteration."""
    program = module(text_of(function))
    precision_pipeline(precision).run(program, [])
    losses = function is _microbatches  # computes numbers of rank 0 itself
    assert [each for each in scales_in_loops(str(program)) if not losses or "carried" in each] == []


@pytest.mark.parametrize("function", [*PROGRAMS, _solved])
@pytest.mark.parametrize("exponents", [(0, 0), (-6, 9), (12, -14)])
def test_the_bits_are_those_of_the_original(function: Callable[..., Any], exponents: tuple[int, int]) -> None:
    text = text_of(function)
    values = [_normal(4, 16), _normal(6, 3, 16)]
    splits = [split_by_exponent(value, k) for value, k in zip(values, exponents, strict=True)]
    for pair, want in zip(Rewritten.of(text).run(splits), interpret(text, values), strict=True):
        assert same_bits(recombine(pair.data, pair.scale).astype(np.float32), want).all()


def test_a_state_of_zeros_that_an_iteration_doubles_is_followed() -> None:
    """2 s + t has no scale that it settles at: it stays carried, or held at the first term's."""
    text = str(
        jax.jit(lambda x: jax.lax.fori_loop(0, 40, lambda _, y: 2 * y + x, jnp.zeros_like(x)))
        .lower(_normal(8)).compiler_ir("stablehlo")
    )  # fmt: skip
    x = _normal(8)
    (got,) = Rewritten.of(text).run([Split(x, np.float32(2.0**-3))])
    want = interpret(text, [x * np.float32(2.0**-3)])[0]
    assert same_bits(recombine(got.data, got.scale).astype(np.float32), want).all()


def test_slices_are_written_at_one_scale_and_the_stack_has_one_number() -> None:
    text = Rewritten.of(text_of(_lstm)).text
    assert not re.search(r"tensor<6x1x1xf32>", text)


@pytest.mark.parametrize("exponent", [-3, 3])
def test_a_state_below_a_bound_has_the_size_that_it_settles_at(exponent: int) -> None:
    """h <- tanh(x + h W) is as small as x where W is, and at the bound of tanh where W multiplies it up to that."""

    def recurrence(weights: Any, x: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = jnp.tanh(x + h @ weights)
            return h, h

        return jax.lax.scan(step, jnp.zeros_like(x[0]), x)[1]

    weights, x = np.float16(_normal(4, 4)), np.float16(_normal(12, 3, 4))
    text = str(jax.export.export(jax.jit(recurrence))(weights, x).mlir_module())
    splits = [Split(weights, np.float32(2.0**exponent)), Split(x, np.float32(2.0**-9))]
    (stack,) = Rewritten.of(text).run(splits)
    value = recombine(stack.data, stack.scale)
    size = float(np.sqrt(np.mean(np.square(stack.data[-1], dtype=np.float64))))
    assert 2.0**-4 < size < 2.0**4
    want = np.zeros((3, 4))
    for i in range(12):
        want = np.tanh(x[i].astype(np.float64) * 2.0**-9 + want @ weights.astype(np.float64) * 2.0**exponent)
        assert np.abs(value[i] - want).max() <= 2.0**-6 * max(np.abs(want).max(), 2.0**-9)


def _in_nested_loops(write: Callable[..., Any]) -> Callable[[Any], Any]:
    def filled(x: Any) -> Any:
        def row(i: Any, buffer: Any) -> Any:
            return jax.lax.fori_loop(0, 6, lambda j, b: write(b, i, j, jnp.sin(x[i]) * x[j]), buffer)

        return jax.lax.fori_loop(0, 6, row, jnp.zeros((6, 6)))

    return filled


WRITES = {
    "slices": lambda b, i, j, v: jax.lax.dynamic_update_slice(b, v.reshape(1, 1), (i, j)),
    "elements": lambda b, i, j, v: b.at[i, j].set(v),
    "two elements": lambda b, i, j, v: b.at[i, j].set(v).at[j, i].set(-v),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_written_into_a_buffer_is_brought_to_its_scale(name: str) -> None:
    """In each iteration of nested loops: as many operations as there are elements written, not as the buffer has."""
    text = str(jax.export.export(jax.jit(_in_nested_loops(WRITES[name])))(_normal(6)).mlir_module())
    rewritten = Rewritten.of(text)
    assert not re.search(r"stablehlo\.(multiply|divide) .*tensor<6x6xf32>", rewritten.text)
    x = _normal(6)
    for scale in (2.0**-9, 2.0**9):
        (got,) = rewritten.run([Split(x, np.float32(scale))])
        (want,) = interpret(text, [x * np.float32(scale)])
        np.testing.assert_allclose(recombine(got.data, got.scale), want, rtol=1e-6)
