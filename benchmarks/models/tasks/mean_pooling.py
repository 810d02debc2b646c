"""Patches are pooled by a generalised mean, as in image retrieval: the mean of x^4 of their features, then classified.

JAX alone; Adam.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

CHANNELS, WIDTH, CLASSES, PATCHES, BATCH = 8, 32, 4, 12, 64


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = {
        "stem": draw(generator, CHANNELS, WIDTH),
        "features": draw(generator, WIDTH, WIDTH),
        "head": draw(generator, WIDTH, CLASSES),
    }
    optimizer = optax.adam(3e-3)

    def loss_fn(p: Tree, x: jax.Array, label: jax.Array) -> jax.Array:
        features = jax.nn.relu(jax.nn.relu(x @ p["stem"]) @ p["features"]) + 1e-3
        pooled = jnp.mean(features**4, axis=1)
        return optax.softmax_cross_entropy_with_integer_labels(pooled @ p["head"], label).mean()

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        p, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(p, *batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(p, updates), opt_state), loss

    def batch(i: int) -> Tree:
        generator = np.random.default_rng((seed, i))
        label = generator.integers(0, CLASSES, BATCH)
        x = 0.3 * generator.normal(size=(BATCH, PATCHES, CHANNELS))
        x[np.arange(BATCH), :, label] += 0.5
        return x.astype(np.float32), label.astype(np.int32)

    return Problem(step, (parameters, optimizer.init(parameters)), batch)
