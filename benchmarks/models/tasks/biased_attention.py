"""A decoder with ALiBi, grouped queries, RMSNorm, a tied head, capped logits and a z-loss beside the cross-entropy.

equinox; AdamW with warm-up and cosine, the gradient's norm clipped, over two accumulated batches (optax.MultiSteps).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

from benchmarks.models.tasks.problem import Problem, SyntheticText, Tree

VOCABULARY, WIDTH, HEADS, GROUPS, LAYERS, CONTEXT, BATCH = 16, 48, 6, 2, 2, 24, 12


class Attention(eqx.Module):
    queries: eqx.nn.Linear
    keys: eqx.nn.Linear
    values: eqx.nn.Linear
    out: eqx.nn.Linear

    def __init__(self, key: jax.Array):
        size, narrow = WIDTH, WIDTH // HEADS * GROUPS
        keys = jax.random.split(key, 4)
        self.queries = eqx.nn.Linear(size, size, use_bias=False, key=keys[0])
        self.keys = eqx.nn.Linear(size, narrow, use_bias=False, key=keys[1])
        self.values = eqx.nn.Linear(size, narrow, use_bias=False, key=keys[2])
        self.out = eqx.nn.Linear(size, size, use_bias=False, key=keys[3])

    def __call__(self, x: jax.Array) -> jax.Array:
        """[CONTEXT, WIDTH] -> [CONTEXT, WIDTH]; scores fall with the distance, by a slope of each head's own."""
        q = jax.vmap(self.queries)(x).reshape(len(x), GROUPS, HEADS // GROUPS, -1)
        k, v = (jax.vmap(each)(x).reshape(len(x), GROUPS, -1) for each in (self.keys, self.values))
        slopes = 2.0 ** (-8 * jnp.arange(1, HEADS + 1) / HEADS).reshape(GROUPS, -1)
        distance = jnp.arange(len(x))[:, None] - jnp.arange(len(x))
        scores = jnp.einsum("tghd,sgd->ghts", q, k) / jnp.sqrt(WIDTH / HEADS) - slopes[..., None, None] * distance
        weights = jax.nn.softmax(jnp.where(distance < 0, -jnp.inf, scores))
        return jax.vmap(self.out)(jnp.einsum("ghts,sgd->tghd", weights, v).reshape(x.shape))


class Layer(eqx.Module):
    first: eqx.nn.RMSNorm
    attention: Attention
    second: eqx.nn.RMSNorm
    up: eqx.nn.Linear
    down: eqx.nn.Linear

    def __init__(self, key: jax.Array):
        keys = jax.random.split(key, 3)
        self.first, self.second = eqx.nn.RMSNorm(WIDTH), eqx.nn.RMSNorm(WIDTH)
        self.attention = Attention(keys[0])
        self.up = eqx.nn.Linear(WIDTH, 3 * WIDTH, key=keys[1])
        self.down = eqx.nn.Linear(3 * WIDTH, WIDTH, key=keys[2])

    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + self.attention(jax.vmap(self.first)(x))
        return x + jax.vmap(lambda row: self.down(jax.nn.relu(self.up(self.second(row))) ** 2))(x)


class Decoder(eqx.Module):
    embedding: jax.Array
    layers: list[Layer]
    last: eqx.nn.RMSNorm

    def __init__(self, key: jax.Array):
        first, *others = jax.random.split(key, LAYERS + 1)
        self.embedding = jax.random.normal(first, (VOCABULARY, WIDTH)) / jnp.sqrt(WIDTH)
        self.layers = [Layer(each) for each in others]
        self.last = eqx.nn.RMSNorm(WIDTH)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = self.embedding[tokens] * jnp.sqrt(WIDTH)
        for layer in self.layers:
            x = layer(x)
        return 15 * jnp.tanh(jax.vmap(self.last)(x) @ self.embedding.T / 15)


def make(seed: int) -> Problem:
    text = SyntheticText()
    parameters, static = eqx.partition(Decoder(jax.random.PRNGKey(seed)), eqx.is_inexact_array)
    rate = optax.warmup_cosine_decay_schedule(0.0, 5e-3, 10, 200)
    adamw = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.1))
    optimizer = optax.MultiSteps(adamw, every_k_schedule=2)

    def loss_fn(parameters: Tree, tokens: jax.Array) -> jax.Array:
        logits = jax.vmap(eqx.combine(parameters, static))(tokens[:, :-1])
        normalizer = jax.nn.logsumexp(logits, -1)
        chosen = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
        return jnp.mean(normalizer - chosen) + 1e-3 * jnp.mean(jnp.square(normalizer))

    def step(state: Tree, tokens: jax.Array) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, tokens)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    state = (parameters, optimizer.init(parameters))
    return Problem(step, state, lambda i: text.batch(seed, i, BATCH, CONTEXT))
