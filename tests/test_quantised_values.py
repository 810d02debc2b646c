"""What a program casts to a narrow type itself fits it as a value, where its size follows from nothing."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

RNG = np.random.default_rng(0)
X = np.float32(RNG.standard_normal((32, 64)))
W = np.float32(RNG.standard_normal((64, 32)) / 8)
F8 = jnp.float8_e4m3fn


def power_of_two(largest: Any, down: int) -> Any:
    return jnp.exp2(jnp.floor(jnp.log2(largest)) - down)


def tensors_in_f8(x: Any, w: Any) -> Any:
    a, b = (power_of_two(jnp.max(jnp.abs(v)), 7) for v in (x, w))
    product = jnp.dot((x / a).astype(F8), (w / b).astype(F8), preferred_element_type=jnp.float32)
    return product * (a * b)


def blocks_in_f8(x: Any, w: Any) -> Any:
    def quantised(v: Any) -> Any:
        blocks = v.reshape(v.shape[0], -1, 32)
        scale = power_of_two(jnp.max(jnp.abs(blocks), -1, keepdims=True), 7)
        return (jnp.clip(blocks / scale, -448, 448).astype(F8).astype(jnp.float32) * scale).reshape(v.shape)

    return quantised(x) @ quantised(w.T).T


def by_ldexp(x: Any, w: Any) -> Any:
    scale = jnp.ldexp(jnp.float32(1), jnp.frexp(jnp.max(jnp.abs(w)))[1] - 8)
    return jnp.dot((x * 8).astype(F8), (w / scale).astype(F8), preferred_element_type=jnp.float32) * scale


def tensors_in_f16(x: Any, w: Any) -> Any:
    scale = power_of_two(jnp.max(jnp.abs(w)), 14)
    return jnp.dot(x.astype(np.float16), (w / scale).astype(np.float16), preferred_element_type=jnp.float32) * scale


def returned(x: Any, w: Any) -> Any:
    del x
    return (w / power_of_two(jnp.max(jnp.abs(w)), 7)).astype(F8)


@pytest.mark.parametrize("precision", [None, "f32", "fp16", "fp8"])
@pytest.mark.parametrize("function", [tensors_in_f8, blocks_in_f8, by_ldexp, tensors_in_f16, returned])
def test_quantisation_by_the_program(function: Callable[[Any, Any], Any], precision: str | None) -> None:
    want = np.asarray(jax.jit(function)(X, W), np.float32)
    got = sc.asarray(sc.scalify(function, precision=precision)(*sc.as_scaled_array((X, W))), np.float32)
    assert np.linalg.norm(got - want) < (1e-3 if precision in (None, "f32") else 0.03) * np.linalg.norm(want)


@pytest.mark.parametrize("precision", [None, "bf16", "fp16"])
@pytest.mark.parametrize("given", ["integer", "number"])
def test_a_loss_scale_that_is_a_plain_number(given: str, precision: str | None) -> None:
    """The cotangents of an f16 program hold what the loss scale makes of them."""

    def step(w: Any, x: Any, s: Any) -> Any:
        scale = jnp.exp2(s.astype(jnp.float32)) if given == "integer" else s

        def loss(w: Any) -> Any:
            y = jnp.tanh(x.astype(np.float16) @ w.astype(np.float16)).astype(jnp.float32)
            return 1e-6 * jnp.mean(y**2) * scale

        gradient = jax.grad(loss)(w) / scale
        return w - 0.1 * gradient, gradient

    s = np.int32(22) if given == "integer" else np.float32(2.0**22)
    _, want = jax.jit(step)(W, X, s)
    _, got = sc.scalify(step, precision=precision)(sc.as_scaled_array(W), sc.as_scaled_array(X), s)
    assert np.linalg.norm(sc.asarray(got, np.float32) - want) < 0.02 * np.linalg.norm(want)


@pytest.mark.parametrize("number", [2.0**-13, 2.0**20])
def test_a_plain_number_beside_scaled_state(number: float) -> None:
    """A weight of the loss is of any size."""

    def step(w: Any, x: Any, weight: Any) -> Any:
        gradient = jax.grad(lambda w: weight * jnp.mean(jnp.tanh(jnp.tanh(x @ w) @ w.T) ** 2))(w)
        return w - 0.1 / weight * gradient, gradient

    _, want = jax.jit(step)(W, X, np.float32(number))
    narrow = sc.scalify(step, precision="fp16")
    _, got = narrow(sc.as_scaled_array(W), sc.as_scaled_array(X), np.float32(number))
    assert np.linalg.norm(sc.asarray(got, np.float32) - want) < 0.02 * np.linalg.norm(want)


def test_no_mark_is_left_on_a_cast_without_a_scale() -> None:
    def table(x: Any, n: Any) -> Any:
        return x * 2, (jnp.arange(4.0) * jnp.exp2(n.astype(jnp.float32))).astype(np.float16)

    text = sc.rewrite_module(jax.jit(table).lower(jnp.ones(4), jnp.int32(3)).as_text())
    assert "stablehlo.convert" in text and "scalify.of_value" not in text
