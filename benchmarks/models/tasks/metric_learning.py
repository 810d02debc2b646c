"""One tower, three examples (FaceNet): an anchor is to be nearer to its own class than to another by a margin.

JAX alone; momentum with a rate that falls linearly.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

CLASSES, FEATURES, WIDTH, EMBEDDING, BATCH, MARGIN = 12, 16, 48, 8, 64, 1.0
_CENTRES = np.random.default_rng(3).normal(size=(CLASSES, FEATURES))


def triplets(seed: int, step: int) -> tuple[np.ndarray, ...]:
    """Anchors, others of their class, others of another one."""
    generator = np.random.default_rng((seed, step))
    own = generator.integers(0, CLASSES, BATCH)
    other = (own + generator.integers(1, CLASSES, BATCH)) % CLASSES
    return tuple(np.float32(_CENTRES[c] + 0.7 * generator.normal(size=(BATCH, FEATURES))) for c in (own, own, other))


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = {
        "in": draw(generator, FEATURES, WIDTH),
        "bias": np.zeros(WIDTH, np.float32),
        "out": draw(generator, WIDTH, EMBEDDING),
    }
    optimizer = optax.sgd(optax.polynomial_schedule(0.05, 0.01, 1.0, 100), momentum=0.9)

    def distance(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.sqrt(((a - b) ** 2).sum(-1) + 1e-8)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        anchor, near, far = (jax.nn.elu(x @ parameters["in"] + parameters["bias"]) @ parameters["out"] for x in batch)
        return jnp.mean(jnp.maximum(distance(anchor, near) - distance(anchor, far) + MARGIN, 0.0))

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: triplets(seed, i))
