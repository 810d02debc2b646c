"""A transformer whose layers are a scan with rematerialisation, trained by Adafactor on two micro-batches a step.

jax alone. Parameters of the layers are stacked; gradients of micro-batches are added up in an outer scan.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, SyntheticText, Tree, cross_entropy, draw

VOCABULARY, WIDTH, HEADS, LAYERS, CONTEXT, MICRO_BATCHES, BATCH = 16, 32, 2, 3, 24, 2, 8


def initial_parameters(seed: int) -> Tree:
    generator = np.random.default_rng(seed)

    def stacked(*shape: int) -> np.ndarray:
        return np.stack([draw(generator, *shape) for _ in range(LAYERS)])

    return {
        "embedding": (0.5 * generator.normal(size=(VOCABULARY, WIDTH))).astype(np.float32),
        "positions": (0.2 * generator.normal(size=(CONTEXT, WIDTH))).astype(np.float32),
        "norm": np.ones(WIDTH, np.float32),
        "layers": {
            "norms": np.ones((LAYERS, 2, WIDTH), np.float32),
            "qkv": stacked(WIDTH, 3 * WIDTH),
            "output": stacked(WIDTH, WIDTH),
            "gate": stacked(WIDTH, 2 * WIDTH),
            "up": stacked(WIDTH, 2 * WIDTH),
            "down": stacked(2 * WIDTH, WIDTH),
        },
    }


def rms_norm(x: jax.Array, gain: jax.Array) -> jax.Array:
    return gain * x / jnp.sqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-5)


def layer(x: jax.Array, p: Tree) -> jax.Array:
    """One layer on x [batch, time, width]."""
    y = rms_norm(x, p["norms"][0]) @ p["qkv"]
    q, k, v = (a.reshape(*a.shape[:2], HEADS, -1) for a in jnp.split(y, 3, axis=-1))
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / np.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    x = x + jnp.einsum("bhts,bshd->bthd", weights, v).reshape(x.shape) @ p["output"]
    y = rms_norm(x, p["norms"][1])
    return x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]


def loss_fn(parameters: Tree, tokens: jax.Array) -> jax.Array:
    x = parameters["embedding"][tokens[:, :-1]] + parameters["positions"]
    x, _ = jax.lax.scan(lambda x, p: (jax.checkpoint(layer)(x, p), None), x, parameters["layers"])
    return cross_entropy(rms_norm(x, parameters["norm"]) @ parameters["embedding"].T, tokens[:, 1:])


def make(seed: int) -> Problem:
    text, parameters = SyntheticText(VOCABULARY), initial_parameters(seed)
    optimizer = optax.adafactor(0.02, min_dim_size_to_factor=16)

    def step(state: Tree, micro_batches: jax.Array) -> tuple[Tree, jax.Array]:
        parameters, opt_state = state

        def accumulate(carry: Any, tokens: jax.Array) -> Any:
            loss, gradients = jax.value_and_grad(loss_fn)(parameters, tokens)
            return jax.tree.map(jnp.add, carry, (loss, gradients)), None

        zeros = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, parameters))
        (loss, gradients), _ = jax.lax.scan(accumulate, zeros, micro_batches)
        gradients = jax.tree.map(lambda g: g / MICRO_BATCHES, gradients)
        updates, opt_state = optimizer.update(gradients, opt_state, parameters)
        return (optax.apply_updates(parameters, updates), opt_state), loss / MICRO_BATCHES

    def batch(i: int) -> np.ndarray:
        return text.batch(seed, i, MICRO_BATCHES * BATCH, CONTEXT).reshape(MICRO_BATCHES, BATCH, -1)

    return Problem(step, (parameters, optimizer.init(parameters)), batch)
