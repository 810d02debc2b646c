"""A physics-informed network: -Laplace(u) = f on a square, u = 0 at its edge; second derivatives of the network.

equinox; Adam with an exponentially decaying rate. The loss is the mean square of the equation's residual,
relative to f's, and of u at the edge.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree

WIDTH, INSIDE, EDGE = 32, 128, 64


def make(seed: int) -> Problem:
    network = eqx.nn.MLP(2, "scalar", WIDTH, 3, activation=jnp.tanh, key=jax.random.PRNGKey(seed))
    parameters, static = eqx.partition(network, eqx.is_inexact_array)
    optimizer = optax.adam(optax.exponential_decay(1e-2, 100, 0.7))

    def residual(u: eqx.nn.MLP, point: jax.Array) -> jax.Array:
        x, y = point
        source = jnp.sin(jnp.pi * x) * jnp.sin(jnp.pi * y)
        return jnp.trace(jax.hessian(u)(point)) / (2 * jnp.pi**2) + source

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        u = eqx.combine(parameters, static)
        inside = jnp.mean(jnp.square(jax.vmap(lambda p: residual(u, p))(batch["inside"])))
        edge = jnp.mean(jnp.square(jax.vmap(u)(batch["edge"])))
        return 4 * (inside + edge)  # 1 for u = 0

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    def batch(i: int) -> Tree:
        generator = np.random.default_rng((seed, i))
        edge = generator.random((EDGE, 2))
        edge[np.arange(EDGE), np.arange(EDGE) % 2] = np.arange(EDGE) // 2 % 2
        return {"inside": generator.random((INSIDE, 2)).astype(np.float32), "edge": edge.astype(np.float32)}

    return Problem(step, (parameters, optimizer.init(parameters)), batch)
