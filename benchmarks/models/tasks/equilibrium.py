"""A deep equilibrium network: its layer is iterated to a fixed point, which the backward pass solves for once more.

JAX alone, `custom_vjp` around `while_loop`; Nesterov momentum.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, cross_entropy, draw

FEATURES, WIDTH, CLASSES, BATCH, ITERATIONS, CLOSE = 8, 32, 3, 64, 30, 1e-3
_DIRECTIONS = np.random.default_rng(9).normal(size=(FEATURES, CLASSES))


def batch(seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian points, and which of three sines is the largest there."""
    x = np.random.default_rng((seed, step)).normal(size=(BATCH, FEATURES))
    return x.astype(np.float32), np.argmax(np.sin(x @ _DIRECTIONS), axis=-1).astype(np.int32)


def solve(function: Tree, start: jax.Array) -> jax.Array:
    """What a function leaves as it is, nearly."""

    def is_far(carried: Tree) -> jax.Array:
        before, now, count = carried
        return (jnp.linalg.norm(now - before) > CLOSE * jnp.linalg.norm(now)) & (count < ITERATIONS)

    def again(carried: Tree) -> Tree:
        _, now, count = carried
        return now, function(now), count + 1

    return jax.lax.while_loop(is_far, again, (start, function(start), 0))[1]


def layer(given: Tree, z: jax.Array) -> jax.Array:
    weights, x = given
    return jnp.tanh(z @ weights + x)


@jax.custom_vjp
def fixed_point(given: Tree) -> jax.Array:
    return solve(lambda z: layer(given, z), jnp.zeros_like(given[1]))


def _forward(given: Tree) -> tuple[jax.Array, Tree]:
    z = fixed_point(given)
    return z, (given, z)


def _backward(residuals: Tree, cotangent: jax.Array) -> tuple[Tree]:
    # u = cotangent + u dz: the inverse of 1 - dz
    given, z = residuals
    _, through_state = jax.vjp(lambda z: layer(given, z), z)
    _, through_given = jax.vjp(lambda given: layer(given, z), given)
    return through_given(solve(lambda u: cotangent + through_state(u)[0], jnp.zeros_like(cotangent)))


fixed_point.defvjp(_forward, _backward)


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = {
        "in": draw(generator, FEATURES, WIDTH),
        "bias": np.zeros(WIDTH, np.float32),
        "layer": draw(generator, WIDTH, WIDTH) / 2,
        "out": draw(generator, WIDTH, CLASSES),
    }
    optimizer = optax.sgd(0.3, momentum=0.9, nesterov=True)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        x, labels = batch
        z = fixed_point((parameters["layer"], x @ parameters["in"] + parameters["bias"]))
        return cross_entropy(z @ parameters["out"], labels)

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: batch(seed, i))
