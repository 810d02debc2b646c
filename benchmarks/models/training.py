"""What the models share: a training step with Adam, and drawing of initial parameters."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Tree = Any  # nested dicts and lists of arrays


@dataclasses.dataclass(frozen=True)
class Model:
    """A model of some depth, ready to be trained.

    parameters: f32 NumPy arrays; zeros for biases, ones for gains.
    loss: (parameters, batch) -> rank-0 mean loss, in the parameters' type; float members of the batch have it too.
    batch: NumPy arrays; floats are f32.
    """

    name: str
    parameters: Tree
    loss: Callable[[Tree, Tree], jax.Array]
    batch: Tree


def draw(generator: np.random.Generator, *shape: int, fan_in: int = 0) -> np.ndarray:
    """Gaussian f32 weights of standard deviation 1/sqrt(fan_in), by default the product of all but the last size."""
    fan_in = fan_in or int(np.prod(shape[:-1]))
    return (generator.normal(size=shape) / np.sqrt(fan_in)).astype(np.float32)


def adam(loss: Callable[[Tree, Tree], jax.Array], state: Tree, batch: Tree, rate: jax.Array) -> tuple[Tree, jax.Array]:
    """One step of Adam (Kingma and Ba, 2015) with bias correction: the next state, and the loss before it.

    state: {"parameters", "first_moment", "second_moment", "step"}. The epsilon, 2^-20, is one that f16 holds.
    """
    value, gradients = jax.value_and_grad(loss)(state["parameters"], batch)
    step = state["step"] + 1
    count = step.astype(jnp.float32)
    corrections = [(1 - np.float32(b) ** count).astype(value.dtype) for b in (0.9, 0.95)]
    first = jax.tree.map(lambda m, g: 0.9 * m + (1 - 0.9) * g, state["first_moment"], gradients)
    second = jax.tree.map(lambda v, g: 0.95 * v + (1 - 0.95) * jnp.square(g), state["second_moment"], gradients)

    def updated(p: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
        return p - rate * (m / corrections[0]) / (jnp.sqrt(v / corrections[1]) + 2.0**-20)

    parameters = jax.tree.map(updated, state["parameters"], first, second)
    return {"parameters": parameters, "first_moment": first, "second_moment": second, "step": step}, value


def initial_state(parameters: Tree) -> Tree:
    """Adam's state before the first step: its moments are zeros."""

    def zeros() -> Tree:
        return jax.tree.map(np.zeros_like, parameters)

    return {
        "parameters": parameters,
        "first_moment": zeros(),
        "second_moment": zeros(),
        "step": np.zeros((), np.int32),
    }


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean cross-entropy in nats of logits [..., V] and int32 labels [...]."""
    chosen = jnp.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - chosen)
