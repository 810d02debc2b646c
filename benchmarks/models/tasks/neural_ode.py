"""A neural ordinary differential equation (Chen et al., 2018) that tells two spirals apart: an adaptive solver, and its
adjoint for the gradients.

Plain JAX with `jax.experimental.ode`; AdamW.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.experimental.ode import odeint

from benchmarks.models.tasks.problem import Problem, Tree, draw

WIDTH, STATE, BATCH = 32, 3, 64


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = {
        "w1": draw(generator, STATE, WIDTH), "b1": np.zeros(WIDTH, np.float32),
        "w2": draw(generator, WIDTH, STATE), "b2": np.zeros(STATE, np.float32),
        "out": draw(generator, STATE, 1),
    }  # fmt: skip
    optimizer = optax.adamw(5e-3)

    def slope(h: jax.Array, t: jax.Array, p: Tree) -> jax.Array:
        return jnp.tanh(h @ p["w1"] + p["b1"] + t) @ p["w2"] + p["b2"]

    def loss_fn(p: Tree, x: jax.Array, label: jax.Array) -> jax.Array:
        start = jnp.concatenate([x, jnp.zeros((BATCH, STATE - 2))], axis=1)
        end = odeint(slope, start, jnp.array([0.0, 1.0]), p, rtol=1e-3, atol=1e-3)[-1]
        return optax.sigmoid_binary_cross_entropy((end @ p["out"])[:, 0], label).mean()

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        p, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(p, *batch)
        updates, opt_state = optimizer.update(gradients, opt_state, p)
        return (optax.apply_updates(p, updates), opt_state), loss

    def batch(i: int) -> Tree:
        generator = np.random.default_rng((seed, i))
        label, along = generator.integers(0, 2, BATCH), generator.random(BATCH)
        angle = 3 * along + np.pi * label
        x = 2 * along[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1) + 0.05 * generator.normal(size=(BATCH, 2))
        return x.astype(np.float32), label.astype(np.float32)

    return Problem(step, (parameters, optimizer.init(parameters)), batch)
