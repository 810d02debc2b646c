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
