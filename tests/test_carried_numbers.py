"""Numbers that steps carry and that enter their own scales: step sizes and weights that are told by their effect."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from optax import contrib

import scalify_hlo as sc

Step = Callable[[Any, Any], tuple[Any, jax.Array]]
RNG = np.random.default_rng(0)
WEIGHT = np.float32(RNG.standard_normal((16, 16)) / 4)
BATCHES = [np.float32(RNG.standard_normal((32, 16))) for _ in range(8)]


def _loss(w: jax.Array, x: jax.Array) -> jax.Array:
    return jnp.mean((jnp.tanh(x @ w) - jnp.sin(2 * x)) ** 2)


def _by(optimizer: Any) -> tuple[Any, Step]:
    def step(state: Any, x: jax.Array) -> tuple[Any, jax.Array]:
        loss, gradient = jax.value_and_grad(_loss)(state[0], x)
        update, rest = optimizer.update(gradient, state[1], state[0])
        return (optax.apply_updates(state[0], update), rest), loss

    return (WEIGHT, optimizer.init(jnp.asarray(WEIGHT))), step


def _by_curvature(state: Any, x: jax.Array) -> tuple[Any, jax.Array]:
    """Barzilai and Borwein's step size: |d|^2 / d y of the last step d, a multiple of it, and what that changed."""
    w, moved, before, rate = state
    loss, gradient = jax.value_and_grad(_loss)(w, x)
    curvature = jnp.abs(jnp.vdot(moved, gradient - before)) + 1e-6 * jnp.vdot(moved, moved) / rate
    rate = jnp.clip(0.5 * rate + 0.5 * jnp.vdot(moved, moved) / curvature, 1e-3, 0.3)
    moved = -rate * gradient
    return (w + moved, moved, gradient, rate), loss


def _by_products(state: Any, x: jax.Array) -> tuple[Any, jax.Array]:
    """A weight of a penalty that is multiplied until gradient and penalty are alike in size."""
    w, weight = state
    loss, gradient = jax.value_and_grad(_loss)(w, x)
    sizes = jnp.sum(jnp.abs(gradient)), jnp.sum(jnp.abs(w)) * 0.02
    weight = weight * sizes[0] ** 0.5 / (weight * sizes[1]) ** 0.5
    return (w - 0.1 * (gradient + 0.02 * weight * w), weight), loss


PROGRAMS: dict[str, tuple[Any, Step]] = {
    # e <- max(e, n / |g|_1) with averages n and g of e times something
    "D-Adaptation": _by(contrib.dadapt_adamw(1.0)),
    # six step sizes s <- (m + max(r, 0)) / sqrt(v), r <- b r + h s
    "Mechanic": _by(contrib.mechanize(optax.adam(1.0))),
    "by curvature": ((WEIGHT, np.full_like(WEIGHT, 1e-4), np.zeros_like(WEIGHT), np.float32(1e-3)), _by_curvature),
    "by products": ((WEIGHT, np.float32(1e-3)), _by_products),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("precision", ["f32", "bf16", "fp16"])
def test_scales_of_numbers_stay_near_their_values(program: str, precision: Any) -> None:
    """The scale of the step size of D-Adaptation doubled in each step: NaN after 22 of them in bf16."""
    state, original = PROGRAMS[program]
    step = jax.jit(sc.scalify(original, precision=precision))
    found, wanted = sc.as_scaled_array(state), state
    for i in range(60):
        x = BATCHES[i % len(BATCHES)]
        found, loss = step(found, sc.as_scaled_array(x))
        wanted, right = jax.jit(original)(wanted, x)
        assert abs(float(np.asarray(loss)) - float(right)) < 0.03
    for leaf in jax.tree.leaves(found, is_leaf=lambda leaf: isinstance(leaf, sc.ScaledArray)):
        if isinstance(leaf, sc.ScaledArray):
            assert 2.0**-40 < float(leaf.scale) < 2.0**40
