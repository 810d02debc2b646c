"""Tables of which a few rows are read, and updated, most of the time: their state is measured by many of their rows."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import scalify_hlo as sc
from scalify_hlo.analysis.tables import rows_that_differ
from scalify_hlo.bindings import ir, make_context

WORDS, WIDTH, STEPS = 2000, 64, 40


# p(word) = 1 / word: word2vec, whose second table starts as zeros
@pytest.mark.parametrize("precision", ["fp16", "fp16-state", "fp8-fp16-state"])
def test_vectors_of_words(precision: Any) -> None:
    rng = np.random.default_rng(0)
    words = np.int32(rng.zipf(1.3, (STEPS, 512, 2)) % WORDS)
    words[..., 1] = (words[..., 0] * 7 + 3) % 50
    others = np.int32(rng.zipf(1.3, (STEPS, 512, 5)) % WORDS)
    table = {"in": np.float32((rng.random((WORDS, WIDTH)) - 0.5) / WIDTH), "out": np.zeros((WORDS, WIDTH), np.float32)}

    def loss(table: Any, words: Any, others: Any) -> Any:
        v = table["in"][words[:, 0]]
        near = jnp.sum(v * table["out"][words[:, 1]], -1)
        far = jnp.einsum("bd,bkd->bk", v, table["out"][others])
        return -jnp.mean(jax.nn.log_sigmoid(near) + jnp.sum(jax.nn.log_sigmoid(-far), -1))

    def step(state: Any, words: Any, others: Any) -> Any:
        table, sums = state
        value, gradient = jax.value_and_grad(loss)(table, words, others)
        sums = jax.tree.map(lambda s, g: s + g * g, sums, gradient)
        moved = jax.tree.map(lambda w, g, s: w - 0.2 * g * lax.rsqrt(s + 1e-7), table, gradient, sums)
        return (moved, sums), value

    state = table, jax.tree.map(lambda w: np.full_like(w, 0.1), table)
    exact, scaled = jax.jit(step), sc.scalify(step, precision=precision)
    stored = scaled.stored(sc.as_scaled_array(state), words[0], others[0])[0]
    losses = []
    for w, o in zip(words, others, strict=True):
        state, expected = exact(state, w, o)
        stored, found = scaled(stored, w, o)
        losses.append((float(expected), float(np.asarray(found))))
    fallen = losses[0][0] - losses[-1][0]
    assert fallen > 0.1
    assert abs(losses[-1][1] - losses[-1][0]) <= 0.01 * fallen


def _rows(function: Any, *arguments: Any) -> frozenset[int]:
    with make_context():
        module = ir.Module.parse(jax.jit(function).lower(*arguments).as_text())
        main = next(op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == "main")
        *_, last = main.regions[0].blocks[0].operations
        return rows_that_differ(last.operands[0])


TABLE, IDS, DENSE = np.zeros((50, 8), np.float32), np.arange(4, dtype=np.int32), np.zeros((4, 8), np.float32)


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        (lambda t, i, x: t - 0.1 * jax.grad(lambda t: jnp.sum(t[i] * x))(t), {0}),
        (lambda t, i, x: t - 0.1 * jax.grad(lambda t: jnp.sum(t.T[:, i] * x.T))(t), set()),  # moved: not looked at
        (lambda t, _i, _x: t - 0.1 * jnp.tanh(t), set()),
        (lambda t, i, _x: 0.9 * t + jax.grad(lambda t: jnp.sum(jnp.tanh(t[:, i])))(t), {1}),
    ],
    ids=["rows", "transposed", "dense", "columns"],
)
def test_which_dimensions_differ(function: Any, rows: set[int]) -> None:
    assert _rows(function, TABLE, IDS, DENSE) == rows
