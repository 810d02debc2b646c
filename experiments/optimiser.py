"""Adam with bias correction, and the learning rate's schedule."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp

BETA1, BETA2 = 0.9, 0.95  # the paper's, table 2
EPSILON = 1e-8


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Linear warm-up, then a cosine from the peak to a tenth of it; with a cooldown the peak, and a line to zero."""

    steps: int
    peak: float
    warm_up: int
    cooldown: int = 0

    def rate(self, step: int) -> float:
        if step < self.warm_up:
            return self.peak * (step + 1) / self.warm_up
        if self.cooldown:
            return self.peak * min(1.0, (self.steps - step) / (self.cooldown + 1))
        done = (step - self.warm_up) / max(self.steps - self.warm_up, 1)
        return self.peak * (0.55 + 0.45 * math.cos(math.pi * done))


def initial_state(parameters: Any) -> dict[str, Any]:
    """Parameters, Adam's moments and the step counter."""
    first, second = (jax.tree.map(jnp.zeros_like, parameters) for _ in range(2))
    return {"parameters": parameters, "first": first, "second": second, "step": jnp.zeros((), jnp.int32)}


def adam(state: dict[str, Any], gradients: Any, rate: jax.Array, deviations: Any = None) -> dict[str, Any]:
    """One update. Arithmetic is in f32; each part of the state keeps its type.

    deviations: by which the rate of each parameter is divided; None for 1.
    """
    step = state["step"] + 1
    count = step.astype(jnp.float32)
    corrections = 1 - BETA1**count, 1 - BETA2**count

    def moment(old: jax.Array, new: jax.Array, beta: float) -> jax.Array:
        return (beta * old.astype(jnp.float32) + (1 - beta) * new).astype(old.dtype)

    wide = jax.tree.map(lambda g: g.astype(jnp.float32), gradients)
    first = jax.tree.map(lambda m, g: moment(m, g, BETA1), state["first"], wide)
    second = jax.tree.map(lambda v, g: moment(v, jnp.square(g), BETA2), state["second"], wide)

    def updated(p: jax.Array, m: jax.Array, v: jax.Array, rate: jax.Array) -> jax.Array:
        m, v = m.astype(jnp.float32) / corrections[0], v.astype(jnp.float32) / corrections[1]
        return (p.astype(jnp.float32) - rate * m / (jnp.sqrt(v) + EPSILON)).astype(p.dtype)

    def rate_of(_: Any, deviation: float = 1) -> jax.Array:
        return rate if deviation == 1 else rate / deviation

    trees = (state["parameters"],) if deviations is None else (state["parameters"], deviations)
    parameters = jax.tree.map(updated, state["parameters"], first, second, jax.tree.map(rate_of, *trees))
    return {"parameters": parameters, "first": first, "second": second, "step": step}
