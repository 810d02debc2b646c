"""A selective state-space model (Gu and Dao, 2023): input-dependent decay, solved by an associative scan.

equinox; AdamW that decays matrices only.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, SyntheticText, Tree, cross_entropy

VOCABULARY, WIDTH, INNER, STATES, CONTEXT, BATCH = 16, 32, 32, 8, 32, 8


class SelectiveLayer(eqx.Module):
    """Gated recurrence h = exp(delta A) h + delta B u, y = C h + D u, for each channel."""

    norm: eqx.nn.RMSNorm
    into: eqx.nn.Linear
    convolution: jax.Array
    parameters: eqx.nn.Linear
    step_size: eqx.nn.Linear
    log_decay: jax.Array
    skip: jax.Array
    out: eqx.nn.Linear

    def __init__(self, key: jax.Array):
        a, b, c, d, e = jax.random.split(key, 5)
        self.norm = eqx.nn.RMSNorm(WIDTH)
        self.into = eqx.nn.Linear(WIDTH, 2 * INNER, use_bias=False, key=a)
        self.convolution = jax.random.normal(b, (4, INNER)) / 2
        self.parameters = eqx.nn.Linear(INNER, 2 * STATES, use_bias=False, key=c)
        self.step_size = eqx.nn.Linear(INNER, INNER, key=d)
        self.log_decay = jnp.log(jnp.tile(jnp.arange(1.0, STATES + 1), (INNER, 1)))
        self.skip = jnp.ones(INNER)
        self.out = eqx.nn.Linear(INNER, WIDTH, use_bias=False, key=e)

    def __call__(self, x: jax.Array) -> jax.Array:
        u, gate = jnp.split(jax.vmap(self.into)(jax.vmap(self.norm)(x)), 2, axis=-1)
        padded = jnp.pad(u, ((3, 0), (0, 0)))
        u = jax.nn.silu(sum(padded[i : i + len(u)] * self.convolution[i] for i in range(4)))
        b, c = jnp.split(jax.vmap(self.parameters)(u), 2, axis=-1)
        delta = jax.nn.softplus(jax.vmap(self.step_size)(u) - 2.0)
        decay = jnp.exp(-delta[..., None] * jnp.exp(self.log_decay))  # [time, channels, states]
        drive = (delta * u)[..., None] * b[:, None, :]

        def combine(left: Any, right: Any) -> Any:
            return left[0] * right[0], right[0] * left[1] + right[1]

        _, states = jax.lax.associative_scan(combine, (decay, drive))
        y = jnp.einsum("tcs,ts->tc", states, c) + self.skip * u
        return x + jax.vmap(self.out)(y * jax.nn.silu(gate))


class StateSpaceModel(eqx.Module):
    embedding: eqx.nn.Embedding
    layers: list[SelectiveLayer]
    norm: eqx.nn.RMSNorm
    head: eqx.nn.Linear

    def __init__(self, key: jax.Array):
        a, b, c, d = jax.random.split(key, 4)
        self.embedding = eqx.nn.Embedding(VOCABULARY, WIDTH, key=a)
        self.layers = [SelectiveLayer(b), SelectiveLayer(c)]
        self.norm = eqx.nn.RMSNorm(WIDTH)
        self.head = eqx.nn.Linear(WIDTH, VOCABULARY, key=d)

    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = jax.vmap(self.embedding)(tokens)
        for layer in self.layers:
            x = layer(x)
        return jax.vmap(self.head)(jax.vmap(self.norm)(x))


def make(seed: int) -> Problem:
    text = SyntheticText(VOCABULARY)
    model = StateSpaceModel(jax.random.PRNGKey(seed))
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    decayed = jax.tree.map(lambda p: np.ndim(p) > 1, parameters)
    optimizer = optax.adamw(5e-3, weight_decay=0.05, mask=decayed)

    def loss_fn(parameters: Tree, tokens: jax.Array) -> jax.Array:
        return cross_entropy(jax.vmap(eqx.combine(parameters, static))(tokens[:, :-1]), tokens[:, 1:])

    def step(state: Tree, tokens: jax.Array) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, tokens)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (eqx.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: text.batch(seed, i, BATCH, CONTEXT))
