"""A network of sines (SIREN) that solves the Helmholtz equation: its loss has second derivatives, forward over reverse.

flax.linen; Adam with a cosine schedule.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn

from benchmarks.models.tasks.problem import Problem, Tree

WIDTH, LAYERS, POINTS, FREQUENCY, WAVE_NUMBER = 32, 3, 48, 5.0, np.pi


class Sines(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        for i in range(LAYERS):
            # Uniform up to 1 / inputs in the first layer, up to sqrt(6 / inputs) behind.
            spread = 1 / (3 * x.shape[-1]) if i == 0 else 2.0
            layer = nn.Dense(WIDTH, kernel_init=nn.initializers.variance_scaling(spread, "fan_in", "uniform"))
            x = jnp.sin((FREQUENCY if i == 0 else 1.0) * layer(x))
        return nn.Dense(1)(x)[..., 0]


def batch(seed: int, step: int) -> np.ndarray:
    """Points of the square from -1 to 1."""
    return (2 * np.random.default_rng((seed, step)).random((POINTS, 2)) - 1).astype(np.float32)


def make(seed: int) -> Problem:
    model = Sines()
    parameters = model.init(jax.random.PRNGKey(seed), np.zeros(2, np.float32))
    optimizer = optax.adam(optax.cosine_decay_schedule(3e-3, 200))

    def loss_fn(parameters: Tree, x: jax.Array) -> jax.Array:
        def u(point: jax.Array) -> jax.Array:
            return model.apply(parameters, point)

        def laplacian(point: jax.Array) -> jax.Array:
            return sum(jax.jvp(jax.grad(u), (point,), (along,))[1] @ along for along in jnp.eye(2))

        def residual(point: jax.Array) -> jax.Array:
            source = -(WAVE_NUMBER**2) * jnp.prod(jnp.sin(WAVE_NUMBER * point))
            return laplacian(point) + WAVE_NUMBER**2 * u(point) - source

        edge = jnp.concatenate([x.at[:, 0].set(1.0), x.at[:, 1].set(-1.0)])
        return jnp.mean(jax.vmap(residual)(x) ** 2) / 50 + jnp.mean(jax.vmap(u)(edge) ** 2)

    def step(state: Tree, x: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, x)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: batch(seed, i))
