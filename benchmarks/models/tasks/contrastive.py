"""Two towers that learn which views belong together (CLIP's loss with a learned temperature); equinox and Muon."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax.contrib import muon

from benchmarks.models.tasks.problem import Problem, Tree

SIZES, WIDTH, EMBEDDING, LATENT, BATCH = (24, 16), 48, 16, 6, 64
_VIEWS = [np.random.default_rng(7 + i).normal(size=(LATENT, size)) / 2 for i, size in enumerate(SIZES)]


class Towers(eqx.Module):
    towers: list[eqx.nn.MLP]
    log_temperature: jax.Array

    def __init__(self, key: jax.Array):
        keys = jax.random.split(key)
        self.towers = [
            eqx.nn.MLP(size, EMBEDDING, WIDTH, 2, activation=jax.nn.gelu, key=k)
            for size, k in zip(SIZES, keys, strict=True)
        ]
        self.log_temperature = jnp.log(10.0)

    def __call__(self, views: list[jax.Array]) -> jax.Array:
        """Similarities [batch, batch] of the first views with the second ones."""
        a, b = (jax.vmap(tower)(view) for tower, view in zip(self.towers, views, strict=True))
        a, b = (x / jnp.linalg.norm(x, axis=-1, keepdims=True) for x in (a, b))
        return jnp.exp(self.log_temperature) * a @ b.T


def views(seed: int, step: int) -> list[np.ndarray]:
    """Two noisy non-linear views of the same hidden points."""
    generator = np.random.default_rng((seed, step))
    hidden = generator.normal(size=(BATCH, LATENT))
    return [
        (np.sin(hidden @ view) + 0.1 * generator.normal(size=(BATCH, view.shape[1]))).astype(np.float32)
        for view in _VIEWS
    ]


def make(seed: int) -> Problem:
    parameters, static = eqx.partition(Towers(jax.random.PRNGKey(seed)), eqx.is_inexact_array)
    optimizer = muon(0.01, adam_b2=0.99)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        logits = eqx.combine(parameters, static)(batch)
        labels = jnp.arange(logits.shape[0])
        both = [optax.softmax_cross_entropy_with_integer_labels(x, labels).mean() for x in (logits, logits.T)]
        return (both[0] + both[1]) / 2

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: views(seed, i))
