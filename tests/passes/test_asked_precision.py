"""Products that ask for f32 where the program's others do not, in presets of narrow types."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

_Tree = dict[str, Any]
_RNG = np.random.default_rng(0)
_WEIGHTS = {"a": np.float32(_RNG.standard_normal((32, 64)) / 6), "b": np.float32(_RNG.standard_normal((64, 16)) / 8)}
_BATCH = np.float32(_RNG.standard_normal((48, 32))), np.float32(_RNG.standard_normal((48, 16)))


def _step(first: Any, second: Any) -> Callable[..., tuple[_Tree, jax.Array]]:
    def loss(p: _Tree, x: jax.Array, y: jax.Array) -> jax.Array:
        h = jnp.tanh(jnp.dot(x, p["a"], precision=first))
        return jnp.mean((jnp.dot(h, p["b"], precision=second) - y) ** 2)

    def step(p: _Tree, x: jax.Array, y: jax.Array) -> tuple[_Tree, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(p, x, y)
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, gradients), value

    return step


def _products(first: Any, second: Any, preset: str) -> tuple[list[str], str]:
    """Types of the first operand of each product, and the text."""
    scaled = sc.scalify(_step(first, second), precision=preset)
    text = str(scaled.lower(sc.as_scaled_array(_WEIGHTS), *_BATCH).as_text())
    return re.findall(r"dot_general.* : \(tensor<[0-9x]*x(\w+)>, tensor<", text), text


@pytest.mark.parametrize("precision", ["highest", "F32_F32_F32", "BF16_BF16_F32_X3"])
@pytest.mark.parametrize("preset", ["fp16", "fp8"])
def test_products_that_ask_for_it_are_in_f32(precision: str, preset: str) -> None:
    """The second layer's product and its two gradients; the first layer has two products."""
    types, _ = _products(None, precision, preset)
    assert types.count("f32") == 3
    assert len(types) == 5


@pytest.mark.parametrize("precision", ["highest", "F32_F32_F32", "BF16_BF16_F32_X3"])
def test_what_all_ask_for_is_a_setting(precision: str) -> None:
    types, _ = _products(precision, precision, "fp16")
    assert types == ["f16"] * 5


@pytest.mark.parametrize("precision", [None, "highest", "F32_F32_F32", "BF16_BF16_F32_X3"])
def test_a_setting_keeps_no_product_from_fp8(precision: Any) -> None:
    def step(w: list[jax.Array], x: jax.Array) -> list[jax.Array]:
        def loss(w: list[jax.Array]) -> jax.Array:
            y = x
            for each in w:
                y = jnp.tanh(jnp.dot(y, each, precision=precision))
            return jnp.mean(y**2)

        return jax.tree.map(lambda w, g: w - 0.1 * g, w, jax.grad(loss)(w))

    w = [np.float32(_RNG.standard_normal((64, 64)) / 8) for _ in range(3)]
    text = sc.scalify(step, precision="fp8").lower(*sc.as_scaled_array((w, w[0]))).as_text()
    assert len(re.findall(r"dot_general.*xf8", str(text))) == 3  # of the middle layer


def test_an_algorithm_of_f32_operands_does_not_stay_on_others() -> None:
    """XLA refuses f16 operands of an algorithm that is for f32 or bf16 ones."""
    types, text = _products(None, "BF16_BF16_F32", "fp16")
    assert types == ["f16"] * 5
    assert "algorithm" not in text
    types, text = _products("BF16_BF16_F32", "BF16_BF16_F32", "fp8")
    assert types == ["f16"] * 5  # who names bf16 does not mean FP8


def _inverse_root(a: jax.Array, precision: Any) -> jax.Array:
    """A^-1/4 by coupled Newton iterations."""
    n = a.shape[0]
    z = 5 / (2 * jnp.linalg.norm(a))

    def iterate(_: Any, carried: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        m, x = carried
        q = (5 * jnp.eye(n) - m) / 4
        q2 = jnp.dot(q, q, precision=precision)
        return (
            jnp.dot(jnp.dot(q2, q2, precision=precision), m, precision=precision),
            jnp.dot(x, q, precision=precision),
        )

    return jax.lax.fori_loop(0, 25, iterate, (a * z, jnp.eye(n) * z**0.25))[1]


def test_what_a_loop_carries_between_them() -> None:
    """In f16 the smallest eigenvalues, 2^-16 of the largest, are lost."""
    basis = np.linalg.qr(_RNG.standard_normal((16, 16)))[0]
    values = np.float64(2) ** -np.linspace(0, 16, 16)
    matrix, weights = np.float32(basis * values @ basis.T), np.float32(_RNG.standard_normal((16, 16)))
    root = basis * values**-0.25 @ basis.T

    def function(a: jax.Array, w: jax.Array, precision: Any) -> tuple[jax.Array, jax.Array]:
        return _inverse_root(a, precision), jnp.tanh(w @ w)

    def error(precision: Any) -> float:
        scaled = sc.scalify(lambda a, w: function(a, w, precision), precision="fp16")
        found = np.asarray(scaled(*sc.as_scaled_array((matrix, weights)))[0], np.float64)
        return float(np.abs(found @ np.linalg.inv(root) - np.eye(16)).max())

    assert error("highest") < 1e-4
    assert not error(None) < 0.05
