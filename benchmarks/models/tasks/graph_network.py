"""A graph network: messages along edges, segment sums at nodes; haiku, Adam in MultiSteps (two gradients an update).

Nodes learn the weighted sum of their neighbours' features and the degree.
"""

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

NODES, EDGES, FEATURES, WIDTH, TARGETS = 96, 320, 8, 32, 4
_TEACHER = np.random.default_rng(99).normal(size=(FEATURES, TARGETS)) / np.sqrt(FEATURES)


def network(nodes: jax.Array, senders: jax.Array, receivers: jax.Array, weights: jax.Array) -> jax.Array:
    """[nodes, targets] of nodes [nodes, features] and edges with weights [edges]."""
    x = hk.Linear(WIDTH)(nodes)
    for _ in range(2):
        edges = jnp.concatenate([x[senders], x[receivers], weights[:, None]], axis=-1)
        messages = hk.Linear(WIDTH)(jax.nn.relu(hk.Linear(WIDTH)(edges)))
        received = jax.ops.segment_sum(messages, receivers, NODES)
        degree = jax.ops.segment_sum(jnp.ones_like(weights), receivers, NODES)
        pooled = jax.ops.segment_max(messages, receivers, NODES)
        pooled = jnp.where(degree[:, None] > 0, pooled, 0)
        y = jnp.concatenate(
            [x, received / jnp.maximum(degree, 1)[:, None], pooled, jnp.log1p(degree)[:, None]], axis=-1
        )
        x = hk.LayerNorm(-1, True, True)(x + hk.Linear(WIDTH)(jax.nn.relu(hk.Linear(WIDTH)(y))))
    return hk.Linear(TARGETS)(x)


def graph(seed: int, step: int) -> Tree:
    generator = np.random.default_rng((seed, step))
    nodes = generator.normal(size=(NODES, FEATURES)).astype(np.float32)
    senders, receivers = generator.integers(0, NODES, (2, EDGES)).astype(np.int32)
    weights = generator.random(EDGES).astype(np.float32)
    targets = np.zeros((NODES, TARGETS))
    np.add.at(targets, receivers, weights[:, None] * np.tanh(nodes[senders] @ _TEACHER))
    return {
        "nodes": nodes, "senders": senders, "receivers": receivers, "weights": weights,
        "targets": targets.astype(np.float32),
    }  # fmt: skip


def make(seed: int) -> Problem:
    model = hk.without_apply_rng(hk.transform(network))
    optimizer = optax.MultiSteps(optax.adam(3e-3), every_k_schedule=2)

    def predict(parameters: Tree, batch: Tree) -> jax.Array:
        return model.apply(parameters, batch["nodes"], batch["senders"], batch["receivers"], batch["weights"])

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        return jnp.mean(jnp.square(predict(parameters, batch) - batch["targets"]))

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    first = graph(seed, 0)
    parameters = jax.jit(model.init)(
        jax.random.PRNGKey(seed), first["nodes"], first["senders"], first["receivers"], first["weights"]
    )
    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: graph(seed, i))
