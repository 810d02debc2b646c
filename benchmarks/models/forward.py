"""Forward programs written with public libraries, for measuring what serving them in FP8 loses.

Each is trained for some steps on a task that its kind can do, so that its scores have the margins of a trained model:
of random weights the two best scores are often nearer than any rounding.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

VOCABULARY, WIDTH, HEADS, LENGTH, CLASSES = 64, 64, 4, 32, 8
Tree = Any


@dataclasses.dataclass(frozen=True)
class Forward:
    """A program `function(params, *inputs)` with its parameters, and batches of inputs."""

    library: str
    function: Callable[..., Any]
    params: Tree
    batches: list[tuple[Any, ...]]


class Block(nn.Module):
    """A pre-norm transformer block, with a cache where it decodes."""

    causal: bool = False
    decode: bool = False

    @nn.compact
    def __call__(self, x: jax.Array, mask: Any = None) -> jax.Array:
        h = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=HEADS, decode=self.decode)(h, mask=mask)
        h = nn.Dense(4 * WIDTH)(nn.LayerNorm()(x))
        return x + nn.Dense(WIDTH)(nn.gelu(h))


class Transformer(nn.Module):
    """Token in, scores of tokens out: a decoder where `causal`, else an encoder."""

    outputs: int
    causal: bool = False
    decode: bool = False

    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = nn.Embed(VOCABULARY, WIDTH)(tokens)
        mask = nn.make_causal_mask(tokens) if self.causal and not self.decode else None
        for _ in range(2):
            x = Block(self.causal, self.decode)(x, mask)
        return nn.Dense(self.outputs)(nn.LayerNorm()(x))


class Vision(nn.Module):
    """A vision transformer on images of 16 x 16."""

    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        x = nn.Conv(WIDTH, (4, 4), (4, 4))(images).reshape(images.shape[0], -1, WIDTH)
        x = x + self.param("positions", nn.initializers.normal(0.02), (x.shape[1], WIDTH))
        for _ in range(2):
            x = Block()(x)
        return nn.Dense(CLASSES)(nn.LayerNorm()(x).mean(1))


class Speech(nn.Module):
    """Convolutions over time, then transformer blocks: a class for every second frame."""

    @nn.compact
    def __call__(self, frames: jax.Array) -> jax.Array:
        x = nn.gelu(nn.Conv(WIDTH, (3,))(frames))
        x = nn.gelu(nn.Conv(WIDTH, (3,), (2,))(x))
        x = x + self.param("positions", nn.initializers.normal(0.02), x.shape[1:])
        for _ in range(2):
            x = Block()(x)
        return nn.Dense(CLASSES)(nn.LayerNorm()(x))


class UNet(nn.Module):
    """One step of a diffusion model: the noise in an image, from the image and the time."""

    @nn.compact
    def __call__(self, image: jax.Array, time: jax.Array) -> jax.Array:
        angles = time[:, None] * jnp.exp(-jnp.arange(16) / 4.0)
        t = nn.Dense(WIDTH)(nn.silu(nn.Dense(WIDTH)(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1))))
        first = nn.silu(nn.GroupNorm(8)(nn.Conv(WIDTH, (3, 3))(image)))
        x = nn.silu(nn.GroupNorm(8)(nn.Conv(2 * WIDTH, (3, 3), (2, 2))(first)))
        x = nn.silu(nn.GroupNorm(8)(nn.Conv(2 * WIDTH, (3, 3))(x + nn.Dense(2 * WIDTH)(t)[:, None, None])))
        x = nn.ConvTranspose(WIDTH, (2, 2), (2, 2))(x)
        return nn.Conv(image.shape[-1], (3, 3))(jnp.concatenate([first, x], -1))


class Convolutional(eqx.Module):
    """Three convolutions and a linear layer, in Equinox."""

    layers: list[eqx.nn.Conv2d]
    hidden: eqx.nn.Linear
    head: eqx.nn.Linear

    def __init__(self, key: jax.Array):
        a, b, c, d, e = jax.random.split(key, 5)
        self.layers = [
            eqx.nn.Conv2d(3, 32, 3, 2, 1, key=a),
            eqx.nn.Conv2d(32, 64, 3, 2, 1, key=b),
            eqx.nn.Conv2d(64, 64, 3, 1, 1, key=c),
        ]
        self.hidden, self.head = eqx.nn.Linear(1024, 64, key=d), eqx.nn.Linear(64, CLASSES, key=e)

    def __call__(self, image: jax.Array) -> jax.Array:
        x = jnp.moveaxis(image, -1, 0)
        for layer in self.layers:
            x = jax.nn.relu(layer(x))
        return self.head(jax.nn.relu(self.hidden(x.reshape(-1))))


# --- tasks --------------------------------------------------------------------------------------------------------

Draw = Callable[[np.random.Generator], tuple[tuple[Any, ...], Any]]


def chain(rng: np.random.Generator) -> tuple[tuple[Any, ...], Any]:
    """Sequences in which each token follows from the last."""
    tokens = [rng.integers(0, VOCABULARY, 16)]
    for _ in range(LENGTH):
        tokens.append((5 * tokens[-1] + 3) % VOCABULARY)
    whole = np.stack(tokens, 1).astype(np.int32)
    return (whole[:, :-1],), whole[:, 1:]


def marked(rng: np.random.Generator) -> tuple[tuple[Any, ...], Any]:
    """Each token's class."""
    tokens = rng.integers(0, VOCABULARY, (16, LENGTH)).astype(np.int32)
    return (tokens,), tokens % CLASSES


