"""Gradients through products of matrices that are put together of numbers in units of their own: rotations, lengths.

# T = [[c, -s, 400 c], [s, c, 400 s], [0, 0, 1]]: T T' is no larger than T where its parts are, and 400 times where not
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc


def _end(angles: jax.Array, length: float, joints: int) -> jax.Array:
    """Where an arm of some links ends."""
    total = jnp.eye(4)
    for i in range(joints):
        c, s = jnp.cos(angles[i]), jnp.sin(angles[i])
        a, b = float(np.cos(1.57 * (i % 2))), float(np.sin(1.57 * (i % 2)))
        rows = [[c, -s * a, s * b, length * c], [s, c * a, -c * b, length * s]]
        fixed = [jnp.array([0, b, a, length]), jnp.array([0, 0, 0, 1.0])]
        total = total @ jnp.stack([*map(jnp.stack, rows), *fixed])
    return total[:3, 3]


@pytest.mark.parametrize("joints", [2, 3, 4, 8])
@pytest.mark.parametrize("length", [1.0, 400.0])
def test_gradients_of_a_network_in_front_of_an_arm(length: float, joints: int) -> None:
    rng = np.random.default_rng(0)
    sizes = [3, 64, 64, joints]
    weights = [np.float32(rng.standard_normal((m, n)) / m**0.5) for m, n in itertools.pairwise(sizes)]
    x = np.float32(rng.standard_normal((64, 3)))
    arm = jax.vmap(lambda angles: _end(angles, length, joints))
    y = np.asarray(arm(np.float32(rng.uniform(-1.2, 1.2, (64, joints)))))

    def step(weights: list[jax.Array], x: jax.Array, y: jax.Array) -> tuple[list[jax.Array], list[jax.Array]]:
        def loss(weights: list[jax.Array]) -> jax.Array:
            angles = jnp.tanh(jnp.tanh(x @ weights[0]) @ weights[1]) @ weights[2]
            return jnp.mean((arm(angles) - y) ** 2)

        gradients = jax.grad(loss)(weights)
        return [w - 1e-3 * g for w, g in zip(weights, gradients, strict=True)], gradients

    _, wanted = step(weights, x, y)
    _, found = sc.scalify(step, precision="fp16")(*sc.as_scaled_array((weights, x, y)))
    for one, other in zip(found, wanted, strict=True):
        assert np.linalg.norm(np.asarray(one) - other) < 3e-3 * np.linalg.norm(other)
