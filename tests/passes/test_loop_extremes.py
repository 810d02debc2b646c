"""`scalify-cast`: what a loop stacks of values with stand-ins for infinity is f32."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import scalify_hlo as sc

GENERATOR = np.random.default_rng(0)
X, Y = np.float32(GENERATOR.standard_normal((2, 12, 3)))
W = np.float32(np.eye(3) + 0.1 * GENERATOR.standard_normal((3, 3)))
FAR = 1e10


def soft_warping(w: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """Soft-DTW over anti-diagonals; the distance is the last of the stack."""
    count = len(x)
    cost = jnp.sum(((x @ w)[:, None] - y) ** 2, -1)
    column = jnp.arange(2 * count - 1)[:, None] - jnp.arange(count)
    inside = (column >= 0) & (column < count)
    diagonals = jnp.where(inside, cost[jnp.arange(count), jnp.clip(column, 0, count - 1)], FAR)

    def shifted(d: jax.Array) -> jax.Array:
        return jnp.concatenate([jnp.full(1, FAR), d[:-1]])

    def step(carry: tuple[jax.Array, jax.Array], c: jax.Array) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        last, before = carry
        d = c - jax.nn.logsumexp(-jnp.stack([last, shifted(last), shifted(before)]), 0)
        return (d, last), d

    start = jnp.full(count, FAR).at[0].set(cost[0, 0])
    return lax.scan(step, (start, jnp.full(count, FAR)), diagonals[1:])[1][-1, -1]


def paths_of_lengths(w: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """Log-likelihoods of sequences of some lengths, by a left-to-right model in a band: what is forbidden has -1e10."""
    score = jax.nn.log_softmax((x @ w) @ y.T)
    state = jnp.arange(12)
    score = jnp.where(abs(2 * state - state[:, None]) < 5, score, -FAR)
    allowed = (state[:, None] == state) | (state[:, None] + 1 == state)

    def step(last: jax.Array, s: jax.Array) -> tuple[jax.Array, jax.Array]:
        d = s + jax.nn.logsumexp(last[:, None] + jnp.where(allowed, 0.0, -FAR), 0)
        return d, d

    first = jnp.full(12, -FAR).at[0].set(score[0, 0])
    stack = lax.scan(step, first, score[1:])[1]
    lengths = jnp.array([3, 6, 10])
    return -jnp.mean(stack[lengths, lengths // 2])


def spread_of_fire(w: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
    """Times of arrival on a line between two walls, in a table that a loop fills row by row."""
    delay = jnp.abs(jnp.sum((x @ w) * y, -1)) + 0.1
    delay = jnp.where((jnp.arange(12) == 2) | (jnp.arange(12) == 10), FAR, delay)

    def row(i: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        last, table = carry
        sides = jnp.stack([last, jnp.roll(last, 1) + delay, jnp.roll(last, -1) + delay])
        d = jnp.min(sides, 0)
        return d, lax.dynamic_update_index_in_dim(table, d, i, 0)

    start = jnp.full(12, FAR).at[6].set(delay[6])
    return jnp.sum(lax.fori_loop(0, 8, row, (start, jnp.zeros((8, 12))))[1][-1, 3:9])


@pytest.mark.parametrize("precision", ["fp16", "fp8", "bf16"])
@pytest.mark.parametrize("loss", [soft_warping, paths_of_lengths, spread_of_fire])
def test_stacks_of_far_values_keep_the_others(loss: Callable[..., jax.Array], precision: str) -> None:
    """The stacks had the scale of 1e10 in f16, and the losses were 0."""

    gradient = jax.jit(jax.grad(loss))(W, X, Y)
    rate = float(np.linalg.norm(W) / np.linalg.norm(gradient))

    def step(w: jax.Array, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(w, x, y)
        return w - rate * gradient, value

    new, wanted = jax.jit(step)(W, X, Y)
    got, found = map(np.asarray, sc.scalify(step, precision=precision)(*sc.as_scaled_array((W, X, Y))))
    assert abs(float(found) - wanted) < 0.02 * abs(wanted)
    assert np.linalg.norm(got - new) < 0.1 * np.linalg.norm(new)
