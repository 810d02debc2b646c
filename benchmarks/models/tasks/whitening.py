"""Batches whitened by Newton's iterations (IterNorm; Huang et al., 2019), two layers, and a learned temperature.

JAX alone; ADOPT. Each layer takes the inverse root of its batch's covariance by five iterations P <- (3 P - P^3 S) / 2.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax import contrib

from benchmarks.models.tasks.problem import Problem, Tree, cross_entropy, draw

FEATURES, WIDTH, CLASSES, BATCH, ITERATIONS = 12, 24, 6, 96, 5
_CENTRES = np.random.default_rng(3).normal(size=(CLASSES, FEATURES))


def batch(seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng((seed, step))
    label = generator.integers(0, CLASSES, BATCH)
    x = _CENTRES[label] + 1.5 * generator.normal(size=(BATCH, FEATURES))
    return x.astype(np.float32), label.astype(np.int32)


def whitened(x: jax.Array) -> jax.Array:
    """x [B, D] with the covariance of the batch near the identity."""
    x = x - x.mean(0)
    covariance = x.T @ x / x.shape[0] + 1e-5 * jnp.eye(x.shape[1])
    trace = jnp.trace(covariance)
    root = jnp.eye(x.shape[1])
    for _ in range(ITERATIONS):
        root = 1.5 * root - 0.5 * root @ root @ root @ (covariance / trace)
    return x @ root / jnp.sqrt(trace)


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = {
        "in": draw(generator, FEATURES, WIDTH),
        "gain": np.ones(WIDTH, np.float32),
        "hidden": draw(generator, WIDTH, WIDTH),
        "head": draw(generator, WIDTH, CLASSES),
        "temperature": np.ones(1, np.float32),
    }
    optimizer = contrib.adopt(3e-3)

    def loss_fn(parameters: Tree, x: jax.Array, label: jax.Array) -> jax.Array:
        h = jax.nn.relu(whitened(x @ parameters["in"]) * parameters["gain"])
        h = jax.nn.relu(whitened(h @ parameters["hidden"]))
        return cross_entropy(h @ parameters["head"] * jax.nn.softplus(parameters["temperature"]), label)

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, *batch)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: batch(seed, i))
