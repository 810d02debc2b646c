"""Survival times with censoring: Cox's partial likelihood, a sort and cumulative logarithms of sums of exponentials.

JAX alone; AdamW.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

FEATURES, WIDTH, BATCH = 8, 32, 64
_SLOPES = np.random.default_rng(2).normal(size=FEATURES)


def patients(seed: int, step: int) -> tuple[np.ndarray, ...]:
    """Features, the time of the event or of the last visit, and whether it was the event."""
    generator = np.random.default_rng((seed, step))
    x = generator.normal(size=(BATCH, FEATURES))
    time, visit = generator.exponential(np.exp(-(x @ _SLOPES) / 2)), generator.exponential(2.0, BATCH)
    return x.astype(np.float32), np.minimum(time, visit).astype(np.float32), (time < visit).astype(np.float32)


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    sizes = (FEATURES, WIDTH, WIDTH, 1)
    parameters = [(draw(generator, a, b), np.zeros(b, np.float32)) for a, b in itertools.pairwise(sizes)]
    optimizer = optax.adamw(3e-3)

    def loss_fn(parameters: Tree, x: jax.Array, time: jax.Array, event: jax.Array) -> jax.Array:
        for weight, bias in parameters[:-1]:
            x = jax.nn.selu(x @ weight + bias)
        order = jnp.argsort(-time)  # those who are at risk at a time come before it
        risk = (x @ parameters[-1][0] + parameters[-1][1])[:, 0][order]
        likelihood = jnp.sum((risk - jax.lax.cumlogsumexp(risk)) * event[order]) / jnp.sum(event)
        return -likelihood + 1e-3 * sum(jnp.sum(weight**2) for weight, _ in parameters)

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, *batch)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: patients(seed, i))
