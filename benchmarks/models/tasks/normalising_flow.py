"""A normalising flow (RealNVP, Dinh et al., 2017): affine couplings with exponentials, log-determinants.

equinox; Adam with clipped gradients. The loss is the negative log-likelihood in nats of points of 6 coordinates.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

SIZE, HIDDEN, COUPLINGS, BATCH = 6, 32, 4, 128


class Coupling(eqx.Module):
    """Half of the coordinates decide shift and log-scale of the others; learned gains of all (ActNorm)."""

    network: eqx.nn.MLP
    log_gain: jax.Array
    shift: jax.Array
    flipped: bool = eqx.field(static=True)

    def __init__(self, key: jax.Array, flipped: bool):
        self.network = eqx.nn.MLP(SIZE // 2, SIZE, HIDDEN, 2, activation=jnp.tanh, key=key)
        self.log_gain, self.shift = jnp.zeros(SIZE), jnp.zeros(SIZE)
        self.flipped = flipped

    def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = x * jnp.exp(self.log_gain) + self.shift
        a, b = jnp.split(x[::-1] if self.flipped else x, 2)
        shift, log_scale = jnp.split(self.network(a), 2)
        log_scale = 2 * jnp.tanh(log_scale / 2)
        return jnp.concatenate([a, b * jnp.exp(log_scale) + shift]), jnp.sum(log_scale) + jnp.sum(self.log_gain)


class Flow(eqx.Module):
    couplings: list[Coupling]

    def __init__(self, key: jax.Array):
        self.couplings = [Coupling(k, i % 2 == 1) for i, k in enumerate(jax.random.split(key, COUPLINGS))]

    def log_likelihood(self, x: jax.Array) -> jax.Array:
        log_determinant = 0.0
        for coupling in self.couplings:
            x, change = coupling(x)
            log_determinant = log_determinant + change
        return jnp.sum(jax.scipy.stats.norm.logpdf(x)) + log_determinant


def points(seed: int, step: int) -> np.ndarray:
    """Points on a bent, noisy surface: three coordinates are functions of the other three."""
    generator = np.random.default_rng((seed, step))
    u = generator.normal(size=(BATCH, 3))
    v = np.stack([u[:, 0] ** 2 - 1, np.sin(2 * u[:, 1]), u[:, 0] * u[:, 2]], axis=1)
    return np.concatenate([u, v + 0.2 * generator.normal(size=v.shape)], axis=1).astype(np.float32)


def make(seed: int) -> Problem:
    parameters, static = eqx.partition(Flow(jax.random.PRNGKey(seed)), eqx.is_inexact_array)
    optimizer = optax.chain(optax.clip_by_global_norm(5.0), optax.adam(3e-3))

    def loss_fn(parameters: Tree, x: jax.Array) -> jax.Array:
        return -jnp.mean(jax.vmap(eqx.combine(parameters, static).log_likelihood)(x))

    def step(state: Tree, x: jax.Array) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, x)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: points(seed, i))
