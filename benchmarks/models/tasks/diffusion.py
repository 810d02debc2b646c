"""A diffusion model (Ho et al., 2020): a small U-Net that predicts the noise in drawings; flax.linen, typed keys.

Adam, and an average of the weights (`optax.incremental_update`) beside them.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

PIXELS, CHANNELS, BATCH, LEVELS = 8, 16, 16, 100


class Block(nn.Module):
    channels: int

    @nn.compact
    def __call__(self, x: jax.Array, time: jax.Array) -> jax.Array:
        y = nn.Conv(self.channels, (3, 3))(nn.silu(nn.GroupNorm(4)(x)))
        y = y + nn.Dense(self.channels)(time)[:, None, None, :]
        y = nn.Conv(self.channels, (3, 3))(nn.silu(nn.GroupNorm(4)(y)))
        return y + (x if x.shape[-1] == self.channels else nn.Conv(self.channels, (1, 1))(x))


class UNet(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array, level: jax.Array) -> jax.Array:
        frequencies = jnp.exp(-jnp.log(1e4) * jnp.arange(8) / 8)
        angles = level[:, None].astype(jnp.float32) * frequencies
        time = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
        time = nn.silu(nn.Dense(32)(nn.silu(nn.Dense(32)(time))))
        fine = Block(CHANNELS)(nn.Conv(CHANNELS, (3, 3))(x), time)
        coarse = Block(2 * CHANNELS)(nn.avg_pool(fine, (2, 2), (2, 2)), time)
        up = jax.image.resize(coarse, (*fine.shape[:-1], coarse.shape[-1]), "nearest")
        y = Block(CHANNELS)(jnp.concatenate([fine, up], axis=-1), time)
        return nn.Conv(1, (3, 3), kernel_init=nn.initializers.zeros)(nn.silu(nn.GroupNorm(4)(y)))


def drawings(seed: int, step: int) -> np.ndarray:
    """[batch, 8, 8, 1] of -1 and 1: one bright rectangle each."""
    generator = np.random.default_rng((seed, step))
    low, size = generator.integers(0, 5, (BATCH, 2)), generator.integers(2, 5, (BATCH, 2))
    at = np.arange(PIXELS)
    inside = (at >= low[..., None]) & (at < (low + size)[..., None])
    return np.where(inside[:, 0, :, None] & inside[:, 1, None, :], 1.0, -1.0)[..., None].astype(np.float32)


def make(seed: int) -> Problem:
    model, optimizer = UNet(), optax.adam(2e-3)
    kept = np.cumprod(1 - np.linspace(1e-3, 0.1, LEVELS)).astype(np.float32)
    parameters = jax.jit(model.init)(jax.random.key(seed), jnp.zeros((1, PIXELS, PIXELS, 1)), jnp.zeros(1, jnp.int32))

    def step(state: Tree, images: jax.Array) -> tuple[Tree, jax.Array]:
        key, level_key, noise_key = jax.random.split(state["key"], 3)
        level = jax.random.randint(level_key, (images.shape[0],), 0, LEVELS)
        noise = jax.random.normal(noise_key, images.shape)
        share = jnp.asarray(kept)[level][:, None, None, None]

        def loss_fn(parameters: Tree) -> jax.Array:
            noisy = jnp.sqrt(share) * images + jnp.sqrt(1 - share) * noise
            return jnp.mean((model.apply(parameters, noisy, level) - noise) ** 2)

        loss, gradients = jax.value_and_grad(loss_fn)(state["params"])
        updates, opt_state = optimizer.update(gradients, state["opt_state"])
        parameters = optax.apply_updates(state["params"], updates)
        average = optax.incremental_update(parameters, state["average"], 0.02)
        return {"params": parameters, "average": average, "opt_state": opt_state, "key": key}, loss

    state = {
        "params": parameters, "average": parameters, "opt_state": optimizer.init(parameters),
        "key": jax.random.key(seed + 100),
    }  # fmt: skip
    return Problem(step, state, lambda i: drawings(seed, i))
