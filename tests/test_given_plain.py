"""What a step is given beside its state may be of any size: plain arrays, and masks of scores as numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

PRESETS = ("fp16", "fp16-state", "fp8", "fp8-fp16-state")
rng = np.random.default_rng(5)


def error(found, wanted) -> float:
    wanted = np.asarray(wanted, np.float64)
    return float(np.linalg.norm(np.asarray(found, np.float64) - wanted) / np.linalg.norm(wanted))


def train(weights, x, y):
    """One step of a regression on features in units of their own."""

    def loss(w):
        return jnp.mean((jax.nn.relu(x @ w[0]) @ w[1] - y) ** 2)

    value, gradients = jax.value_and_grad(loss)(weights)
    return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, gradients), value, gradients


@pytest.mark.parametrize("precision", PRESETS)
@pytest.mark.parametrize("size", [1e-7, 1e6])
def test_raw_features_as_plain_arrays(precision: str, size: float):
    x, y = np.float32(rng.standard_normal((32, 16)) * size), np.float32(rng.standard_normal((32, 1)))
    weights = [np.float32(rng.standard_normal(s) / 4) for s in ((16, 32), (32, 1))]
    weights[0] /= size
    _, value, gradients = jax.jit(train)(weights, x, y)
    _, found, found_gradients = sc.scalify(train, precision=precision)(sc.as_scaled_array(weights), x, y)
    assert error(found, value) < 2e-3
    assert max(map(error, found_gradients, gradients)) < 0.03


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_raw_features_of_a_forward_program(precision: str):
    x, w = np.float32(rng.standard_normal((64, 32)) * 3000), np.float32(rng.standard_normal((32, 48)) / 2e4)
    v = np.float32(rng.standard_normal((48, 32)) / 7)
    found = sc.scalify(lambda w, v, x: jnp.tanh(x @ w) @ v, precision=precision)(*sc.as_scaled_array((w, v)), x)
    assert error(found, np.tanh(x @ w) @ v) < (0.08 if precision == "fp8" else 1e-3)


def test_kinds_of_results_are_those_that_were_asked_for():
    """A scale that was given inside of the step is no scale outside of it; a plain state stays plain."""

    def step(state, x, rate):
        return {"w": state["w"] - rate * (x.T @ x) @ state["w"], "seen": state["seen"] + x[0]}, x * 2

    state = {"w": sc.as_scaled_array(np.float32(rng.standard_normal((8, 8)))), "seen": np.zeros(8, np.float32)}
    x = np.float32(rng.standard_normal((4, 8)) * 1e5)
    found, doubled = sc.scalify(step, precision="fp16")(state, x, 1e-12)
    assert isinstance(found["w"], sc.ScaledArray)
    assert not isinstance(found["seen"], sc.ScaledArray) and not isinstance(doubled, sc.ScaledArray)
    assert error(doubled, 2 * x) < 1e-3 and doubled.dtype == np.float32


def test_plain_arrays_under_vmap_and_scan():
    w, x = (
        sc.as_scaled_array(np.float32(rng.standard_normal((16, 8)) / 4e5)),
        np.float32(rng.standard_normal((3, 8, 16))),
    )
    x *= np.float32([[[1e5]], [[1e6]], [[1e4]]])
    f = sc.scalify(lambda w, x: jnp.tanh(x @ w), precision="fp16")
    wanted = np.tanh(x @ np.asarray(w))
    assert error(jax.vmap(f, in_axes=(None, 0))(w, x), wanted) < 2e-3
    assert error(jax.lax.scan(lambda c, each: (c, f(c, each)), w, x)[1], wanted) < 2e-3


def attend(weights, x, mask):
    """One step of attention with an additive mask, as a batch holds one."""

    def loss(w):
        q, k, v = (x @ w[i] for i in range(3))
        scores = jnp.einsum("btd,bsd->bts", q, k) / 4 + mask
        return jnp.mean((jax.nn.softmax(scores, -1) @ v @ w[3]) ** 2)

    value, gradients = jax.value_and_grad(loss)(weights)
    return [w - 1e-2 * g for w, g in zip(weights, gradients, strict=True)], value, gradients


@pytest.mark.parametrize("precision", PRESETS)
@pytest.mark.parametrize("hidden", [-1e9, -1e20, float(np.finfo(np.float32).min), -np.inf])
@pytest.mark.parametrize("scaled", [False, True], ids=["plain", "scaled"])
def test_masks_of_scores_that_are_given_as_numbers(precision: str, hidden: float, *, scaled: bool):
    weights = [np.float32(rng.standard_normal((16, 16)) / 4) for _ in range(4)]
    x = np.float32(rng.standard_normal((4, 8, 16)))
    mask = np.where(np.tril(np.ones((8, 8), bool)), np.float32(0), np.float32(hidden))[None].repeat(4, 0)
    _, value, gradients = jax.jit(attend)(weights, x, mask)
    given = sc.as_scaled_array((x, mask)) if scaled else (x, mask)
    _, found, found_gradients = sc.scalify(attend, precision=precision)(sc.as_scaled_array(weights), *given)
    assert error(found, value) < 2e-3
    assert max(map(error, found_gradients, gradients)) < 0.01


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
def test_a_row_of_which_all_is_hidden_stays_finite(precision: str):
    weights = [np.float32(rng.standard_normal((16, 16)) / 4) for _ in range(4)]
    x = np.float32(rng.standard_normal((4, 8, 16)))
    mask = np.where(np.tril(np.ones((8, 8), bool)), 0, np.finfo(np.float32).min).astype(np.float32)[None].repeat(4, 0)
    mask[1, 3] = np.finfo(np.float32).min
    _, found, _ = sc.scalify(attend, precision=precision)(*sc.as_scaled_array((weights, x, mask)))
    assert np.isfinite(float(found))


def test_the_largest_numbers_stand_for_infinity():
    """They say nothing of the size of a tensor, and stay finite."""
    least = np.finfo(np.float32).min
    for xp in (np, jnp):
        mask = sc.as_scaled_array(xp.asarray([0, 4, least], np.float32))
        assert float(mask.scale) == 2 and float(mask.data[2]) * 2 == least
        assert float(sc.as_scaled_array(xp.asarray([0, least], np.float32)).scale) == 1
        assert float(sc.as_scaled_array(xp.asarray([0, 2.0**60], np.float32)).scale) == 2.0**59
