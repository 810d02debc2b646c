"""Numbers near the end of f32 that stand for infinity, as `jnp.nan_to_num` has them, say nothing of a tensor's size."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc


def _own() -> jax.Array:
    """1, 0.37, 0.14: what a program computes of constants alone."""
    return jnp.exp(-jnp.arange(3.0))


_TABLES: dict[str, Callable[[], jax.Array]] = {
    "select": lambda: jnp.where(_own() < -5, -3.4e38, _own()),
    "smaller": lambda: jnp.where(_own() < -5, -1e38, _own()),
    "nan_to_num": lambda: jnp.nan_to_num(_own(), posinf=jnp.inf),
    "maximum": lambda: jnp.maximum(_own(), -3.4e38),
    "concatenate": lambda: jnp.concatenate([_own(), jnp.full(2, -3.4e38)])[:3],
}


@pytest.mark.parametrize("element", [np.float32, np.float16])
@pytest.mark.parametrize("name", _TABLES)
def test_values_beside_them_keep_their_digits(name: str, element: type) -> None:
    p = element([0.1, -0.2, 3.0])
    for function in (lambda p: _TABLES[name]().astype(p.dtype) * p, lambda p: _TABLES[name]()[:, None] @ p[None]):
        found = sc.asarray(sc.scalify(function)(sc.as_scaled_array(p)), np.float32)
        np.testing.assert_allclose(found, np.float32(function(p)), rtol=1e-7 if element == np.float32 else 2e-3)


@pytest.mark.parametrize("precision", ["fp16", "fp8", "fp8-fp16-state"])
@pytest.mark.parametrize("size", [1e-5, 1.0, 1e3])
def test_inputs_without_missing_numbers_are_of_their_own_size(size: float, precision: Any) -> None:
    rng = np.random.default_rng(0)
    w = np.float32(rng.standard_normal((8, 16)) / size)
    x = np.float32(rng.standard_normal((4, 8)) * size)

    def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        loss = lambda w: jnp.mean((jnp.tanh(jnp.nan_to_num(x) @ w) * 3) ** 2)  # noqa: E731
        value, gradient = jax.value_and_grad(loss)(w)
        return gradient, value

    wanted, value = step(w, x)
    gradient, found = sc.scalify(step, precision=precision)(*sc.as_scaled_array((w, x)))
    assert abs(float(np.asarray(found)) / float(value) - 1) < 2e-3
    assert np.linalg.norm(np.asarray(gradient) - wanted) < 2e-3 * np.linalg.norm(wanted)
