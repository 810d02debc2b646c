"""A decoder with linear attention by positive random features (Performer, Choromanski et al., 2021).

flax.linen and optax. The weights of attention are e^(w q - |q|^2/2) e^(w k - |k|^2/2) summed over random directions w;
the denominator has a guard of 1e-6 as everybody writes it, and prefixes are sums over time.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, SyntheticText, Tree, cross_entropy

VOCABULARY, WIDTH, HEADS, FEATURES, CONTEXT, BATCH, LAYERS = 16, 32, 2, 24, 24, 16, 2
_DIRECTIONS = np.random.default_rng(11).normal(size=(WIDTH // HEADS, FEATURES)).astype(np.float32)


def positive_features(x: jax.Array) -> jax.Array:
    """[..., D] -> [..., FEATURES], all above 0."""
    x = x * x.shape[-1] ** -0.25
    return jnp.exp(x @ _DIRECTIONS - 0.5 * jnp.sum(x * x, -1, keepdims=True)) / FEATURES**0.5 + 1e-6


class LinearAttention(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Causal, of x [B, T, WIDTH]."""
        q, k, v = (nn.DenseGeneral((HEADS, WIDTH // HEADS), use_bias=False)(x) for _ in range(3))
        q, k = positive_features(q), positive_features(k)
        products = jnp.cumsum(jnp.einsum("bthf,bthd->bthfd", k, v), 1)
        numerator = jnp.einsum("bthf,bthfd->bthd", q, products)
        denominator = jnp.einsum("bthf,bthf->bth", q, jnp.cumsum(k, 1))
        y = numerator / (denominator[..., None] + 1e-6)
        return nn.DenseGeneral(WIDTH, (-2, -1), use_bias=False)(y)


class Decoder(nn.Module):
    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        positions = self.param("positions", nn.initializers.normal(0.02), (CONTEXT, WIDTH))
        x = nn.Embed(VOCABULARY, WIDTH)(tokens) + positions
        for _ in range(LAYERS):
            x = x + LinearAttention()(nn.LayerNorm()(x))
            x = x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(2 * WIDTH)(nn.LayerNorm()(x))))
        return nn.Dense(VOCABULARY)(nn.LayerNorm()(x))


def make(seed: int) -> Problem:
    text, model = SyntheticText(VOCABULARY), Decoder()
    parameters = model.init(jax.random.PRNGKey(seed), jnp.zeros((1, CONTEXT), jnp.int32))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-3))

    def step(state: Tree, tokens: jax.Array) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state

        def loss_fn(parameters: Tree) -> jax.Array:
            return cross_entropy(model.apply(parameters, tokens[:, :-1]), tokens[:, 1:])

        loss, gradients = jax.value_and_grad(loss_fn)(parameters)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: text.batch(seed, i, BATCH, CONTEXT))
