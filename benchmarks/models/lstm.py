"""Stacked LSTMs over 256 steps (`jax.lax.scan`), a byte-level language model."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.models.training import Model, Tree, cross_entropy, draw
from examples import text


def make(layers: int, width: int = 32, context: int = 256, batch: int = 4, seed: int = 0) -> Model:
    """The model, and a batch of text, one token a byte."""
    generator = np.random.default_rng(seed)

    def block() -> Tree:
        return {
            "input": draw(generator, width, 4 * width),
            "state": draw(generator, width, 4 * width),
            "bias": np.zeros(4 * width, np.float32),
        }

    parameters = {
        "embedding": draw(generator, 256, width, fan_in=width),
        "blocks": [block() for _ in range(layers)],
        "head": draw(generator, width, 256),
    }
    return Model("lstm", parameters, loss, next(text.load().batches(batch, context, seed)))


def loss(parameters: Tree, tokens: jax.Array) -> jax.Array:
    x = jnp.swapaxes(parameters["embedding"][tokens[:, :-1]], 0, 1)  # [T, B, D]
    for i, block in enumerate(parameters["blocks"]):
        with jax.named_scope(f"block_{i}"):
            x = _layer(block, x)
    return cross_entropy(jnp.swapaxes(x, 0, 1) @ parameters["head"], tokens[:, 1:])


def _layer(block: Tree, x: jax.Array) -> jax.Array:
    projected = x @ block["input"] + block["bias"]

    def step(carry: Tree, gates: jax.Array) -> tuple[Tree, jax.Array]:
        hidden, cell = carry
        i, f, g, o = jnp.split(gates + hidden @ block["state"], 4, axis=-1)
        cell = jax.nn.sigmoid(f + 1) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        hidden = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (hidden, cell), hidden

    zeros = jnp.zeros_like(x[0])
    return jax.lax.scan(step, (zeros, zeros), projected)[1]
