"""Counts by a negative binomial distribution whose mean and dispersion a network gives: log-gamma functions.

JAX alone; Adam.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

FEATURES, WIDTH, BATCH, SUCCESSES = 6, 32, 64, 3
_SLOPES = np.random.default_rng(2).normal(size=FEATURES)


def batch(seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Features, and counts of mean exp(1 + tanh(a x))."""
    generator = np.random.default_rng((seed, step))
    x = generator.normal(size=(BATCH, FEATURES))
    chance = SUCCESSES / (SUCCESSES + np.exp(1 + np.tanh(x @ _SLOPES)))
    return x.astype(np.float32), generator.negative_binomial(SUCCESSES, chance).astype(np.float32)


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = {
        "in": draw(generator, FEATURES, WIDTH),
        "bias": np.zeros(WIDTH, np.float32),
        "out": draw(generator, WIDTH, 2),
        "shift": np.zeros(2, np.float32),
    }
    optimizer = optax.adam(5e-3)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        x, count = batch
        out = jax.nn.selu(x @ parameters["in"] + parameters["bias"]) @ parameters["out"] + parameters["shift"]
        mean, r = jnp.exp(out[:, 0]), jax.nn.softplus(out[:, 1]) + 1e-3
        log_gamma = jax.lax.lgamma
        ways = log_gamma(count + r) - log_gamma(r) - log_gamma(count + 1)
        return -jnp.mean(ways + r * jnp.log(r / (r + mean)) + count * jnp.log(mean / (r + mean)))

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: batch(seed, i))
