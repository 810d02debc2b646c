"""Insurance claims by a Tweedie deviance whose power is learned, and an ordinal rating by cumulative thresholds.

JAX alone; Adam. One network, two outputs; powers mu^(1 - p) with an exponent of run time.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

FEATURES, WIDTH, BATCH = 6, 32, 64
_SLOPES = np.random.default_rng(2).normal(size=FEATURES) / 2


def claims(seed: int, step: int) -> tuple[np.ndarray, ...]:
    """Features, total of claims (many are 0), and a rating from 0 to 3."""
    generator = np.random.default_rng((seed, step))
    x = generator.normal(size=(BATCH, FEATURES))
    total = np.float32([generator.gamma(2.0, 0.5, count).sum() for count in generator.poisson(np.exp(x @ _SLOPES))])
    rating = np.digitize(x @ _SLOPES[::-1] + 0.3 * generator.logistic(size=BATCH), [-1, 0, 1])
    return x.astype(np.float32), total, rating.astype(np.int32)


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    sizes = (FEATURES, WIDTH, WIDTH, 2)
    parameters = {
        "layers": [(draw(generator, a, b), np.zeros(b, np.float32)) for a, b in itertools.pairwise(sizes)],
        "thresholds": np.float32([-1.0, 0.5, 0.5]),
        "power": np.zeros(1, np.float32),
    }
    optimizer = optax.adam(5e-3)

    def loss_fn(parameters: Tree, x: jax.Array, total: jax.Array, rating: jax.Array) -> jax.Array:
        layers = parameters["layers"]
        for weight, bias in layers[:-1]:
            x = jax.nn.relu(x @ weight + bias)
        out = x @ layers[-1][0] + layers[-1][1]
        mean, p = jnp.exp(out[:, 0]), 1 + jax.nn.sigmoid(parameters["power"][0])
        deviance = -total * mean ** (1 - p) / (1 - p) + mean ** (2 - p) / (2 - p)
        first, steps = parameters["thresholds"][:1], jax.nn.softplus(parameters["thresholds"][1:])
        below = jax.nn.sigmoid(jnp.cumsum(jnp.concatenate([first, steps])) - out[:, 1:])
        below = jnp.concatenate([jnp.zeros_like(below[:, :1]), below, jnp.ones_like(below[:, :1])], 1)
        share = jnp.take_along_axis(below[:, 1:] - below[:, :-1], rating[:, None], 1)
        return jnp.mean(deviance) - jnp.mean(jnp.log(share + 1e-8))

    def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, *batch)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: claims(seed, i))
