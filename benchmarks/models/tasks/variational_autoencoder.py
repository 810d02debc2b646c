"""A variational autoencoder with batch normalisation on drawings of bars; flax.linen, Adam, an old-style random key.

The loss is the negative evidence lower bound in nats of 64 pixels.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

PIXELS, HIDDEN, LATENT, BATCH = 8, 64, 8, 64


class Autoencoder(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array, key: jax.Array) -> Any:
        def block(x: jax.Array) -> jax.Array:
            return nn.relu(nn.BatchNorm(use_running_average=False, momentum=0.9)(nn.Dense(HIDDEN)(x)))

        hidden = block(block(x))
        mean, log_variance = nn.Dense(LATENT)(hidden), nn.Dense(LATENT)(hidden)
        latent = mean + jnp.exp(0.5 * log_variance) * jax.random.normal(key, mean.shape)
        return nn.Dense(x.shape[-1])(block(block(latent))), mean, log_variance


def drawings(seed: int, step: int) -> np.ndarray:
    """[batch, 64] of 0 and 1: each row and each column of an 8 by 8 drawing is a bar with probability 1/6."""
    generator = np.random.default_rng((seed, step))
    rows, columns = generator.random((2, BATCH, PIXELS)) < 1 / 6
    return (rows[:, :, None] | columns[:, None, :]).reshape(BATCH, -1).astype(np.float32)


def make(seed: int) -> Problem:
    model, optimizer = Autoencoder(), optax.adam(3e-3)
    variables = jax.jit(model.init)(jax.random.PRNGKey(seed), jnp.zeros((2, PIXELS**2)), jax.random.PRNGKey(0))

    def loss_fn(parameters: Tree, batch_stats: Tree, x: jax.Array, key: jax.Array) -> Any:
        (logits, mean, log_variance), changed = model.apply(
            {"params": parameters, "batch_stats": batch_stats}, x, key, mutable=["batch_stats"]
        )
        reconstruction = jnp.sum(optax.sigmoid_binary_cross_entropy(logits, x), axis=-1)
        divergence = -0.5 * jnp.sum(1 + log_variance - jnp.square(mean) - jnp.exp(log_variance), axis=-1)
        return jnp.mean(reconstruction + divergence), changed["batch_stats"]

    def step(state: Tree, x: jax.Array) -> tuple[Tree, jax.Array]:
        key, subkey = jax.random.split(state["key"])
        (loss, batch_stats), gradients = jax.value_and_grad(loss_fn, has_aux=True)(
            state["params"], state["batch_stats"], x, subkey
        )
        updates, opt_state = optimizer.update(gradients, state["opt_state"])
        return {
            "params": optax.apply_updates(state["params"], updates),
            "batch_stats": batch_stats,
            "opt_state": opt_state,
            "key": key,
        }, loss

    state = {**variables, "opt_state": optimizer.init(variables["params"]), "key": jax.random.PRNGKey(seed + 100)}
    return Problem(step, state, lambda i: drawings(seed, i))
