"""Weights that a loop does not change are rounded to FP8 before it."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.inlining import inline_calls
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.passes import fp8_dots
from scalify_hlo.passes.fp8_dots import FP8Dots

RNG = np.random.default_rng(0)


def _recurrent(w: Any, x: Any) -> Any:
    """A layer of a sequence, in a loop over its tokens."""

    def step(h: Any, x: Any) -> Any:
        h = jnp.tanh(x + h @ w)
        return h, h

    return jax.lax.scan(step, jnp.zeros_like(x[0]), x)[1]


def _solver(w: Any, x: Any) -> Any:
    """Stages of a solver within steps: two loops, and the same matrix both ways round."""

    def slope(y: Any) -> Any:
        return jnp.tanh(y @ w) @ w.T

    def step(_: Any, y: Any) -> Any:
        return y + 0.125 * jax.lax.fori_loop(0, 2, lambda _, k: slope(y + 0.5 * k), y)

    return jax.lax.fori_loop(0, 3, step, x[0])


def _decoder(w: Any, x: Any) -> Any:
    """Each token is chosen from what the last one leads to, until one says that it is the last."""

    def again(carried: Any) -> Any:
        return jnp.logical_and(carried[0] < 4, carried[1].max() < 100)

    def step(carried: Any) -> Any:
        i, h = carried
        return i + 1, jax.nn.relu(h @ w) + x[i]

    return jax.lax.while_loop(again, step, (0, x[0]))


def _trained(w: Any, x: Any) -> Any:
    """Updates of the matrix itself: it changes in each iteration, and is rounded in each."""

    def step(w: Any, x: Any) -> Any:
        return w - 0.125 * jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w), None

    return jax.lax.scan(step, w, x)[0]


def _converted(function: Callable[..., Any]) -> tuple[str, ir.Module]:
    arrays = np.zeros((16, 16), np.float16), np.zeros((5, 32, 16), np.float16)
    module = ir.Module.parse(jax.export.export(jax.jit(function))(*arrays).mlir_module(), context=make_context())
    with module.context:
        inline_calls(module)
    FP8Dots(head=True).apply(module, [])
    assert module.operation.verify()
    return str(module), module


def _rounded_in_loops(module: ir.Module) -> int:
    """Conversions of matrices of the weight's shape to FP8 within loops."""
    return sum(
        op.name == "stablehlo.convert" and "16x16xf8" in str(op.results[0].type)
        for loop in walk(module.operation)
        if loop.name == "stablehlo.while"
        for op in walk(loop)
    )


@pytest.mark.parametrize("function", [_recurrent, _solver, _decoder])
def test_a_weight_is_rounded_before_the_loop(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    text, module = _converted(function)
    assert _rounded_in_loops(module) == 0
    monkeypatch.setattr(fp8_dots, "hoist_operands", lambda _: 0)
    inside, before = _converted(function)
    assert _rounded_in_loops(before) > 0
    arrays = [RNG.standard_normal((16, 16)).astype(np.float16), RNG.standard_normal((5, 32, 16)).astype(np.float16)]
    for got, want in zip(interpret(text, arrays), interpret(inside, arrays), strict=True):
        np.testing.assert_array_equal(got, want)


def test_what_a_loop_changes_is_rounded_in_it() -> None:
    assert _rounded_in_loops(_converted(_trained)[1]) > 0