def patches(rng: np.random.Generator) -> tuple[tuple[Any, ...], Any]:
    """Images of noise with one bright patch, whose place is the class."""
    images, labels = rng.standard_normal((32, 16, 16, 3)), rng.integers(0, CLASSES, 32)
    for image, label in zip(images, labels, strict=True):
        row, column = divmod(int(label), 4)
        image[8 * row : 8 * row + 4, 4 * column : 4 * column + 4] += 3
    return (images.astype(np.float32),), labels


def tones(rng: np.random.Generator) -> tuple[tuple[Any, ...], Any]:
    """Frames of a spectrum: the class is the band of most energy in a pair of frames."""
    labels = rng.integers(0, CLASSES, (16, LENGTH // 2))
    frames = 0.5 * rng.standard_normal((16, LENGTH, 2 * CLASSES))
    pairs = np.repeat(labels, 2, 1)
    frames += 2.0 * (np.arange(2 * CLASSES) // 2 == pairs[..., None])
    return (frames.astype(np.float32),), labels


def noise(rng: np.random.Generator) -> tuple[tuple[Any, ...], Any]:
    """Images of a smooth gradient under noise, which is to be found."""
    t, hidden = rng.random(16), rng.standard_normal((16, 16, 16, 3))
    image = np.linspace(-1, 1, 16)[:, None, None] * rng.standard_normal((16, 1, 1, 3))
    mixed = np.sqrt(1 - t)[:, None, None, None] * image + np.sqrt(t)[:, None, None, None] * hidden
    return (mixed.astype(np.float32), t.astype(np.float32)), hidden.astype(np.float32)


def trained(apply: Callable[..., Any], params: Tree, draw: Draw, steps: int) -> Tree:
    """Parameters after some steps of Adam."""
    optimizer = optax.adam(2e-3)

    @jax.jit
    def step(params: Tree, state: Any, inputs: Any, target: Any) -> Any:
        def loss(params: Tree) -> jax.Array:
            got = apply(params, *inputs)
            if jnp.issubdtype(target.dtype, jnp.integer):
                return optax.softmax_cross_entropy_with_integer_labels(got, target).mean()
            return jnp.mean((got - target) ** 2)

        updates, state = optimizer.update(jax.grad(loss)(params), state)
        return optax.apply_updates(params, updates), state

    rng, state = np.random.default_rng(0), optimizer.init(params)
    for _ in range(steps):
        params, state = step(params, state, *draw(rng))
    return jax.tree.map(np.asarray, params)


def _linen(model: nn.Module, draw: Draw, steps: int, seed: int = 1) -> Forward:
    rng = np.random.default_rng(seed)
    params = model.init(jax.random.key(0), *draw(rng)[0])
    params = trained(model.apply, params, draw, steps)
    return Forward("flax.linen", model.apply, params, [draw(rng)[0] for _ in range(3)])


def encoder(steps: int) -> Forward:
    """Classes of tokens."""
    return _linen(Transformer(CLASSES), marked, steps)


def decoder_with_cache(steps: int) -> Forward:
    """One step of a decoder: the scores of the next token, and keys and values written to the cache."""
    whole = _linen(Transformer(VOCABULARY, causal=True), chain, steps)
    step = Transformer(VOCABULARY, causal=True, decode=True)
    tokens = whole.batches[0][0]
    empty = step.init(jax.random.key(0), tokens)["cache"]

    def function(params: Tree, cache: Tree, token: jax.Array) -> Any:
        scores, changed = step.apply({**params, "cache": cache}, token, mutable=["cache"])
        return scores, changed["cache"]

    run = jax.jit(function)
    cache, batches = jax.tree.map(jnp.zeros_like, empty), []
    for i in range(LENGTH):
        token = tokens[:, i : i + 1]
        if i >= 4:
            batches.append((jax.tree.map(np.asarray, cache), token))
        _, cache = run(whole.params, cache, token)
    return Forward("flax.linen", function, whole.params, batches)


def vit(steps: int) -> Forward:
    """Places of patches."""
    return _linen(Vision(), patches, steps)


def speech(steps: int) -> Forward:
    """Classes of frames."""
    return _linen(Speech(), tones, steps)


def diffusion_unet(steps: int) -> Forward:
    """The noise in an image."""
    return _linen(UNet(), noise, steps)


def conv_net(steps: int) -> Forward:
    """Places of patches, in Equinox."""
    params, static = eqx.partition(Convolutional(jax.random.key(0)), eqx.is_array)

    def function(params: Tree, images: jax.Array) -> jax.Array:
        return jax.vmap(eqx.combine(params, static))(images)

    rng = np.random.default_rng(1)
    params = trained(function, params, patches, steps)
    return Forward("equinox", function, params, [patches(rng)[0] for _ in range(3)])


MODELS: dict[str, Callable[[int], Forward]] = {
    "decoder_with_cache": decoder_with_cache,
    "encoder": encoder,
    "vit": vit,
    "conv_net": conv_net,
    "diffusion_unet_step": diffusion_unet,
    "speech": speech,
}
