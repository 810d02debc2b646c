"""A recommender: embedding tables of users and items with a small network; Adagrad for tables, RMSprop for the rest.

jax and optax. Each batch touches few rows of the tables, so that most of their gradient is exactly zero.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

USERS, ITEMS, WIDTH, HIDDEN, BATCH = 60, 40, 16, 32, 256
_TASTES, _KINDS = (np.random.default_rng(5 + i).normal(size=(n, 4)) for i, n in enumerate((USERS, ITEMS)))


def initial_parameters(seed: int) -> Tree:
    generator = np.random.default_rng(seed)
    return {
        "tables": {
            "users": (0.3 * generator.normal(size=(USERS, WIDTH))).astype(np.float32),
            "items": (0.3 * generator.normal(size=(ITEMS, WIDTH))).astype(np.float32),
            "popularity": np.zeros(ITEMS, np.float32),
        },
        "network": [
            {"kernel": draw(generator, 3 * WIDTH, HIDDEN), "bias": np.zeros(HIDDEN, np.float32)},
            {"kernel": draw(generator, HIDDEN, 1), "bias": np.zeros(1, np.float32)},
        ],
    }


def scores(parameters: Tree, users: jax.Array, items: jax.Array) -> jax.Array:
    """Log-odds [batch] that a user likes an item."""
    tables, (first, second) = parameters["tables"], parameters["network"]
    u, v = tables["users"][users], tables["items"][items]
    hidden = jax.nn.relu(jnp.concatenate([u, v, u * v], axis=-1) @ first["kernel"] + first["bias"])
    deep = (hidden @ second["kernel"] + second["bias"])[:, 0]
    return jnp.sum(u * v, axis=-1) + deep + jnp.take(tables["popularity"], items)


def likes(seed: int, step: int) -> Tree:
    generator = np.random.default_rng((seed, step))
    # Some are far more frequent than others.
    users, items = ((n * generator.random(BATCH) ** 2).astype(np.int32) for n in (USERS, ITEMS))
    odds = 2 * np.sum(_TASTES[users] * _KINDS[items], axis=-1) - 0.5
    return {"users": users, "items": items, "liked": (odds > generator.logistic(size=BATCH)).astype(np.float32)}


def make(seed: int) -> Problem:
    parameters = initial_parameters(seed)
    labels = {"tables": "tables", "network": "network"}
    optimizer = optax.multi_transform({"tables": optax.adagrad(0.3), "network": optax.rmsprop(3e-3)}, labels)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        return optax.sigmoid_binary_cross_entropy(
            scores(parameters, batch["users"], batch["items"]), batch["liked"]
        ).mean()

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        loss, gradients = jax.value_and_grad(loss_fn)(state["params"], batch)
        updates, opt_state = optimizer.update(gradients, state["opt_state"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt_state": opt_state}, loss

    state = {"params": parameters, "opt_state": optimizer.init(parameters)}
    return Problem(step, state, lambda i: likes(seed, i))
