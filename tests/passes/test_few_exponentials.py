"""Exponentials of a few numbers that tensors are multiplied by are measured: `rescaling=numbers`."""

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo import budget
from scalify_hlo.analysis.calls import CallGraph
from scalify_hlo.analysis.few_exponentials import few_exponentials, unbounded_exponentials
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes import auto_rescale
from scalify_hlo.precision import PRESETS, PrecisionPolicy, Preset

Array = jax.Array
ROUNDED: Any = {"xla_allow_excess_precision": False}


def _count(function: Callable[..., Any], *arguments: Any) -> int:
    text = jax.export.export(jax.jit(function))(*arguments).mlir_module()
    with make_context():
        module = ir.Module.parse(text)
        calls = CallGraph(module)
        return len(list(few_exponentials(calls, unbounded_exponentials(calls, "f16"))))


def _exponential_alone(n: Array, x: Array) -> tuple[Array, Array]:
    return jnp.exp(n), x


def _of_many(n: Array, x: Array) -> Array:
    return n[:, None] * jnp.exp(x)


def _in_a_loop(n: Array, x: Array) -> Array:
    """A step whose length is learned."""

    def step(x: Array, _: Any) -> tuple[Array, None]:
        return x - jnp.exp(n[0]) * jnp.roll(x, 1), None

    return jax.lax.scan(step, x, None, length=4)[0]


_CASES: list[tuple[Callable[[Array, Array], Any], int]] = [
    (lambda n, x: jnp.exp(n[0]) * x, 1),
    (lambda n, x: x / jnp.exp(n)[:, None], 1),
    (_exponential_alone, 0),  # of nothing larger
    (lambda n, x: jnp.exp(-(n[0] ** 2)) * x, 0),  # 1 at most
    (lambda n, x: jax.nn.softmax(n)[:, None] * x, 0),
    (lambda n, x: jax.nn.sigmoid(n[0]) * x, 0),
    (_of_many, 0),
    (_in_a_loop, 1),
    (lambda n, x: x * (-2 * jnp.exp(n[0]) * n[1]), 1),  # a multiple of it
]


@pytest.mark.parametrize(("function", "count"), _CASES)
def test_those_without_a_bound_that_are_spread(function: Callable[[Array, Array], Array], count: int) -> None:
    assert _count(function, np.ones(4, np.float32), np.ones((4, 32), np.float32)) == count


def _penalty(p: Array, w: Array, x: Array) -> Array:
    return jnp.mean((jnp.exp(3 * p)[:, None, None] * jnp.tanh(x @ w)) ** 2)


def _products(p: Array, w: Array, x: Array) -> Array:
    for i in range(3):
        x = jnp.exp(p[i]) * (x @ w)
    return jnp.mean(x)


def _temperatures(p: Array, w: Array, x: Array) -> Array:
    return jnp.mean((jnp.exp(3 * p[0]) * (x @ w)) ** 2)


@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
@pytest.mark.parametrize("loss", [_penalty, _products, _temperatures])
def test_gradients_behind_learned_numbers_are_as_near_as_f16_is(
    loss: Callable[[Array, Array, Array], Array], precision: Preset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """e^-7 is 2^-10 of what nothing is known of, and its cube 2^-30."""
    generator = np.random.default_rng(0)
    w, x = np.eye(16, dtype=np.float32) / 8, generator.normal(size=(8, 16)).astype(np.float32)
    p = np.full(3, -7, np.float32)

    def step(*arguments: Array) -> Any:
        return cast("Any", jax.grad(loss, (0, 1)))(*arguments)

    exact = cast("list[Array]", jax.jit(step)(p, w, x))

    def error(chosen: PrecisionPolicy) -> float:
        compiled = jax.jit(scalify_hlo.scalify(step, precision=chosen), compiler_options=ROUNDED)
        got = cast("list[Array]", scalify_hlo.asarray(compiled(*map(scalify_hlo.as_scaled_array, (p, w, x)))))
        pairs = [(np.asarray(a, np.float64), np.asarray(b, np.float64)) for a, b in zip(got, exact, strict=True)]
        return max(float(np.linalg.norm(a - b) / np.linalg.norm(b)) for a, b in pairs)

    preset = PRESETS[precision]
    assert error(preset) < 0.01
    monkeypatch.setattr(budget, "FEW_NUMBERS", 0)
    monkeypatch.setattr(auto_rescale, "contracted_exponentials", lambda *_: [])
    assert error(dataclasses.replace(preset, rescaling=())) > 0.5
