"""A Llama-style language model: RMS norm, rotary positions, grouped queries, SwiGLU, no biases, untied head.

Shapes: B sequences, T positions, D width, H query heads, G key and value heads, K = D / H.
"""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.models.training import Model, Tree, cross_entropy, draw
from examples import text
from experiments.models import rotated

HEADS, GROUPS = 4, 2


def make(layers: int, width: int = 64, context: int = 32, batch: int = 4, seed: int = 0) -> Model:
    """The model, and a batch of text, one token a byte."""
    generator = np.random.default_rng(seed)
    size, hidden = width // HEADS, 8 * width // 3 // 8 * 8

    def block() -> Tree:
        return {
            "attention_norm": np.ones(width, np.float32),
            "query": draw(generator, width, HEADS, size, fan_in=width),
            "key": draw(generator, width, GROUPS, size, fan_in=width),
            "value": draw(generator, width, GROUPS, size, fan_in=width),
            "out": draw(generator, HEADS, size, width),
            "mlp_norm": np.ones(width, np.float32),
            "gate": draw(generator, width, hidden),
            "up": draw(generator, width, hidden),
            "down": draw(generator, hidden, width),
        }

    parameters = {
        "embedding": draw(generator, 256, width, fan_in=width),
        "blocks": [block() for _ in range(layers)],
        "final_norm": np.ones(width, np.float32),
        "head": draw(generator, width, 256),
    }
    return Model("llama", parameters, loss, next(text.load().batches(batch, context, seed)))


def loss(parameters: Tree, tokens: jax.Array) -> jax.Array:
    x = parameters["embedding"][tokens[:, :-1]]
    for i, block in enumerate(parameters["blocks"]):
        with jax.named_scope(f"block_{i}"):
            x = x + _attention(block, _norm(x, block["attention_norm"]))
            y = _norm(x, block["mlp_norm"])
            x = x + (jax.nn.silu(y @ block["gate"]) * (y @ block["up"])) @ block["down"]
    return cross_entropy(_norm(x, parameters["final_norm"]) @ parameters["head"], tokens[:, 1:])


def _norm(x: jax.Array, gain: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-5) * gain


def _attention(block: Tree, x: jax.Array) -> jax.Array:
    query = rotated(jnp.einsum("btd,dhk->bthk", x, block["query"]))
    key = rotated(jnp.einsum("btd,dgk->btgk", x, block["key"]))
    value = jnp.einsum("btd,dgk->btgk", x, block["value"])
    key, value = (jnp.repeat(a, HEADS // GROUPS, axis=2) for a in (key, value))
    scores = jnp.einsum("bthk,bshk->bhts", query, key) * query.shape[-1] ** -0.5
    visible = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bthk,hkd->btd", jnp.einsum("bhts,bshk->bthk", weights, value), block["out"])
