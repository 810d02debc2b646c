"""State that a step replaces by something other than an update or an average returns at the scale that it came with."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import scalify_hlo as sc

RNG = np.random.default_rng(0)
FACTORS = (np.float32(RNG.random((40, 6)) + 0.1), np.float32(RNG.random((6, 30)) + 0.1))
COUNTS = np.float32(RNG.gamma(0.5, size=(40, 4)) @ RNG.gamma(0.5, size=(4, 30)))


def _factorise(state: Any, x: jax.Array) -> tuple[Any, jax.Array]:
    """Lee and Seung's multiplicative updates: w <- w (r h^T) / sum h."""
    w, h = state
    h = h * (w.T @ (x / (w @ h + 1e-9))) / (jnp.sum(w, 0)[:, None] + 1e-9)
    w = w * ((x / (w @ h + 1e-9)) @ h.T) / (jnp.sum(h, 1)[None] + 1e-9)
    y = w @ h
    return (w, h), jnp.mean(x * jnp.log((x + 1e-9) / (y + 1e-9)) - x + y)


def _largest(state: Any, x: jax.Array) -> tuple[Any, jax.Array]:
    """The largest magnitudes so far, forgotten slowly, from zeros on."""
    largest, count = state
    return (jnp.maximum(0.99 * largest, jnp.abs(x * 1e-3)), count + 1), jnp.sum(largest)


def _scales(tree: Any) -> list[float]:
    leaves = jax.tree.leaves(tree, is_leaf=lambda leaf: isinstance(leaf, sc.ScaledArray))
    return [float(leaf.scale) for leaf in leaves if isinstance(leaf, sc.ScaledArray)]


@pytest.mark.parametrize("precision", ["f32", "bf16", "fp16", "fp16-state", "fp8"])
def test_factors_that_are_multiplied(precision: Any) -> None:
    """The scale of one factor doubled in each step, that of the other halved: NaN at step 12 in fp16."""
    step = jax.jit(sc.scalify(_factorise, precision=precision))
    state, wanted = sc.as_scaled_array(FACTORS), FACTORS
    before = _scales(state)
    for _ in range(60):
        state, loss = step(state, sc.as_scaled_array(COUNTS))
        wanted, right = jax.jit(_factorise)(wanted, COUNTS)
        assert abs(float(np.asarray(loss)) - float(right)) < 0.01
    assert _scales(state) == before


def test_in_exported_programs() -> None:
    exported = sc.scalify_exported(export.export(jax.jit(_factorise))(FACTORS, COUNTS))
    state, before = sc.as_scaled_array(FACTORS), _scales(sc.as_scaled_array(FACTORS))
    for _ in range(4):
        state, _ = exported.call(state, sc.as_scaled_array(COUNTS))
    assert _scales(state) == before


def test_zeros_take_the_scale_of_what_replaces_them() -> None:
    step = jax.jit(sc.scalify(_largest))
    state = sc.as_scaled_array((np.zeros((4, 8), np.float32), np.float32(0)))
    for i in range(3):
        state, _ = step(state, sc.as_scaled_array(np.float32(RNG.standard_normal((4, 8)))))
        assert np.all(np.isfinite(np.asarray(state[0].data))), i
    assert 2.0**-40 < float(state[0].scale) < 1


def test_a_function_of_two_tensors_is_no_step() -> None:
    x, y = sc.scaled_array(FACTORS[0], 2.0**20), sc.scaled_array(FACTORS[0], 2.0**30)
    product, quotient = sc.scalify(lambda a, b: (a * b, a / b))(x, y)
    assert math.log2(float(product.scale)) > 48 and math.log2(float(quotient.scale)) < -8


# w' = w + (w_0 + s' - w): the new weights hold where training began, as betting optimisers write them
def test_weights_that_are_a_sum_of_where_training_began() -> None:
    rng = np.random.default_rng(0)
    start = np.float32(rng.standard_normal((8, 32)) / 3), np.float32(rng.standard_normal((32, 4)) / 6)

    def step(state: Any, x: Any) -> Any:
        weights, (sums, began) = state
        gradient = jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w[0]) @ w[1] - x[:, :4]) ** 2))(weights)
        sums = jax.tree.map(lambda s, g: s - 0.1 * g, sums, gradient)
        update = jax.tree.map(lambda w, s, b: b + s - w, weights, sums, began)
        return jax.tree.map(jnp.add, weights, update), (sums, began)

    scaled = sc.scalify(step, precision="fp8-fp16-state")
    x = sc.as_scaled_array(np.float32(rng.standard_normal((64, 8))))
    state = start, (jax.tree.map(np.zeros_like, start), start)
    stored = scaled.stored(sc.as_scaled_array(state), x)[0]
    after = jax.lax.scan(lambda state, _: (scaled(state, x), None), stored, None, length=3)[0]  # types stay
    exact = state
    for _ in range(3):
        exact = jax.jit(step)(exact, sc.asarray(x))
    for found, expected in zip(sc.tree.leaves(after), jax.tree.leaves(exact), strict=True):
        np.testing.assert_allclose(np.asarray(found, np.float64), expected, atol=4e-3)
