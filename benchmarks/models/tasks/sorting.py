"""Sorting that has gradients: NeuralSort (Grover et al., 2019), trained to say which of several images is the largest.

jax and optax's SAM (Foret et al., 2021): each step takes the gradient at weights that were moved against the loss
first. The loss is a cross-entropy between permutation matrices, clipped from below as the paper's code does.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax import contrib

from benchmarks.models.tasks.problem import Problem, Tree, draw

FEATURES, WIDTH, ITEMS, BATCH, TEMPERATURE = 12, 32, 6, 32, 1.0
_DIRECTION = np.random.default_rng(5).normal(size=FEATURES) / FEATURES**0.5


def lists(seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Features [BATCH, ITEMS, FEATURES] and the permutation [BATCH, ITEMS, ITEMS] that sorts what they stand for."""
    x = np.random.default_rng((seed, step)).normal(size=(BATCH, ITEMS, FEATURES))
    order = np.argsort(-np.sin(2 * x @ _DIRECTION), axis=1)
    return x.astype(np.float32), np.eye(ITEMS, dtype=np.float32)[order]


def relaxed_permutation(scores: jax.Array) -> jax.Array:
    """Rows [B, N, N] that sum to 1: the i-th says which of the scores [B, N] is the i-th largest."""
    n = scores.shape[1]
    distances = jnp.sum(jnp.abs(scores[:, :, None] - scores[:, None, :]), -1)
    scaling = (n + 1 - 2 * jnp.arange(1, n + 1)).astype(jnp.float32)
    logits = scaling[None, :, None] * scores[:, None, :] - distances[:, None, :]
    return jax.nn.softmax(logits / TEMPERATURE, axis=-1)


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    parameters = {
        "in": draw(generator, FEATURES, WIDTH),
        "bias": np.zeros(WIDTH, np.float32),
        "hidden": draw(generator, WIDTH, WIDTH),
        "out": draw(generator, WIDTH, 1),
    }
    optimizer = contrib.sam(
        optax.adam(3e-3), optax.chain(contrib.normalize(), optax.sgd(0.05)), opaque_mode=True, reset_state=True
    )

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        x, permutation = batch
        hidden = jax.nn.relu(x @ parameters["in"] + parameters["bias"])
        scores = (jax.nn.relu(hidden @ parameters["hidden"]) @ parameters["out"])[..., 0]
        found = jnp.clip(relaxed_permutation(scores), 1e-7, 1.0)
        return -jnp.mean(jnp.sum(permutation * jnp.log(found), -1))

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)

        def gradient_at(moved: Tree, _: int) -> Tree:
            return jax.grad(loss_fn)(moved, batch)

        updates, opt_state = optimizer.update(gradients, opt_state, parameters, grad_fn=gradient_at)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: lists(seed, i))
