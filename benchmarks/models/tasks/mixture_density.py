"""A mixture-density network (Bishop, 1994) of five Gaussians for an inverse that has several branches.

JAX alone; Adam.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

WIDTH, COMPONENTS, BATCH = 32, 5, 128


def batch(seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """x = y + 0.3 sin(2 pi y) + noise, and y."""
    generator = np.random.default_rng((seed, step))
    y = 2 * generator.random((BATCH, 1)) - 1
    x = y + 0.3 * np.sin(2 * np.pi * y) + 0.05 * generator.normal(size=y.shape)
    return x.astype(np.float32), y[:, 0].astype(np.float32)


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = {
        "in": 2 * draw(generator, 1, WIDTH),
        "bias": generator.normal(size=WIDTH).astype(np.float32),
        "out": draw(generator, WIDTH, 3 * COMPONENTS),
        "shift": np.zeros(3 * COMPONENTS, np.float32),
    }
    optimizer = optax.adam(1e-2)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        x, y = batch
        out = jnp.tanh(x @ parameters["in"] + parameters["bias"]) @ parameters["out"] + parameters["shift"]
        weight, mean, log_deviation = jnp.split(out, 3, -1)
        density = jax.scipy.stats.norm.logpdf(y[:, None], mean, jnp.exp(log_deviation))
        return -jax.scipy.special.logsumexp(jax.nn.log_softmax(weight) + density, -1).mean()

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: batch(seed, i))
