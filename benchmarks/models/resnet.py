"""A ResNet with batch normalisation (training statistics); `layers` residual blocks of two 3x3 convolutions."""

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.models.training import Model, Tree, cross_entropy, draw

CLASSES = 10


def make(layers: int, width: int = 16, size: int = 16, batch: int = 8, seed: int = 0) -> Model:
    """The model, and a batch of Gaussian images [B, size, size, 3] with random labels."""
    generator = np.random.default_rng(seed)

    def norm() -> Tree:
        return {"gain": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}

    def block() -> Tree:
        return {
            "conv1": draw(generator, 3, 3, width, width), "norm1": norm(),
            "conv2": draw(generator, 3, 3, width, width), "norm2": norm(),
        }  # fmt: skip

    parameters = {
        "stem": draw(generator, 3, 3, 3, width),
        "stem_norm": norm(),
        "blocks": [block() for _ in range(layers)],
        "head": draw(generator, width, CLASSES),
        "head_bias": np.zeros(CLASSES, np.float32),
    }
    images = generator.normal(size=(batch, size, size, 3)).astype(np.float32)
    labels = generator.integers(0, CLASSES, batch).astype(np.int32)
    return Model("resnet", parameters, loss, {"images": images, "labels": labels})


def loss(parameters: Tree, batch: Tree) -> jax.Array:
    x = jax.nn.relu(_norm(_conv(batch["images"], parameters["stem"]), parameters["stem_norm"]))
    half = len(parameters["blocks"]) // 2
    for i, block in enumerate(parameters["blocks"]):
        if i == half:
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        with jax.named_scope(f"block_{i}"):
            y = jax.nn.relu(_norm(_conv(x, block["conv1"]), block["norm1"]))
            x = jax.nn.relu(x + _norm(_conv(y, block["conv2"]), block["norm2"]))
    return cross_entropy(x.mean((1, 2)) @ parameters["head"] + parameters["head_bias"], batch["labels"])


def _conv(x: jax.Array, kernel: jax.Array) -> jax.Array:
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _norm(x: jax.Array, p: Tree) -> jax.Array:
    mean = x.mean((0, 1, 2))
    variance = jnp.square(x - mean).mean((0, 1, 2))
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["gain"] + p["bias"]
