"""A network of splines (Kolmogorov-Arnold): each edge is a cubic B-spline of its input by de Boor's recursion.

JAX alone; Adam.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

CELLS, DEGREE, HIDDEN, BATCH = 8, 3, 8, 64
KNOTS = (np.arange(-DEGREE, CELLS + DEGREE + 1) * (2 / CELLS) - 1).astype(np.float32)


def splines(x: jax.Array) -> jax.Array:
    """The B-splines [..., CELLS + DEGREE] of each number of x."""
    x = x[..., None]
    basis = ((x >= KNOTS[:-1]) & (x < KNOTS[1:])).astype(jnp.float32)
    for d in range(1, DEGREE + 1):
        left = (x - KNOTS[: -(d + 1)]) / (KNOTS[d:-1] - KNOTS[: -(d + 1)])
        right = (KNOTS[d + 1 :] - x) / (KNOTS[d + 1 :] - KNOTS[1:-d])
        basis = left * basis[..., :-1] + right * basis[..., 1:]
    return basis


def batch(seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of a square and exp(sin(pi x) + y^2) - 1 there."""
    x = 2 * np.random.default_rng((seed, step)).random((BATCH, 2)) - 1
    return x.astype(np.float32), np.exp(np.sin(np.pi * x[:, 0]) + x[:, 1] ** 2).astype(np.float32) - 1


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = [
        {
            "spline": (0.1 * generator.normal(size=(i, o, CELLS + DEGREE))).astype(np.float32),
            "linear": draw(generator, i, o),
        }
        for i, o in ((2, HIDDEN), (HIDDEN, 1))
    ]
    optimizer = optax.adam(2e-2)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        x, target = batch
        for layer in parameters:
            x = jnp.einsum("big,iog->bo", splines(x), layer["spline"]) + jax.nn.silu(x) @ layer["linear"]
        return jnp.mean((x[:, 0] - target) ** 2)

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: batch(seed, i))
