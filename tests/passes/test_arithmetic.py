"""Operations on elements between tensors in memory are computed in f32."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

# Data so far above the unit size that rules expect: activations are 2^8 above it, and their squares beyond f16.
_FAR = 2.0**4


def _step(parameters: dict[str, Any], x: jax.Array) -> tuple[dict[str, Any], jax.Array, dict[str, Any]]:
    def loss(p: dict[str, Any]) -> jax.Array:
        return jnp.mean(jax.nn.gelu(x @ p["w"]) @ p["v"])

    value, gradients = jax.value_and_grad(loss)(parameters)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, parameters, gradients), value, gradients


def _far(value: np.ndarray[Any, np.dtype[np.float32]], factor: float) -> sc.ScaledArray:
    return sc.ScaledArray(value * np.float32(factor), np.float32(1 / factor))


@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 0.02), ("fp16-state", 0.02)])
def test_powers_of_what_is_larger_than_expected_stay_in_range(precision: str, tolerance: float) -> None:
    random = np.random.default_rng(0)
    w = random.standard_normal((64, 64)).astype(np.float32)
    v = random.standard_normal((64, 32)).astype(np.float32)
    x = random.standard_normal((128, 64)).astype(np.float32)
    _, value, gradients = _step({"w": w, "v": v}, x)

    step = jax.jit(sc.scalify(_step, precision=precision))
    dtype = np.float16 if precision == "fp16-state" else np.float32
    state = {"w": _far(w, _FAR).astype(dtype), "v": _far(v, 1.0).astype(dtype)}
    _, narrow_value, narrow = sc.asarray(step(state, _far(x, _FAR)), np.float32)

    assert abs(narrow_value - value) <= tolerance * abs(value)
    for name, gradient in gradients.items():
        np.testing.assert_allclose(narrow[name], gradient, atol=tolerance * float(np.abs(gradient).max()))


def test_the_largest_of_what_is_not_rounded_is_among_it() -> None:
    """The gradient of a maximum goes to the elements that are equal to it: of rounded ones, to none."""

    def gradient(w: jax.Array, x: jax.Array) -> jax.Array:
        return jax.grad(lambda w: jnp.sum(jnp.max(jnp.tanh(x @ w), 0) ** 2))(w)

    random = np.random.default_rng(0)
    w, x = random.standard_normal((2, 32, 32)).astype(np.float32) / 6
    wanted = gradient(w, x)
    found = np.asarray(sc.scalify(gradient, precision="fp16")(*sc.as_scaled_array((w, x))), np.float32)
    assert np.linalg.norm(found - wanted) < 0.01 * np.linalg.norm(wanted)
