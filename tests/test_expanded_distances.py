"""|a - b|^2 = |a|^2 + |b|^2 - 2 a b: of features with a common offset the norms are many times what is left of them.

The product is f32, as the norms are, of operands that have not been rounded either.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc


@pytest.mark.parametrize("form", ["subtracted", "added"])
@pytest.mark.parametrize("offset", [0.0, 8.0, 20.0])
def test_expanded_distances_are_as_good_as_differences(offset: float, form: str) -> None:
    rng = np.random.default_rng(0)
    x = np.float32(rng.standard_normal((64, 16)))
    y = np.float32(np.eye(5)[np.argmax(x[:, :5], -1)])
    p = {"a": np.float32(rng.standard_normal((16, 64)) / 4), "b": np.float32(rng.standard_normal((64, 32)) / 8)}
    p["o"] = np.full(32, offset, np.float32)

    def distances(a: jax.Array, b: jax.Array) -> jax.Array:
        norms = jnp.sum(a**2, -1, keepdims=True) + jnp.sum(b**2, -1)
        return norms - 2 * a @ b.T if form == "subtracted" else (-2 * a @ b.T) + norms

    def step(p: Any, x: jax.Array, y: jax.Array, exact: bool = False) -> Any:
        def loss(p: Any) -> jax.Array:
            z = jax.nn.relu(x @ p["a"]) @ p["b"] + p["o"]
            means = y[:32].T @ z[:32] / y[:32].sum(0)[:, None]
            far = jnp.sum((z[32:, None] - means) ** 2, -1) if exact else distances(z[32:], means)
            return -jnp.mean(jnp.sum(jax.nn.log_softmax(-far) * y[32:], -1))

        value, gradients = jax.value_and_grad(loss)(p)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, p, gradients), gradients, value

    wanted = step(p, x, y, exact=True)[1]
    errors = {}
    for exact in (False, True):
        own = sc.scalify(lambda p, x, y, exact=exact: step(p, x, y, exact), precision="fp16")
        found = own(*sc.as_scaled_array((p, x, y)))[1]
        errors[exact] = sum(np.linalg.norm(np.asarray(found[n]) - wanted[n]) / np.linalg.norm(wanted[n]) for n in "ab")
    assert errors[False] < 2 * errors[True] + 1e-3
