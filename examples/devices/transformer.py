"""A block of a transformer, written for one device; `constrain` and `attend` are where examples say more."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from examples.devices.training import HEADS, HIDDEN, WIDTH, norm, normal

# Takes an activation and where in the block it is: "residual", "heads" or "hidden".
Constrain = Callable[[jax.Array, str], jax.Array]
# Takes queries, keys and values of shape (batch, length, heads, size).
Attend = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]


def parameters(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The weights of one block."""
    return {
        **{name: normal(rng, WIDTH, WIDTH) for name in ("q", "k", "v", "o")},
        "up": normal(rng, WIDTH, HIDDEN),
        "down": normal(rng, HIDDEN, WIDTH),
    }


def attention(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Causal attention."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    length = q.shape[1]
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9))
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def block(
    p: Any, x: jax.Array, constrain: Constrain = lambda x, place: x, attend: Attend = attention  # noqa: ARG005
) -> jax.Array:  # fmt: skip
    """Attention and MLP, each in a residual branch. x: (batch, length, width)."""
    h = norm(x)
    heads = (constrain((h @ p[name]).reshape(*x.shape[:2], HEADS, -1), "heads") for name in ("q", "k", "v"))
    x = constrain(x + attend(*heads).reshape(x.shape) @ p["o"], "residual")
    hidden = constrain(jax.nn.gelu(norm(x) @ p["up"]), "hidden")
    return constrain(x + hidden @ p["down"], "residual")
