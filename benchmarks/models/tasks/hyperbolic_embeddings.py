"""Embeddings of a tree in the Poincare ball (Nickel and Kiela, 2017): distances by arccosh, Riemannian descent.

JAX alone; the paper's optimiser, with its slow first steps.
"""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.models.tasks.problem import Problem, Tree

NODES, WIDTH, NEGATIVES, BATCH = 127, 5, 10, 100
SLOW_STEPS, SLOW, FAST = 10, 0.5, 10.0
RADIUS = 1 - 1e-5


def distance(u: jax.Array, v: jax.Array) -> jax.Array:
    """Of points of the ball, along the last dimension."""
    apart = jnp.sum((u - v) ** 2, -1)
    return jnp.arccosh(1 + 2 * apart / ((1 - jnp.sum(u * u, -1)) * (1 - jnp.sum(v * v, -1))) + 1e-7)


def loss_fn(points: jax.Array, child: jax.Array, others: jax.Array) -> jax.Array:
    """How far a node is from its ancestor, the first of `others`, among nodes drawn at random."""
    return -jnp.mean(jax.nn.log_softmax(-distance(points[child][:, None], points[others]))[:, 0])


def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
    points, count = state
    loss, gradient = jax.value_and_grad(loss_fn)(points, *batch)
    shrinks = 1 - jnp.sum(points * points, -1, keepdims=True)
    points = points - jnp.where(count < SLOW_STEPS, SLOW, FAST) * shrinks**2 / 4 * gradient
    norm = jnp.linalg.norm(points, axis=-1, keepdims=True)
    return (jnp.where(norm >= RADIUS, points / norm * RADIUS, points), count + 1), loss


def make(seed: int) -> Problem:
    points = np.random.default_rng(seed).uniform(-1e-3, 1e-3, (NODES, WIDTH)).astype(np.float32)

    def batch(i: int) -> Tree:
        generator = np.random.default_rng((seed, i))
        child = generator.integers(1, NODES, BATCH)
        ancestor = (child - 1) // 2
        for _ in range(3):
            ancestor = np.where(generator.random(BATCH) < 0.4, np.maximum(ancestor - 1, 0) // 2, ancestor)
        others = np.concatenate([ancestor[:, None], generator.integers(0, NODES, (BATCH, NEGATIVES))], 1)
        return child.astype(np.int32), others.astype(np.int32)

    return Problem(step, (points, np.zeros((), np.int32)), batch)
