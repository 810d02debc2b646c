"""Denoising score matching: the direction to the data from noised points, at noise levels from 1 to 1/100.

haiku; Adam. The network's result is divided by the noise level, so that its size spans two decades.
"""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

WIDTH, BATCH = 48, 128


def batch(seed: int, step: int) -> tuple[np.ndarray, ...]:
    """Points of a ring, unit noise, and how much of it is added."""
    generator = np.random.default_rng((seed, step))
    angle, noise = 2 * np.pi * generator.random(BATCH), generator.normal(size=(BATCH, 2))
    points = np.stack([np.cos(angle), np.sin(angle)], axis=-1) * (1 + (generator.random((BATCH, 1)) < 0.5))
    level = 0.01 ** generator.random((BATCH, 1))
    return points.astype(np.float32), noise.astype(np.float32), level.astype(np.float32)


def make(seed: int) -> Problem:
    def score(x: jax.Array, level: jax.Array) -> jax.Array:
        h = jnp.concatenate([x, jnp.log(level)], axis=-1)
        return hk.nets.MLP([WIDTH, WIDTH, 2], activation=jax.nn.swish)(h) / level

    network = hk.without_apply_rng(hk.transform(score))
    points, _, level = batch(seed, 0)
    parameters = network.init(jax.random.PRNGKey(seed), points, level)
    optimizer = optax.adam(5e-3)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        points, noise, level = batch
        found = network.apply(parameters, points + level * noise, level)
        return jnp.mean(((found + noise / level) * level) ** 2)

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: batch(seed, i))
