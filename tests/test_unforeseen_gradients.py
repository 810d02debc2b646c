"""Gradients far from what is foreseen: that of the logits is measured in every preset of 16 bits and less.

How large a gradient is follows from the sizes that values are foreseen to have, and what a model learns may make them
others: gates that are closed, residuals of a large offset. From the logits on the way back leads through linear
operations mostly, so one measurement there is what they all need.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo.precision import PRESETS, PrecisionPolicy, Preset

Loss = Callable[..., Any]
ROUNDED: Any = {"xla_allow_excess_precision": False}


def _array(seed: int, *shape: int) -> Any:
    return np.float32(np.random.default_rng(seed).normal(size=shape) / np.sqrt(shape[0]))


X = np.float32(np.random.default_rng(5).normal(size=(64, 20)))
Y = np.tanh(X[:, :16])
MODEL = {"a": _array(0, 20, 48), "b": _array(1, 48, 48), "o": _array(2, 48, 16)}
GATES = {name: _array(i, 20, 16) for i, name in enumerate(("c", "g", "h"), 3)}
CUBE = {**MODEL, "t": np.float32(np.random.default_rng(9).normal(size=(8, 8, 8)))}


def _model(p: Any, x: Any) -> Any:
    return jnp.tanh(jnp.tanh(x @ p["a"]) @ p["b"]) @ p["o"]


def _closed_gates(p: Any, x: Any, y: Any) -> Any:
    del y
    gate = jax.nn.sigmoid(x @ p["g"] - 6) * jax.nn.sigmoid(x @ p["h"] - 6) * jax.nn.sigmoid(x @ p["g"] - 8)
    return -jnp.mean(jax.nn.log_softmax(x @ p["c"] + gate * _model(p, x))[:, 0])


def _large_offset(p: Any, x: Any, y: Any) -> Any:
    value = _model(p, x)
    return jnp.mean((1e4 + value - (1e4 + jax.lax.stop_gradient(value) + 1e-2 * y)) ** 2)


def _targets_of_the_program(p: Any, x: Any, y: Any) -> Any:
    del y
    h = jnp.tanh(x @ p["a"])
    u = h[:, :8]
    cubes = jnp.mean((jnp.einsum("bi,bj,bk,ijk->b", u, u, u, p["t"]) ** 3 - Y[:, 0]) ** 2)
    return cubes + 1e-3 * jnp.mean((jnp.tanh(h @ p["b"]) @ p["o"]) ** 2)


@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
@pytest.mark.parametrize(
    ("loss", "p", "bound"),
    [
        # Of what is left f16's last digits: the gradient behind the gates is 2^-26.
        pytest.param(_closed_gates, MODEL | GATES, 0.1, id="closed gates"),
        pytest.param(_large_offset, MODEL, 0.01, id="large offset"),
        pytest.param(_targets_of_the_program, CUBE, 0.01, id="targets of the program"),
    ],
)
def test_gradients_are_as_near_as_f16_is(loss: Loss, p: Any, bound: float, precision: Preset) -> None:
    def step(state: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(state["p"], x, y)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["m"], gradients)
        return {"p": jax.tree.map(lambda w, m: w - 1e-9 * m, state["p"], momentum), "m": momentum}, value

    state = {"p": p, "m": jax.tree.map(np.zeros_like, p)}
    exact = jax.jit(step)(state, X, Y)[0]["m"]

    def error(chosen: PrecisionPolicy) -> float:
        scaled = scalify_hlo.scalify(step, precision=chosen)
        given, *batch = scalify_hlo.as_scaled_array((state, X, Y))
        given, *_ = scaled.stored(given, *batch)
        new, _ = jax.jit(scaled, compiler_options=ROUNDED)(given, *batch)
        got = scalify_hlo.asarray(new["m"], np.float32)
        return max(float(np.linalg.norm(got[k] - exact[k]) / np.linalg.norm(exact[k])) for k in p)

    preset = PRESETS[precision]
    assert error(preset) < bound < error(dataclasses.replace(preset, rescaling=()))
