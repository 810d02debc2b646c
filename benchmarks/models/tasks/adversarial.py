"""A generative adversarial network on a ring of Gaussians: two networks, two Adams; equinox.

A game has no falling loss: what is reported is the energy distance of generated points to the batch, which is 0 for
equal distributions.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

LATENT, WIDTH, BATCH = 8, 48, 128


def energy_distance(x: jax.Array, y: jax.Array) -> jax.Array:
    def mean(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.mean(jnp.sqrt(jnp.sum((a[:, None] - b[None]) ** 2, axis=-1) + 1e-6))

    return 2 * mean(x, y) - mean(x, x) - mean(y, y)


def ring(seed: int, step: int) -> np.ndarray:
    generator = np.random.default_rng((seed, step))
    angle = 2 * np.pi * generator.integers(0, 8, BATCH) / 8
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.05 * generator.normal(size=(BATCH, 2))
    return (1.5 * points).astype(np.float32)


def make(seed: int) -> Problem:
    keys = jax.random.split(jax.random.PRNGKey(seed), 2)
    networks = {
        "generator": eqx.nn.MLP(LATENT, 2, WIDTH, 2, activation=jax.nn.relu, key=keys[0]),
        "critic": eqx.nn.MLP(2, "scalar", WIDTH, 2, activation=jax.nn.leaky_relu, key=keys[1]),
    }
    parameters, static = eqx.partition(networks, eqx.is_inexact_array)
    optimizers = {"generator": optax.adam(1e-3, b1=0.5), "critic": optax.adam(2e-3, b1=0.5)}

    def apply(name: str, parameters: Tree, x: jax.Array) -> jax.Array:
        return jax.vmap(eqx.combine(parameters, static[name]))(x)

    def critic_loss(critic: Tree, real: jax.Array, false: jax.Array) -> jax.Array:
        return jnp.mean(
            jax.nn.softplus(-apply("critic", critic, real)) + jax.nn.softplus(apply("critic", critic, false))
        )

    def generator_loss(generator: Tree, critic: Tree, latent: jax.Array) -> Any:
        false = apply("generator", generator, latent)
        return jnp.mean(jax.nn.softplus(-apply("critic", critic, false))), false

    def update(name: str, state: Tree, gradients: Tree) -> Tree:
        updates, opt_state = optimizers[name].update(gradients, state["opt_state"])
        return {"params": optax.apply_updates(state["params"], updates), "opt_state": opt_state}

    def step(state: Tree, real: jax.Array) -> tuple[Tree, jax.Array]:
        key, subkey = jax.random.split(state["key"])
        latent = jax.random.normal(subkey, (BATCH, LATENT))
        false = apply("generator", state["generator"]["params"], latent)
        gradients = jax.grad(critic_loss)(state["critic"]["params"], real, false)
        critic = update("critic", state["critic"], gradients)
        gradients, false = jax.grad(generator_loss, has_aux=True)(
            state["generator"]["params"], critic["params"], latent
        )
        generator = update("generator", state["generator"], gradients)
        return {"generator": generator, "critic": critic, "key": key}, energy_distance(false, real)

    state: Tree = {
        name: {"params": parameters[name], "opt_state": optimizer.init(parameters[name])}
        for name, optimizer in optimizers.items()
    }
    return Problem(step, state | {"key": jax.random.PRNGKey(seed + 100)}, lambda i: ring(seed, i))
