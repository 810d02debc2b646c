"""A diagonal state-space model (S4D, Gu et al., 2022): fixed decays, discretised exactly, solved by a parallel prefix.

flax.linen; Adam behind a clipped global norm. The length is a power of two, so that the prefix has empty halves.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, SyntheticText, Tree, cross_entropy

VOCABULARY, WIDTH, STATES, CONTEXT, BATCH = 16, 24, 8, 32, 8


class Recurrence(nn.Module):
    """y = C h + D u, h' = A h + B u with A = exp(-step * exp(log_decay)) and B held over each step."""

    @nn.compact
    def __call__(self, u: jax.Array) -> jax.Array:
        def log_steps(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
            return jax.random.uniform(key, shape, minval=np.log(1e-2), maxval=np.log(1e-1))

        def log_decays(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
            del key
            return jnp.log(0.5 + jnp.broadcast_to(jnp.arange(float(STATES)), shape))

        shape = (WIDTH, STATES)
        size = jnp.exp(self.param("log_step", log_steps, (WIDTH,)))[:, None]
        rate = -jnp.exp(self.param("log_decay", log_decays, shape))
        decay = jnp.exp(size * rate)
        drive = u[..., None] * ((decay - 1) / rate * self.param("in", nn.initializers.ones, shape))

        def combine(left: Any, right: Any) -> Any:
            return left[0] * right[0], right[0] * left[1] + right[1]

        _, states = jax.lax.associative_scan(combine, (jnp.broadcast_to(decay, drive.shape), drive), axis=1)
        out, skip = (
            self.param("out", nn.initializers.normal(1.0), shape),
            self.param("skip", nn.initializers.ones, (WIDTH,)),
        )
        return (states * out).sum(-1) + skip * u


class Model(nn.Module):
    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = nn.Embed(VOCABULARY, WIDTH)(tokens)
        for _ in range(2):
            value, gate = jnp.split(nn.Dense(2 * WIDTH)(nn.gelu(Recurrence()(nn.LayerNorm()(x)))), 2, -1)
            x = x + value * jax.nn.sigmoid(gate)
        return nn.Dense(VOCABULARY)(nn.LayerNorm()(x))


def make(seed: int) -> Problem:
    text, model = SyntheticText(VOCABULARY), Model()
    parameters = model.init(jax.random.PRNGKey(seed), text.batch(0, 0, BATCH, CONTEXT)[:, :-1])
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))

    def loss_fn(parameters: Tree, tokens: jax.Array) -> jax.Array:
        return cross_entropy(model.apply(parameters, tokens[:, :-1]), tokens[:, 1:])

    def step(state: Tree, tokens: jax.Array) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, tokens)
        updates, opt_state = optimizer.update(gradients, opt_state)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: text.batch(seed, i, BATCH, CONTEXT))
