"""MAML with learned rates (Meta-SGD; Li et al., 2017): sines are fitted in three inner steps that are differentiated.

JAX alone; Adam, clipped element by element. Second derivatives through inner steps at rates exp(r).
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

WIDTH, INNER_STEPS, TASKS, SHOTS = 24, 3, 8, 10


def sines(seed: int, step: int) -> tuple[np.ndarray, ...]:
    """Support points and values, query points and values, [TASKS, SHOTS, 1] each."""
    generator = np.random.default_rng((seed, step))
    size, phase = generator.uniform(0.5, 3, (TASKS, 1, 1)), generator.uniform(0, np.pi, (TASKS, 1, 1))
    x = generator.uniform(-4, 4, (TASKS, 2 * SHOTS, 1))
    y = size * np.sin(x + phase)
    return tuple(part.astype(np.float32) for part in (x[:, :SHOTS], y[:, :SHOTS], x[:, SHOTS:], y[:, SHOTS:]))


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    sizes = (1, WIDTH, WIDTH, 1)
    layers = [(draw(generator, a, b), np.zeros(b, np.float32)) for a, b in itertools.pairwise(sizes)]
    parameters = {"layers": layers, "log_rates": np.full(INNER_STEPS, np.log(0.05), np.float32)}
    optimizer = optax.chain(optax.clip(10.0), optax.adam(3e-3))

    def error(layers: Tree, x: jax.Array, y: jax.Array) -> jax.Array:
        for weight, bias in layers[:-1]:
            x = jnp.tanh(x @ weight + bias)
        return jnp.mean((x @ layers[-1][0] + layers[-1][1] - y) ** 2)

    def adapted(parameters: Tree, x: jax.Array, y: jax.Array, queried: jax.Array, answers: jax.Array) -> jax.Array:
        layers = parameters["layers"]
        for i in range(INNER_STEPS):
            gradient, rate = jax.grad(error)(layers, x, y), jnp.exp(parameters["log_rates"][i])
            layers = jax.tree.map(lambda w, g, rate=rate: w - rate * g, layers, gradient)
        return error(layers, queried, answers)

    def loss_fn(parameters: Tree, batch: Tree) -> jax.Array:
        return jnp.mean(jax.vmap(adapted, in_axes=(None, 0, 0, 0, 0))(parameters, *batch))

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: sines(seed, i))
