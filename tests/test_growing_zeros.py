"""State in f16 that starts as zeros has room to grow: a warm-up makes updates of thousands of times the first."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

RNG = np.random.default_rng(0)
X = np.float32(RNG.standard_normal((64, 16)))
Y = np.float32(X @ RNG.standard_normal((16, 4)) + 1)
# The rate grows to 2^-3 from a 2,000th of it.
RATES = [2.0 ** min(-3, i - 14) for i in range(60)]
HALF = jnp.float16


def _stored(state: Any) -> Any:
    return jax.tree.map(lambda v: v.astype(HALF), state)


def _wide(state: Any) -> Any:
    return jax.tree.map(lambda v: v.astype(jnp.float32), state)


def regression(state: Any, x: Any, y: Any, rate: Any) -> Any:
    """Gradient descent on a matrix and a bias."""
    wide = _wide(state)
    gradients = jax.grad(lambda w: jnp.mean((x @ w["w"] + w["b"] - y) ** 2))(wide)
    return _stored(jax.tree.map(lambda w, g: w - rate * g, wide, gradients))


def low_rank(state: Any, x: Any, y: Any, rate: Any) -> Any:
    """Beside a matrix that stays, two of low rank (LoRA), the second of zeros; with momentum."""
    wide = _wide(state)

    def loss(w: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ w["a"]) @ w["w"] - y) ** 2)

    gradients = jax.grad(loss)(wide["p"])
    momentum = jax.tree.map(lambda m, g: 0.5 * m + g, wide["m"], gradients)
    return _stored({"p": jax.tree.map(lambda w, m: w - 0.5 * rate * m, wide["p"], momentum), "m": momentum})


def classes(state: Any, x: Any, y: Any, rate: Any) -> Any:
    """Offsets of scores under a softmax, in f16 throughout but for the loss."""
    target = jax.nn.softmax(y)

    def loss(w: Any) -> Any:
        scores = (x.astype(HALF) @ w["w"] + w["b"]).astype(jnp.float32)
        return -jnp.mean(jnp.sum(target * jax.nn.log_softmax(scores), -1))

    gradients = jax.grad(loss)(state)
    return jax.tree.map(lambda w, g: w - rate.astype(HALF) * g, state, gradients)


ZEROS = {"w": np.zeros((16, 4)), "b": np.zeros(4)}
LOW = {"a": RNG.standard_normal((16, 8)) / 4, "w": np.zeros((8, 4))}
PROGRAMS: dict[str, tuple[Callable[..., Any], Any]] = {
    "regression": (regression, ZEROS),
    "low rank": (low_rank, {"p": LOW, "m": jax.tree.map(np.zeros_like, LOW)}),
    "classes": (classes, ZEROS),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_weights_are_those_without_scales(name: str) -> None:
    """These values fit f16 themselves; at the scale of the first update they did not."""
    step, first = PROGRAMS[name]
    plain: Any = jax.tree.map(np.float16, first)
    state = sc.as_scaled_array(plain)
    scaled, unscaled, x, y = sc.scalify(step), jax.jit(step), sc.as_scaled_array(X), sc.as_scaled_array(Y)
    for rate in map(np.float32, RATES):
        state = scaled(state, x, y, sc.as_scaled_array(rate))
        plain = unscaled(plain, X, Y, rate)
    for got, want in zip(sc.tree.leaves(state), jax.tree.leaves(plain), strict=True):
        want = np.asarray(want, np.float32)
        np.testing.assert_allclose(np.asarray(got, np.float32), want, atol=0.02 * np.abs(want).max() + 1e-6)
