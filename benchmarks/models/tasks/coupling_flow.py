"""A flow of affine couplings (Dinh et al., 2017) on two half-moons: rates that start at zero, exp of a tanh.

flax.linen; AdamW.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

WIDTH, COUPLINGS, BATCH = 32, 6, 128


class Coupling(nn.Module):
    flipped: bool

    @nn.compact
    def __call__(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        held, moved = (x[:, 1:], x[:, :1]) if self.flipped else (x[:, :1], x[:, 1:])
        hidden = nn.relu(nn.Dense(WIDTH)(nn.relu(nn.Dense(WIDTH)(held))))
        scale, shift = jnp.split(nn.Dense(2, kernel_init=nn.initializers.zeros)(hidden), 2, -1)
        scale = jnp.tanh(scale)
        moved = moved * jnp.exp(scale) + shift
        return jnp.concatenate([moved, held] if self.flipped else [held, moved], -1), scale.sum(-1)


class Flow(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """Log-densities [batch] of points [batch, 2]."""
        volume = jnp.zeros(len(x))
        for i in range(COUPLINGS):
            x, change = Coupling(i % 2 == 1)(x)
            volume = volume + change
        return jax.scipy.stats.norm.logpdf(x).sum(-1) + volume


def moons(seed: int, step: int) -> np.ndarray:
    """Points of two interleaved half-circles, with noise of 0.05."""
    generator = np.random.default_rng((seed, step))
    angle, side = generator.random(BATCH) * np.pi, generator.integers(0, 2, BATCH)
    x = np.stack([np.cos(angle) * (1 - 2 * side) + side - 0.5, np.sin(angle) * (1 - 2 * side) + side / 2 - 0.25], -1)
    return (x + 0.05 * generator.normal(size=x.shape)).astype(np.float32)


def make(seed: int) -> Problem:
    flow = Flow()
    parameters = flow.init(jax.random.PRNGKey(seed), moons(0, 0))
    optimizer = optax.adamw(5e-3)

    def loss_fn(parameters: Tree, x: jax.Array) -> jax.Array:
        return -jnp.mean(flow.apply(parameters, x))

    def step(state: Tree, x: jax.Array) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, x)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: moons(seed, i))
