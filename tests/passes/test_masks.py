"""Finite stand-ins for minus infinity: rows of which all is masked have even weights in every type, as in f32."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import scalify_hlo
from scalify_hlo.passes.held_values import fits

CALLED, CHOSEN = "jnp.where, a function of its own", "lax.select"
LEAST = float(np.finfo(np.float32).min)


def _attention(how: str, mask: float, q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """The first rows see nothing."""
    rows = jnp.arange(q.shape[0])[:, None]
    seen = (rows > 1) & (rows >= jnp.arange(k.shape[0]))
    logits = q @ k.T
    masked = jnp.where(seen, logits, mask)
    if how == CHOSEN:
        masked = jax.lax.select(seen, logits, jnp.full_like(logits, mask))
    return jax.nn.softmax(masked, axis=-1) @ v


@pytest.mark.parametrize("how", [CALLED, CHOSEN])
@pytest.mark.parametrize(("precision", "mask"), [("fp16", -1e9), ("fp16", LEAST), ("bf16", LEAST)])
def test_rows_of_which_all_is_masked_are_finite(precision: Any, mask: float, how: str) -> None:
    """-inf - -inf: the number became infinite in the narrow type, whose range was looked at for arguments alone."""
    rng = np.random.default_rng(0)
    arrays = [np.float32(rng.standard_normal((4, 4))) for _ in range(3)]
    want = _attention(how, mask, *map(jnp.asarray, arrays))
    attention = scalify_hlo.scalify(lambda q, k, v: _attention(how, mask, q, k, v), precision=precision)
    got = attention(*(scalify_hlo.as_scaled_array(array, 1.0) for array in arrays))
    tolerance = 4e-3 if precision == "fp16" else 3e-2
    np.testing.assert_allclose(np.float32(got.data) * np.float32(got.scale), want, atol=tolerance)


def test_a_number_that_becomes_infinite_does_not_fit() -> None:
    assert fits(65504.0, "f16") and not fits(65535.0, "f16")
    assert fits(-3.38e38, "bf16") and not fits(LEAST, "bf16")
    assert fits(448.0, "f8E4M3FN") and not fits(460.0, "f8E4M3FN")


_LEFT = np.arange(9)[:, None] < np.array([9, 5, 7, 8])


def _forward_algorithm(emissions: jax.Array, transitions: jax.Array) -> jax.Array:
    """Of a hidden Markov model that starts in its first state, for sequences of unlike lengths: f32 [4]."""
    start = (jnp.ones((4, 6)) * -1e5).at[:, 0].set(0.0)

    def step(alpha: jax.Array, given: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        emission, is_left = given[0], given[1][:, None]
        new = jax.nn.logsumexp(alpha[:, :, None] + jax.nn.log_softmax(transitions), axis=1) + emission
        return is_left * new + (1 - is_left) * alpha, None

    last, _ = jax.lax.scan(step, start, (jnp.moveaxis(emissions, 1, 0), jnp.float32(_LEFT)))
    return jax.nn.logsumexp(last, axis=-1)


def _alignment(emissions: jax.Array, transitions: jax.Array) -> jax.Array:
    """Connectionist temporal classification as optax writes it: f32 [4]."""
    labels = jnp.array([[1, 2, 3], [2, 2, 1], [3, 1, 4], [5, 5, 5]])
    return optax.ctc_loss(emissions @ transitions, jnp.float32(~_LEFT.T), labels, jnp.zeros((4, 3)))


@pytest.mark.parametrize("program", [_forward_algorithm, _alignment])
def test_loops_that_start_from_a_far_number_however_it_is_written(program: Any) -> None:
    """1 * -1e5 was no constant: it entered the loop in f16, as minus infinity, and 0 * -inf is NaN."""
    rng = np.random.default_rng(0)
    arrays = [np.float32(rng.standard_normal(shape)) for shape in ((4, 9, 6), (6, 6))]
    function = jax.value_and_grad(lambda e, t: program(e, t).mean(), argnums=(0, 1))
    found = scalify_hlo.scalify(function, precision="fp16")(*scalify_hlo.as_scaled_array(arrays))
    wanted = jax.jit(function)(*arrays)
    for got, want in zip(jax.tree.leaves(scalify_hlo.asarray(found)), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.float32(got), want, atol=1e-2 * np.abs(want).max())


def _log_sums(x: jax.Array) -> jax.Array:
    """Of what came before, by way of jnp.logaddexp: what a transducer's loss is made of. f32 [9, 6]."""

    def step(total: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = jnp.logaddexp(x, total) + x
        return total, total

    return jax.lax.scan(step, jnp.full(6, -1e30), x)[1]


def _best_paths(x: jax.Array) -> jax.Array:
    """The best score of a path to each state (Viterbi)."""

    def step(best: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        best = jnp.max(best[:, None] + jnp.outer(x, x), axis=0)
        best = jnp.maximum(best, x)
        return best, best

    return jax.lax.scan(step, jnp.full(6, -1e9), x)[1]


def _smallest_so_far(x: jax.Array) -> jax.Array:
    """A running minimum as a comparison and a choice, and what it is of the present value."""

    def step(least: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        least = jnp.where(x < least, x, least)
        return least, least * jnp.tanh(x)

    return jax.lax.scan(step, jnp.full(6, 1e12), x)[1]


@pytest.mark.parametrize("program", [_log_sums, _best_paths, _smallest_so_far])
def test_a_far_bound_that_enters_a_loop_is_no_size_of_what_the_loop_returns(program: Any) -> None:
    """The bound's scale was that of all that follows: f16 stacks of it were zeros."""
    rng = np.random.default_rng(0)
    x, weights = np.float32(rng.standard_normal((9, 8))), np.float32(rng.standard_normal((8, 6)))
    function = scalify_hlo.scalify(lambda x, w: program(x @ w), precision="fp16")
    found = scalify_hlo.asarray(function(*scalify_hlo.as_scaled_array((x, weights))))
    want = program(x @ weights)
    np.testing.assert_allclose(np.float32(found), want, atol=2e-3 * np.abs(want).max())


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize("start", ["first", "rows", "least"])
def test_what_is_written_beside_stand_ins_for_infinity_keeps_its_size(precision: str, start: str) -> None:
    """Distances, of which those that are not known yet are 1e10: at its scale those that are were 0."""
    rng = np.random.default_rng(0)
    x, w = np.float32(rng.normal(size=(8, 16)) / 64), np.float32(rng.normal(size=(16, 16)) / 4)

    def distances(w: jax.Array, x: jax.Array) -> jax.Array:
        known, far = x @ w, jnp.full((9, 16), 1e10)
        if start == "first":
            return far.at[0].set(known[0])[0]
        return far.at[:8].set(known).min(0) if start == "rows" else far.at[jnp.arange(8) // 2].min(known).min(0)

    def loss(w: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.sum(jnp.tanh(distances(w, x)) * jnp.arange(16.0))

    for function in (distances, jax.grad(loss)):
        want = np.asarray(jax.jit(function)(w, x), np.float64)
        got = scalify_hlo.scalify(function, precision=precision)(*map(scalify_hlo.as_scaled_array, (w, x)))
        value = np.asarray(got.data, np.float64) * np.asarray(got.scale, np.float64)
        assert np.linalg.norm(value - want) < 0.01 * np.linalg.norm(want)
