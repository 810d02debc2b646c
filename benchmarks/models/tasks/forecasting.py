"""Temporal convolutions that forecast quantiles: weight-normalised dilated causal convolutions and the pinball loss.

flax.nnx; AdamW with a one-cycle rate. A series is normalised by its own mean and deviation, which come back at the end.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from benchmarks.models.tasks.problem import Problem, Tree

CHANNELS, HISTORY, HORIZON, BATCH = 24, 48, 12, 16
QUANTILES = (0.1, 0.5, 0.9)


class Block(nnx.Module):
    def __init__(self, channels: int, dilation: int, rngs: nnx.Rngs):
        self.gate = nnx.WeightNorm(
            nnx.Conv(channels, 2 * channels, (3,), kernel_dilation=(dilation,), padding="CAUSAL", rngs=rngs), rngs=rngs
        )
        self.mix = nnx.Linear(channels, channels, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        value, gate = jnp.split(self.gate(x), 2, -1)
        return x + self.mix(jnp.tanh(value) * nnx.sigmoid(gate))


class Forecaster(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.enter = nnx.Linear(1, CHANNELS, rngs=rngs)
        self.blocks = nnx.List([Block(CHANNELS, dilation, rngs) for dilation in (1, 2, 4, 8)])
        self.leave = nnx.Linear(CHANNELS, HORIZON * len(QUANTILES), rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Quantiles [B, HORIZON, 3] of what follows a history [B, HISTORY]."""
        mean, deviation = x.mean(-1, keepdims=True), x.std(-1, keepdims=True) + 1e-3
        h = self.enter(((x - mean) / deviation)[..., None])
        for block in self.blocks:
            h = block(h)
        out = self.leave(nnx.relu(h[:, -1])).reshape(-1, HORIZON, len(QUANTILES))
        return out * deviation[..., None] + mean[..., None]


def series(seed: int, step: int) -> np.ndarray:
    """Seasons of two lengths, a trend and noise, in units from 1 to 1000."""
    generator = np.random.default_rng((seed, step))
    time = np.arange(HISTORY + HORIZON)
    phase, size = generator.random((2, BATCH, 1)) * 2 * np.pi, generator.normal(size=(3, BATCH, 1))
    x = np.sin(2 * np.pi * time / 12 + phase[0]) + size[0] * np.cos(2 * np.pi * time / 7 + phase[1]) / 2
    x = x + size[1] * time / HISTORY + 0.1 * generator.normal(size=x.shape)
    return ((x + 3 * size[2]) * 10 ** (3 * generator.random((BATCH, 1)))).astype(np.float32)


def make(seed: int) -> Problem:
    graph, parameters, others = nnx.split(Forecaster(nnx.Rngs(seed)), nnx.Param, ...)
    optimizer = optax.adamw(optax.cosine_onecycle_schedule(200, 1e-2))

    def loss_fn(parameters: Tree, x: jax.Array) -> jax.Array:
        history, future = x[:, :HISTORY], x[:, HISTORY:, None]
        error = (future - nnx.merge(graph, parameters, others)(history)) / (history.std(-1)[:, None, None] + 1e-3)
        levels = jnp.asarray(QUANTILES)
        return jnp.maximum(levels * error, (levels - 1) * error).mean()

    def step(state: Tree, x: jax.Array) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state
        loss, gradients = jax.value_and_grad(loss_fn)(parameters, x)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (optax.apply_updates(parameters, updates), opt_state), loss

    return Problem(step, (parameters, optimizer.init(parameters)), lambda i: series(seed, i))
