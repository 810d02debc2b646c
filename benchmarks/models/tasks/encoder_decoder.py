"""An encoder-decoder transformer that reverses and shifts sequences: cross-attention, dropout, clipping, warm-up.

flax.nnx with its own random streams (typed keys), AdamW.
"""

from typing import Any

import jax
import numpy as np
import optax
from flax import nnx

from benchmarks.models.tasks.problem import Problem, Tree, cross_entropy

VOCABULARY, WIDTH, LENGTH, BATCH, HEADS = 12, 32, 10, 32, 2


class Attention(nnx.Module):
    """Attention of x to y, added to x."""

    def __init__(self, rngs: nnx.Rngs):
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(HEADS, WIDTH, decode=False, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x: jax.Array, y: jax.Array | None = None, mask: Any = None) -> jax.Array:
        normed = self.norm(x)
        return x + self.dropout(self.attention(normed, normed if y is None else y, mask=mask))


class FeedForward(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.up, self.down = nnx.Linear(WIDTH, 2 * WIDTH, rngs=rngs), nnx.Linear(2 * WIDTH, WIDTH, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return x + self.dropout(self.down(nnx.gelu(self.up(self.norm(x)))))


class Translator(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.source = nnx.Embed(VOCABULARY, WIDTH, rngs=rngs)
        self.target = nnx.Embed(VOCABULARY, WIDTH, rngs=rngs)
        self.positions = nnx.Param(0.3 * jax.random.normal(rngs.params(), (LENGTH, WIDTH)))
        self.encoder = nnx.List([Attention(rngs), FeedForward(rngs)])
        self.encoded = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.itself, self.across, self.forward = Attention(rngs), Attention(rngs), FeedForward(rngs)
        self.norm, self.head = nnx.LayerNorm(WIDTH, rngs=rngs), nnx.Linear(WIDTH, VOCABULARY, rngs=rngs)

    def __call__(self, source: jax.Array, target: jax.Array) -> jax.Array:
        x = self.source(source) + self.positions[...]
        for layer in self.encoder:
            x = layer(x)
        y = self.target(target) + self.positions[...]
        y = self.itself(y, mask=nnx.make_causal_mask(target))
        y = self.forward(self.across(y, self.encoded(x)))
        return self.head(self.norm(y))


def sequences(seed: int, step: int) -> Tree:
    """Random tokens, and the same reversed, each increased by its predecessor's parity; token 0 starts."""
    source = np.random.default_rng((seed, step)).integers(1, VOCABULARY - 1, (BATCH, LENGTH)).astype(np.int32)
    target = source[:, ::-1] + np.pad(source[:, ::-1], ((0, 0), (1, 0)))[:, :-1] % 2
    return {"source": source, "target": np.pad(target, ((0, 0), (1, 0))).astype(np.int32)}


def make(seed: int) -> Problem:
    model = Translator(nnx.Rngs(seed))
    schedule = optax.linear_schedule(0.0, 3e-3, 20)
    transformation = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, b2=0.98))
    graph, state = nnx.split((model, nnx.Optimizer(model, transformation, wrt=nnx.Param)))

    def loss_fn(model: Translator, batch: Tree) -> jax.Array:
        return cross_entropy(model(batch["source"], batch["target"][:, :-1]), batch["target"][:, 1:])

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        model, optimizer = nnx.merge(graph, state)
        loss, gradients = nnx.value_and_grad(loss_fn)(model, batch)
        optimizer.update(model, gradients)
        return nnx.state((model, optimizer)), loss

    return Problem(step, state, lambda i: sequences(seed, i))
