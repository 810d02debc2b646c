"""A vision transformer: patches, class token, pre-norm blocks with gelu (erf), classification."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.models.training import Model, Tree, cross_entropy, draw

HEADS, PATCH, CLASSES = 4, 4, 10


def make(layers: int, width: int = 64, size: int = 16, batch: int = 8, seed: int = 0) -> Model:
    """The model, and a batch of Gaussian images [B, size, size, 3] with random labels."""
    generator = np.random.default_rng(seed)
    patches, values = (size // PATCH) ** 2, 3 * PATCH**2

    def norm() -> Tree:
        return {"gain": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}

    def dense(*shape: int, fan_in: int = 0) -> Tree:
        return {"weight": draw(generator, *shape, fan_in=fan_in), "bias": np.zeros(shape[-1], np.float32)}

    def block() -> Tree:
        return {
            "attention_norm": norm(),
            "qkv": dense(width, 3 * width),
            "out": dense(width, width),
            "mlp_norm": norm(),
            "up": dense(width, 4 * width),
            "down": dense(4 * width, width),
        }

    parameters = {
        "patches": dense(values, width),
        "class_token": draw(generator, width, fan_in=1) * np.float32(0.02),
        "positions": draw(generator, patches + 1, width, fan_in=1) * np.float32(0.02),
        "blocks": [block() for _ in range(layers)],
        "final_norm": norm(),
        "head": dense(width, CLASSES),
    }
    images = generator.normal(size=(batch, size, size, 3)).astype(np.float32)
    labels = generator.integers(0, CLASSES, batch).astype(np.int32)
    return Model("vit", parameters, loss, {"images": images, "labels": labels})


def loss(parameters: Tree, batch: Tree) -> jax.Array:
    images = batch["images"]
    count, size = images.shape[0], images.shape[1] // PATCH
    patches = images.reshape(count, size, PATCH, size, PATCH, 3).swapaxes(2, 3).reshape(count, size * size, -1)
    x = _dense(parameters["patches"], patches)
    token = jnp.broadcast_to(parameters["class_token"], (count, 1, x.shape[-1]))
    x = jnp.concatenate([token, x], axis=1) + parameters["positions"]
    for i, block in enumerate(parameters["blocks"]):
        with jax.named_scope(f"block_{i}"):
            x = x + _attention(block, _norm(block["attention_norm"], x))
            hidden = jax.nn.gelu(_dense(block["up"], _norm(block["mlp_norm"], x)), approximate=False)
            x = x + _dense(block["down"], hidden)
    return cross_entropy(_dense(parameters["head"], _norm(parameters["final_norm"], x[:, 0])), batch["labels"])


def _dense(p: Tree, x: jax.Array) -> jax.Array:
    return x @ p["weight"] + p["bias"]


def _norm(p: Tree, x: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + 1e-6) * p["gain"] + p["bias"]


def _attention(block: Tree, x: jax.Array) -> jax.Array:
    count, length, width = x.shape
    split = _dense(block["qkv"], x).reshape(count, length, 3, HEADS, width // HEADS)
    query, key, value = (split[:, :, i] for i in range(3))
    weights = jax.nn.softmax(jnp.einsum("bthk,bshk->bhts", query, key) / np.sqrt(width // HEADS).item(), axis=-1)
    return _dense(block["out"], jnp.einsum("bhts,bshk->bthk", weights, value).reshape(count, length, width))
