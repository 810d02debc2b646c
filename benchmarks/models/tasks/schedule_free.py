"""Regression of a table with columns of very different size, by schedule-free AdamW (Defazio et al., 2024); flax.nnx.

The network normalises nothing but its input, by constants that are far from 1. The loss is relative to the variance.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from optax.contrib import schedule_free_adamw

from benchmarks.models.tasks.problem import Problem, Tree

COLUMNS, WIDTH, BATCH = 12, 48, 64
_UNITS = (10.0 ** np.linspace(-3, 4, COLUMNS)).astype(np.float32)
_TEACHER = np.random.default_rng(3).normal(size=(COLUMNS, 8)) / np.sqrt(COLUMNS)


def rows(seed: int, step: int) -> Tree:
    generator = np.random.default_rng((seed, step))
    x = generator.normal(size=(BATCH, COLUMNS))
    y = np.sum(np.tanh(2 * x @ _TEACHER), axis=1) + 0.1 * generator.normal(size=BATCH)
    return {"x": (x * _UNITS + 3 * _UNITS).astype(np.float32), "y": (500 * y).astype(np.float32)}


def make(seed: int) -> Problem:
    keys = nnx.Rngs(seed)
    model = nnx.Sequential(
        nnx.Linear(COLUMNS, WIDTH, rngs=keys), nnx.silu, nnx.Linear(WIDTH, WIDTH, rngs=keys), nnx.silu,
        nnx.Linear(WIDTH, 1, rngs=keys),
    )  # fmt: skip
    graph, parameters = nnx.split(model)
    optimizer = schedule_free_adamw(2e-2, warmup_steps=20, weight_decay=1e-4)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        x = (batch["x"] - 3 * _UNITS) / _UNITS
        predicted = 500 * nnx.merge(graph, parameters)(x)[:, 0]
        return jnp.mean(jnp.square(predicted - batch["y"])) / jnp.mean(jnp.square(batch["y"]))

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        loss, gradients = jax.value_and_grad(loss_fn)(state["params"], batch)
        updates, opt_state = optimizer.update(gradients, state["opt_state"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt_state": opt_state}, loss

    return Problem(step, {"params": parameters, "opt_state": optimizer.init(parameters)}, lambda i: rows(seed, i))
