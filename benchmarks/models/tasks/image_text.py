"""CLIP (Radford et al., 2021): a tower for images and one for text, and a learned temperature; optax's Lookahead.

flax.linen. Lookahead (Zhang et al., 2019) keeps slow weights, which go half of the way to the fast ones in
each fifth step.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, cross_entropy

SIZE, PATCH, VOCABULARY, WORDS, WIDTH, EMBEDDING, KINDS, BATCH = 8, 4, 24, 6, 32, 16, 12, 32
_GENERATOR = np.random.default_rng(21)
_PICTURES = _GENERATOR.normal(size=(KINDS, KINDS, SIZE, SIZE)) / 2**0.5
_TEXTS = _GENERATOR.integers(0, VOCABULARY, (2, KINDS, WORDS // 2))


class Block(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(2)(y, y)
        return x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(2 * WIDTH)(nn.LayerNorm()(x))))


class Clip(nn.Module):
    @nn.compact
    def __call__(self, images: jax.Array, words: jax.Array) -> jax.Array:
        """Similarities [B, B] of images [B, SIZE, SIZE, 1] with texts, int32 [B, WORDS]."""
        patches = nn.Conv(WIDTH, (PATCH, PATCH), (PATCH, PATCH))(images).reshape(len(images), -1, WIDTH)
        place = self.param("places", nn.initializers.normal(0.02), patches.shape[1:])
        text = nn.Embed(VOCABULARY, WIDTH)(words) + self.param("order", nn.initializers.normal(0.02), (WORDS, WIDTH))
        towers = []
        for x in (patches + place, text):
            pooled = nn.LayerNorm()(Block()(x)).mean(1)
            y = nn.Dense(EMBEDDING, use_bias=False)(pooled)
            towers.append(y / jnp.linalg.norm(y, axis=-1, keepdims=True))
        log_scale = self.param("log_scale", nn.initializers.constant(np.log(1 / 0.07)), ())
        return jnp.exp(jnp.minimum(log_scale, np.log(100.0))) * towers[0] @ towers[1].T


def pairs(seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy pictures of two things each, and texts that name them with some words wrong."""
    generator = np.random.default_rng((seed, step))
    things = generator.integers(0, KINDS, (2, BATCH))
    images = _PICTURES[things[0], things[1]] + 0.3 * generator.normal(size=(BATCH, SIZE, SIZE))
    words = np.concatenate([_TEXTS[i, things[i]] for i in range(2)], 1)
    wrong = generator.random(words.shape) < 0.1
    words = np.where(wrong, generator.integers(0, VOCABULARY, words.shape), words)
    return images[..., None].astype(np.float32), words.astype(np.int32)


def make(seed: int) -> Problem:
    model = Clip()
    parameters = model.init(jax.random.PRNGKey(seed), *pairs(seed, 0))
    optimizer = optax.lookahead(optax.adamw(3e-3), 5, 0.5)
    state = optax.LookaheadParams.init_synced(parameters)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        logits = model.apply(parameters, *batch)
        labels = jnp.arange(len(logits))
        return (cross_entropy(logits, labels) + cross_entropy(logits.T, labels)) / 2

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters.fast, batch)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (state, optimizer.init(state)), lambda i: pairs(seed, i))
