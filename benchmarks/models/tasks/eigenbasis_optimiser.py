"""A classifier trained by SOAP (Vyas et al., 2024): Adam in the eigenvectors of Shampoo's statistics.

JAX alone; the statistics' bases are found by `eigh` in the first step, and improved by a QR decomposition every fifth.
"""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from benchmarks.models.tasks.problem import Problem, Tree, draw

SIZES, BATCH, EVERY = (24, 48, 40, 10), 64, 5
RATE, DECAY, FIRST, SECOND = 3e-3, 0.01, 0.9, 0.95


def model(weights: list[jax.Array], x: jax.Array) -> jax.Array:
    for w in weights[:-1]:
        x = jax.nn.silu(x @ w)
    return x @ weights[-1]


def soap(w: jax.Array, g: jax.Array, state: Tree, count: jax.Array) -> tuple[jax.Array, Tree]:
    """The next value of a matrix, and of what is kept of it."""
    left, right = state["left"], state["right"]
    left, right = SECOND * left + (1 - SECOND) * g @ g.T, SECOND * right + (1 - SECOND) * g.T @ g
    bases = state["bases"]

    def first() -> Any:
        return jnp.linalg.eigh(left)[1][:, ::-1], jnp.linalg.eigh(right)[1][:, ::-1]

    def improved() -> Any:
        return jnp.linalg.qr(left @ bases[0])[0], jnp.linalg.qr(right @ bases[1])[0]

    p, q = jax.lax.cond(count == 0, first, lambda: jax.lax.cond(count % EVERY == 0, improved, lambda: bases))
    mean = FIRST * state["mean"] + (1 - FIRST) * g
    square = SECOND * state["square"] + (1 - SECOND) * (p.T @ g @ q) ** 2
    corrected = jnp.sqrt(square / (1 - SECOND ** (count + 1))) + 1e-8
    update = p @ (p.T @ mean @ q / (1 - FIRST ** (count + 1)) / corrected) @ q.T
    kept = {"left": left, "right": right, "bases": (p, q), "mean": mean, "square": square}
    return w - RATE * (update + DECAY * w), kept


def step(state: Tree, batch: Tree) -> tuple[Tree, jax.Array]:
    weights, kept, count = state
    x, label = batch

    def loss_fn(weights: list[jax.Array]) -> jax.Array:
        return optax.softmax_cross_entropy_with_integer_labels(model(weights, x), label).mean()

    loss, gradients = jax.value_and_grad(loss_fn)(weights)
    number = count.astype(jnp.float32)
    following = [soap(w, g, own, number) for w, g, own in zip(weights, gradients, kept, strict=True)]
    return ([w for w, _ in following], [own for _, own in following], count + 1), loss


def make(seed: int) -> Problem:
    generator = np.random.default_rng(seed)
    weights = [draw(generator, n, m) for n, m in itertools.pairwise(SIZES)]
    kept = [
        {
            "left": np.zeros((n, n), np.float32), "right": np.zeros((m, m), np.float32),
            "bases": (np.eye(n, dtype=np.float32), np.eye(m, dtype=np.float32)),
            "mean": np.zeros((n, m), np.float32), "square": np.zeros((n, m), np.float32),
        }
        for n, m in itertools.pairwise(SIZES)
    ]  # fmt: skip
    teacher = np.random.default_rng(3).normal(size=(SIZES[0], SIZES[-1]))

    def batch(i: int) -> Tree:
        generator = np.random.default_rng((seed, i))
        x = generator.normal(size=(BATCH, SIZES[0]))
        label = np.argmax(np.tanh(x) @ teacher + generator.gumbel(size=(BATCH, SIZES[-1])), 1)
        return x.astype(np.float32), label.astype(np.int32)

    return Problem(step, (weights, kept, np.zeros((), np.int32)), batch)
