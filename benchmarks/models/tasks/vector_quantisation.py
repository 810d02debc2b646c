"""A VQ-VAE (van den Oord et al., 2017) on discs: the nearest of 32 codes at each place, gradients straight through.

equinox; Adam. The loss is the mean square of the reconstruction's error, that of the codes and a quarter of that of
what they stand for.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

SIZE, WIDTH, CODES, BATCH = 12, 16, 32, 16


class Quantiser(eqx.Module):
    encoder: list[eqx.Module]
    decoder: list[eqx.Module]
    codes: jax.Array

    def __init__(self, key: jax.Array):
        keys = jax.random.split(key, 5)
        self.encoder = [
            eqx.nn.Conv2d(1, WIDTH, 4, 2, 1, key=keys[0]),
            eqx.nn.Conv2d(WIDTH, WIDTH, 3, 1, 1, key=keys[1]),
        ]
        self.decoder = [
            eqx.nn.Conv2d(WIDTH, WIDTH, 3, 1, 1, key=keys[2]),
            eqx.nn.ConvTranspose2d(WIDTH, 1, 4, 2, padding=1, key=keys[3]),
        ]
        self.codes = jax.random.uniform(keys[4], (CODES, WIDTH), minval=-1 / CODES, maxval=1 / CODES)

    def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The reconstruction of an image [1, SIZE, SIZE], and what the codes and the encoder pay."""
        first, second = self.encoder
        z = jnp.moveaxis(second(jax.nn.relu(first(x))), 0, -1)
        flat = z.reshape(-1, WIDTH)
        distance = jnp.sum(flat**2, 1, keepdims=True) - 2 * flat @ self.codes.T + jnp.sum(self.codes**2, 1)
        q = self.codes[jnp.argmin(distance, axis=1)].reshape(z.shape)
        pays = jnp.mean((q - jax.lax.stop_gradient(z)) ** 2) + 0.25 * jnp.mean((jax.lax.stop_gradient(q) - z) ** 2)
        q = z + jax.lax.stop_gradient(q - z)
        first, second = self.decoder
        return second(jax.nn.relu(first(jnp.moveaxis(q, -1, 0)))), pays


def discs(seed: int, step: int) -> np.ndarray:
    """f32 [BATCH, 1, SIZE, SIZE]: a disc in each image."""
    generator = np.random.default_rng((seed, step))
    grid = np.linspace(-1, 1, SIZE)
    centre = generator.uniform(-0.6, 0.6, (BATCH, 2, 1, 1))
    radius = generator.uniform(0.2, 0.6, (BATCH, 1, 1))
    inside = (grid[:, None] - centre[:, 0]) ** 2 + (grid - centre[:, 1]) ** 2 < radius**2
    return inside.astype(np.float32)[:, None] - np.float32(0.3)


def make(seed: int) -> Problem:
    parameters, static = eqx.partition(Quantiser(jax.random.PRNGKey(seed)), eqx.is_inexact_array)
    optimizer = optax.adam(3e-3)

    def loss_fn(parameters: Tree, x: jax.Array) -> jax.Array:
        y, pays = jax.vmap(eqx.combine(parameters, static))(x)
        return jnp.mean((y - x) ** 2) + jnp.mean(pays)

    def step(state: Tree, x: jax.Array) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, x)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: discs(seed, i))
