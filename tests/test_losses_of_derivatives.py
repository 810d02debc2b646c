"""Losses of derivatives: programs that are differentiated twice end with products of a gradient.

# L = f(E(R, W), dE/dR): the gradient of dE/dR, back through the backward pass and then the forward one, is a product of
# the estimates of all three
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

ROUNDED = {"xla_allow_excess_precision": False}
ATOMS, WIDTH, BASIS = 6, 16, 12
CENTRES = np.linspace(0, 4, BASIS, dtype=np.float32)


def _softplus(x: Any) -> Any:
    return jax.nn.softplus(x) - np.log(2.0)


def _continuous_filters(p: Any, r: Any) -> Any:
    """An energy of positions [atoms, 3]: two interactions by filters of distances, most Gaussians near 0."""
    distance = jnp.sqrt(jnp.sum((r[:, None] - r[None]) ** 2, -1) + jnp.eye(ATOMS))
    basis = jnp.exp(-10 * (distance[..., None] - CENTRES) ** 2)
    h = p[0]
    for a, b, c, d, e in (p[1:6], p[6:11]):
        filters = _softplus(_softplus(basis @ a) @ b) * (1 - jnp.eye(ATOMS))[..., None]
        h = h + _softplus(jnp.einsum("ijf,jf->if", filters, h @ c) @ d) @ e
    return jnp.sum(_softplus(h @ p[11]) @ p[12])


def _symmetry_functions(p: Any, r: Any) -> Any:
    """The same of sums of Gaussians of the distances, through three layers."""
    distance = jnp.sqrt(jnp.sum((r[:, None] - r[None]) ** 2, -1) + jnp.eye(ATOMS))
    h = jnp.sum(jnp.exp(-2 * (distance[..., None] - CENTRES) ** 2) * (1 - jnp.eye(ATOMS))[..., None], 1)
    return jnp.sum(jnp.tanh(jnp.tanh(h @ p[0]) @ p[1]) @ p[2])


def _critic(p: Any, r: Any) -> Any:
    """A network of all positions, whose gradient is to be of some size."""
    return jnp.sum(jax.nn.silu(jax.nn.silu(jax.nn.silu(r.reshape(-1) @ p[0]) @ p[1]) @ p[2]) @ p[3])


INTERACTION = [(BASIS, WIDTH), *[(WIDTH, WIDTH)] * 4]
SHAPES: list[tuple[Callable[[Any, Any], Any], list[tuple[int, int]]]] = [
    (_continuous_filters, [(ATOMS, WIDTH), *INTERACTION, *INTERACTION, (WIDTH, WIDTH), (WIDTH, 1)]),
    (_symmetry_functions, [(BASIS, WIDTH), (WIDTH, WIDTH), (WIDTH, 1)]),
    (_critic, [(3 * ATOMS, 32), (32, 32), (32, 32), (32, 1)]),
]


@pytest.mark.parametrize(("precision", "tolerance"), [("fp16", 4e-3), ("fp8", 0.2)])
@pytest.mark.parametrize(("energy", "shapes"), SHAPES)
def test_gradients_of_forces_are_those_of_f32(
    energy: Callable[[Any, Any], Any], shapes: list[tuple[int, int]], precision: Any, tolerance: float
) -> None:
    """Nothing was measured of them: of the first, weights' gradients were 0 in f16 and FP8."""
    generator = np.random.default_rng(0)
    parameters = [np.float32(generator.normal(size=shape) / np.sqrt(shape[0])) for shape in shapes]
    positions = np.float32(1.5 * generator.normal(size=(8, ATOMS, 3)))
    forces = np.float32(generator.normal(size=positions.shape))

    def loss(p: Any, r: Any, f: Any) -> Any:
        return jnp.mean((jax.vmap(jax.grad(energy, 1), (None, 0))(p, r) + f) ** 2)

    expected = jax.jit(jax.grad(loss))(parameters, positions, forces)
    scaled: Any = jax.jit(sc.scalify(jax.grad(loss), precision=precision), compiler_options=ROUNDED)
    got = scaled(*sc.as_scaled_array((parameters, positions, forces)))
    for a, b in zip(got, expected, strict=True):
        right = np.asarray(b, np.float64)
        assert np.linalg.norm(np.asarray(a, np.float64) - right) <= tolerance * np.linalg.norm(right)
