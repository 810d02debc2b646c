"""GPT-2 and a Llama-style model: parameters and loss, in terms of layers that a recipe may replace.

With `experiments.layers.Plain` they are f32 programs as anyone would write them.

Shapes: B sequences, T positions, V vocabulary entries, D width, H heads (G for keys and values), K = D / H.
"""

import dataclasses
import functools
import math
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from experiments.layers import Layers

Tree = dict[str, Any]
ModelName = Literal["gpt2", "llama"]
# Of weights at the start, but for those that write to the residual stream.
DEVIATION = 0.02


@dataclasses.dataclass(frozen=True)
class Size:
    """layers, width D, heads H, groups G (heads of keys and values in Llama), context T, vocabulary V (bytes)."""

    layers: int = 2
    width: int = 128
    heads: int = 4
    groups: int = 2
    context: int = 64
    vocabulary: int = 256


@functools.lru_cache(maxsize=1)  # large models take seconds; nobody writes into what is returned
def initial_parameters(model: ModelName, size: Size, seed: int) -> Tree:
    """f32 arrays: weights of deviation 0.02, less where they write to the residual stream; gains 1, biases 0."""
    generator = np.random.default_rng(seed)
    d = size.width

    def weight(*shape: int, std: float = DEVIATION) -> Any:
        return generator.normal(0, std, shape).astype(np.float32)

    out_std = DEVIATION / math.sqrt(2 * size.layers)
    ones, zeros = np.ones(d, np.float32), np.zeros(d, np.float32)
    if model == "gpt2":
        blocks = [
            {
                "norm1": {"gain": ones, "bias": zeros},
                **{name: {"weight": weight(d, d), "bias": zeros} for name in ("query", "key", "value")},
                "out": {"weight": weight(d, d, std=out_std), "bias": zeros},
                "norm2": {"gain": ones, "bias": zeros},
                "up": {"weight": weight(d, 4 * d), "bias": np.zeros(4 * d, np.float32)},
                "down": {"weight": weight(4 * d, d, std=out_std), "bias": zeros},
            }
            for _ in range(size.layers)
        ]
        tree = {"positions": weight(size.context, d), "final_norm": {"gain": ones, "bias": zeros}}
    else:
        keys, hidden = d // size.heads * size.groups, 8 * d // 3 // 16 * 16
        blocks = [
            {
                "norm1": {"gain": ones},
                "query": {"weight": weight(d, d)},
                "key": {"weight": weight(d, keys)},
                "value": {"weight": weight(d, keys)},
                "out": {"weight": weight(d, d, std=out_std)},
                "norm2": {"gain": ones},
                "gate": {"weight": weight(d, hidden)},
                "up": {"weight": weight(d, hidden)},
                "down": {"weight": weight(hidden, d, std=out_std)},
            }
            for _ in range(size.layers)
        ]
        tree = {"head": weight(d, size.vocabulary), "final_norm": {"gain": ones}}
    return {"embedding": weight(size.vocabulary, d), "blocks": blocks, **tree}


def deviations(model: ModelName, size: Size) -> Tree:
    """What a unit weight is multiplied by to have each parameter's deviation at the start; 1 for gains and biases."""
    out = DEVIATION / math.sqrt(2 * size.layers)

    def deviation(path: Any, leaf: Any) -> float:
        if leaf.ndim < 2:
            return 1.0
        return out if any(getattr(key, "key", None) in ("out", "down") for key in path) else DEVIATION

    return jax.tree.map_with_path(deviation, initial_parameters(model, size, 0))


def loss(model: ModelName, size: Size, parameters: Tree, tokens: jax.Array, layers: Layers) -> jax.Array:
    """Mean cross-entropy in nats, f32, of predicting tokens[:, 1:]; tokens is int32 [B, T + 1]."""
    block = _gpt2_block if model == "gpt2" else _llama_block
    x = parameters["embedding"][tokens[:, :-1]]
    if model == "gpt2":
        x = x + parameters["positions"]
    x = layers.activation(x)
    for i, each in enumerate(parameters["blocks"]):
        with jax.named_scope(f"block_{i}"):
            x = block(size, each, x, layers)
    x = _norm(parameters["final_norm"], x, layers)
    scores = layers.head(x, parameters["embedding"].T if model == "gpt2" else parameters["head"])
    chosen = jnp.take_along_axis(scores, tokens[:, 1:, None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(scores, axis=-1) - chosen)


def _gpt2_block(size: Size, p: Tree, x: jax.Array, layers: Layers) -> jax.Array:
    y = _norm(p["norm1"], x, layers)
    query, key, value = (_heads(_linear(p[name], y, layers), size.heads) for name in ("query", "key", "value"))
    x = layers.residual(x, _linear(p["out"], _merged(layers.attention(query, key, value)), layers))
    hidden = layers.gelu(_linear(p["up"], _norm(p["norm2"], x, layers), layers))
    return layers.residual(x, _linear(p["down"], hidden, layers))


def _llama_block(size: Size, p: Tree, x: jax.Array, layers: Layers) -> jax.Array:
    y = _norm(p["norm1"], x, layers)
    query = rotated(_heads(_linear(p["query"], y, layers), size.heads))
    key = rotated(_heads(_linear(p["key"], y, layers), size.groups))
    value = _heads(_linear(p["value"], y, layers), size.groups)
    key, value = (jnp.repeat(a, size.heads // size.groups, axis=2) for a in (key, value))
    x = layers.residual(x, _linear(p["out"], _merged(layers.attention(query, key, value)), layers))
    y = _norm(p["norm2"], x, layers)
    hidden = layers.silu(_linear(p["gate"], y, layers)) * _linear(p["up"], y, layers)
    return layers.residual(x, _linear(p["down"], hidden, layers))


def _linear(p: Tree, x: jax.Array, layers: Layers) -> jax.Array:
    return layers.linear(x, p["weight"], p.get("bias"))


def _norm(p: Tree, x: jax.Array, layers: Layers) -> jax.Array:
    return layers.norm(x, p["gain"], p.get("bias"))


def _heads(x: jax.Array, heads: int) -> jax.Array:
    """[B, T, heads * K] to [B, T, heads, K]."""
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads)


def _merged(x: jax.Array) -> jax.Array:
    """[B, T, H, K] to [B, T, H * K]."""
    return x.reshape(*x.shape[:2], x.shape[2] * x.shape[3])


def rotated(x: jax.Array) -> jax.Array:
    """Rotary position embedding of [B, T, heads, K]."""
    length, size = x.shape[1], x.shape[3]
    frequencies = 10_000.0 ** (-np.arange(0, size, 2) / size)
    angles = (np.arange(length)[:, None] * frequencies)[:, None, :]
    cos, sin = (jnp.asarray(f(angles), x.dtype) for f in (np.cos, np.sin))
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
