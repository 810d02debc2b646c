"""What is chosen from a tensor by its size is an element of it: x >= max(x) holds somewhere, in a narrow program too.

Elements are compared as memory has them, in f32 where that is given. What is chosen must not have been rounded before.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc


def _top(x: jax.Array, count: int) -> jax.Array:
    return jax.lax.top_k(x, count)[0][:, -1:]


_CHOICES: dict[str, Callable[[jax.Array], Any]] = {
    "largest": lambda x: jnp.sum(x >= jnp.max(x)),
    "of columns": lambda x: jnp.sum(x == jnp.max(x, 0), 0),
    "by place": lambda x: jnp.ravel(x)[jnp.argmax(x)] == jnp.max(x),
    "sorted": lambda x: jnp.sum(jnp.sort(x, 0)[-1] == jnp.max(x, 0)),
    "by rank": lambda x: jnp.sum(x < jnp.sort(jnp.ravel(x))[3]),
    "top_k": lambda x: jnp.sum(x >= _top(x, 2), 1),
    "top_k of what is moved": lambda x: jnp.sum(_top(x.T, 3) <= x.T, 1),
    "histogram": lambda x: jnp.histogram(x, bins=7)[0],
}


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
# JAX exports `chlo.top_k` as a composite.
@pytest.mark.parametrize("exported", [False, True])
@pytest.mark.parametrize("name", _CHOICES)
def test_chosen_elements_are_found_again(name: str, exported: bool, precision: str) -> None:
    x = np.float32(np.random.default_rng(1).standard_normal((20, 4)) * 300)
    function = jax.jit(_CHOICES[name])
    if exported:
        own = sc.scalify_exported(jax.export.export(function)(x), precision=precision)
        found = own.call(sc.as_scaled_array(x))
    else:
        found = sc.scalify(function, precision=precision)(sc.as_scaled_array(x))
    np.testing.assert_array_equal(np.asarray(sc.asarray(found)), function(x))


# the place of padding is told by its number: it is not clipped where the number is compared
@pytest.mark.parametrize("precision", ["fp16", "fp8-fp16-state"])
@pytest.mark.parametrize("padding", [-1e8, -1e30])
def test_padding_among_the_largest_elements(padding: float, precision: str) -> None:
    rng = np.random.default_rng(0)
    x, w = np.float32(rng.standard_normal((4, 16))), np.float32(rng.standard_normal((16, 16)) / 4)
    is_padded = rng.random((4, 16)) > 0.2

    def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(w: jax.Array) -> jax.Array:
            largest = jax.lax.top_k(jnp.where(is_padded, padding, x @ w), 4)[0]
            return jnp.mean(jnp.where(largest > padding, largest, 0) ** 2)

        value, gradient = jax.value_and_grad(loss)(w)
        return w - 0.01 * gradient, value

    found = sc.scalify(step, precision=precision)(*sc.as_scaled_array((w, x)))[1]
    assert abs(float(np.asarray(found)) / float(step(w, x)[1]) - 1) < 5e-3
