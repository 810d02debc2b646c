"""What a training step is given is used as it is: differences, comparisons and ids of it, sums that count it.

# (1e5 + 9) - 1e5 = 9, of which f16 leaves 0: its numbers are 64 apart there
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic
from scalify_hlo.passes.auto_rescale import AutoRescale
from scalify_hlo.precision import Preset

PRESETS: tuple[Preset, ...] = ("fp16", "fp16-state")
ROWS, COLUMNS = 64, 16
_RANDOM = np.random.default_rng(0)
TIMES = np.float32(1e5 + np.cumsum(_RANDOM.uniform(60, 900, (ROWS, COLUMNS)), 1))
IDS = np.float32(_RANDOM.integers(2049, 4097, (ROWS, COLUMNS)))
WEIGHTS = np.float32(_RANDOM.normal(size=(COLUMNS, 32)) / 4)

Features = Callable[[jax.Array], jax.Array]
FEATURES: dict[str, tuple[Features, np.ndarray[Any, Any]]] = {
    "neighbours": (lambda t: (t - jnp.roll(t, 1, 1)) / 1e3, TIMES),
    "from the first": (lambda t: (t - t[:, :1]) / 1e4, TIMES),
    "spelled the other way round": (lambda t: -(-t + t[:, :1]) / 1e4, TIMES),
    "from the mean": (lambda t: (t - t.mean(1, keepdims=True)) / 1e4, TIMES),
    "of logarithms": (lambda t: (jnp.log(t) - jnp.log(t[:, :1])) * 10, TIMES),
    "compared": (lambda t: jnp.where(t > jnp.roll(t, 1, 1), 1.0, -1.0), IDS),
    "ids": (lambda t: jnp.sin(jnp.arange(4097.0) ** 2)[t.astype(jnp.int32)], IDS),
    "parity": (lambda t: jnp.mod(jnp.flip(t, 0), 2.0), IDS),
}


def _step(features: Features) -> Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
    def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(features(x) @ w) ** 2))(w)
        return w - gradient, loss

    return step


@pytest.mark.parametrize("precision", PRESETS)
@pytest.mark.parametrize("name", FEATURES)
def test_what_is_computed_of_inputs_is_exact(name: str, precision: Preset) -> None:
    features, x = FEATURES[name]
    step = _step(features)
    expected, _ = jax.jit(step)(WEIGHTS, x)
    state, given = sc.as_scaled_array((WEIGHTS, x))
    found = np.asarray(sc.scalify(step, precision=precision)(state, given)[0], np.float64)
    moved = np.linalg.norm(np.asarray(expected, np.float64) - WEIGHTS)
    rounding = np.linalg.norm(WEIGHTS) * 2.0**-11 if precision != "fp16" else 0.0  # weights in f16
    assert np.linalg.norm(found - expected) <= 4e-3 * moved + rounding


def _measured(features: Features) -> int:
    """How many differences of a step are measured."""
    with make_context():
        module = ir.Module.parse(jax.jit(_step(features)).lower(WEIGHTS, TIMES).as_text())
        remarks: list[Diagnostic] = []
        AutoRescale(places=("differences",)).apply(module, remarks)
        module.operation.verify()
    return sum("difference of elements" in remark.message for remark in remarks)


@pytest.mark.parametrize(
    ("features", "count"),
    [
        (lambda t: t[:, 1:] - t[:, :-1], 1),
        (lambda t: jnp.diff(t / 60), 1),
        (lambda t: t - jnp.mean(t, 1, keepdims=True), 1),
        (lambda t: t - 2 * t[::-1], 0),
        (lambda t: t - jnp.sum(t, 1, keepdims=True) / 7, 0),
        (lambda t: t[:, 1:] - 1e5, 0),
        (lambda t: t - jnp.sin(t), 1),  # of two tensors that are given, or computed of such
        (lambda t: jnp.where(t > 1e5, t, t[::-1]) - t, 2),  # and what a condition on them chooses
        (lambda t: jnp.where(t[0, 0] == 1, 0.0, t + jnp.sin(t)), 0),  # one that chooses all
        (lambda t: (t[:1] - t[:1, :1])[0, 1] * t, 1),
        (lambda t: (t[0, 0] - t[0, 1]) * t, 0),  # of one element
    ],
)
def test_which_differences_are_measured(features: Features, count: int) -> None:
    def padded(t: jax.Array) -> jax.Array:
        found = features(t)
        return jnp.concatenate([found, t[: found.shape[0], : COLUMNS - found.shape[1]]], 1)

    assert _measured(padded) == count


State = tuple[jax.Array, ...]


def _normalised(state: State, x: jax.Array) -> tuple[State, jax.Array]:
    """Inputs normalised by what the state has counted, averaged and summed of them, from a count of 1e-4."""
    w, n, mean, squares = state
    n = n + ROWS
    shift = x - mean
    mean = mean + shift.sum(0) / n
    squares = squares + jnp.sum(shift * (x - mean), 0)
    z = (x - mean) / (jnp.sqrt(squares / n) + 1e-6)
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(z @ w) ** 2))(w)
    return (w - gradient, n, mean, squares), loss


@pytest.mark.parametrize("precision", [*PRESETS, "fp8-fp16-state"])
def test_statistics_of_inputs_are_state_in_f32(precision: Preset) -> None:
    sizes = np.float32(10.0 ** np.linspace(-3, 3, COLUMNS))
    state = (WEIGHTS, np.float32(1e-4), np.zeros(COLUMNS, np.float32), np.zeros(COLUMNS, np.float32))
    step = sc.scalify(_normalised, precision=precision)
    scaled = sc.as_scaled_array(state)
    for i in range(3):
        x = np.float32(np.random.default_rng(i).normal(size=(ROWS, COLUMNS)) * sizes + sizes)
        given = sc.as_scaled_array(x)
        if not i:
            scaled, _ = step.stored(scaled, given)
        state, _ = jax.jit(_normalised)(state, x)
        scaled, _ = step(scaled, given)
    assert [leaf.data.dtype for leaf in scaled[2:]] == [np.float32, np.float32]
    assert float(scaled[1].scale) >= ROWS
    for found, expected in zip(scaled[1:], state[1:], strict=True):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)


@pytest.mark.parametrize("precision", PRESETS)
def test_rows_that_a_step_leaves_keep_their_digits(precision: Preset) -> None:
    """A table in f32 of which a step changes some rows, by a scatter or a slice: the others stay as they are."""

    def step(state: State, ids: jax.Array) -> tuple[State, jax.Array]:
        w, table, counts = state

        def loss(w: jax.Array, rows: jax.Array) -> jax.Array:
            return jnp.mean(jnp.tanh(rows @ w) ** 2)

        value, (dw, rows) = jax.value_and_grad(loss, (0, 1))(w, table[ids])
        counts = jax.lax.dynamic_update_slice(counts, counts[3:4] + 1, (3,))
        return (w - dw, table.at[ids].add(-1e-3 * rows), counts), value

    table = np.float32(np.random.default_rng(1).normal(size=(200, COLUMNS)))
    state = (WEIGHTS, table, np.full(8, 5000.0, np.float32))
    ids = np.arange(0, 50, dtype=np.int32)
    _, found, counts = sc.scalify(step, precision=precision)(sc.as_scaled_array(state), ids)[0]
    np.testing.assert_array_equal(np.asarray(found)[50:], table[50:])
    np.testing.assert_array_equal(np.asarray(counts), np.where(np.arange(8) == 3, 5001, 5000))


@pytest.mark.parametrize("precision", PRESETS)
def test_what_a_loop_stacks_for_the_gradient_of_a_logarithm(precision: Preset) -> None:
    """d log(m x + c) = m dx / (m x + c), of m = 0: of c = 1e-12 f16 leaves 0."""
    mask = np.float32(np.arange(32) % 3 > 0)

    def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(w: jax.Array) -> jax.Array:
            def add(total: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
                return total + mask * jnp.log(jnp.cosh(x @ w) * mask + 1e-12), None

            return jnp.mean(jax.lax.scan(add, jnp.zeros((ROWS, 32)), jnp.stack([w, 2 * w]))[0])

        value, gradient = jax.value_and_grad(loss)(w)
        return w - gradient, value

    x = np.float32(2 + np.random.default_rng(0).normal(size=(ROWS, COLUMNS)))
    expected, _ = jax.jit(step)(WEIGHTS, x)
    found = np.asarray(sc.scalify(step, precision=precision)(*sc.as_scaled_array((WEIGHTS, x)))[0], np.float32)
    assert np.isfinite(found).all()
    assert np.linalg.norm(found - expected) <= 0.05 * np.linalg.norm(expected - WEIGHTS)


@pytest.mark.parametrize("precision", PRESETS)
def test_positions_that_a_loop_moves(precision: Preset) -> None:
    """x + v dt, x = 7e3 and v dt of 1: the next number of f16 is 4 further."""

    def step(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(w: jax.Array) -> jax.Array:
            def move(_: jax.Array, x: jax.Array) -> jax.Array:
                return x + jnp.tanh(x / 1e4 @ w)

            return jnp.mean((jax.lax.fori_loop(0, 16, move, x) - x) ** 2)

        value, gradient = jax.value_and_grad(loss)(w)
        return w - gradient, value

    w = np.float32([[0.5, -0.2, 0.1], [0.1, 0.4, -0.3], [-0.2, 0.1, 0.6]])
    x = np.float32(np.random.default_rng(0).uniform(6e3, 8e3, (ROWS, 3)))
    _, expected = jax.jit(step)(w, x)
    _, found = sc.scalify(step, precision=precision)(*sc.as_scaled_array((w, x)))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=5e-3)


def test_weights_of_a_small_model_are_no_statistics() -> None:
    """Though its step is short, and its gradients are summed up by a loop."""

    def step(w: jax.Array, xs: jax.Array) -> tuple[jax.Array, jax.Array]:
        def add(total: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            value, gradient = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(x @ w) ** 2))(w)
            return total + gradient, value

        gradient, values = jax.lax.scan(add, jnp.zeros_like(w), xs)
        return w - gradient, values.mean()

    xs = np.float32(np.random.default_rng(0).normal(size=(4, ROWS, COLUMNS)))
    stored, _ = sc.scalify(step, precision="fp16-state").stored(*sc.as_scaled_array((WEIGHTS, xs)))
    assert stored.data.dtype == np.float16


# f = x + net, f - c: 10^4 - 10^4, and the gradient of (f - c)^2 is no 10^4
@pytest.mark.parametrize("offset", [0.0, 290.0, 1e4, 1e5])
@pytest.mark.parametrize("loss", ["squares", "products"])
def test_anomalies_of_a_corrected_input(loss: str, offset: float) -> None:
    rng = np.random.default_rng(0)
    sizes = [(16, 64), (64, 64), (64, 16)]
    weights = [np.float32(rng.standard_normal(s) / s[0] ** 0.5) for s in sizes]
    center = np.float32(np.full((64, 1), offset) + 8 * rng.integers(-2, 3, (64, 1)))
    x = np.float32(center + 8 * rng.standard_normal((64, 16)))
    wanted = np.float32(x + rng.standard_normal((64, 16)))

    def energy(f: jax.Array, center: jax.Array) -> jax.Array:
        return (f - center) * (f - center if loss == "squares" else jnp.roll(f - center, 1, 1))

    def step(weights: list[jax.Array], x: jax.Array, wanted: jax.Array, center: jax.Array) -> Any:
        def value(p: list[jax.Array]) -> jax.Array:
            f = x + jnp.tanh(jnp.tanh((x - center) @ p[0] / 8) @ p[1]) @ p[2]
            return jnp.mean((energy(f, center) - energy(wanted, center)) ** 2) / 100

        gradients = jax.grad(value)(weights)
        return [w - 1e-3 * g for w, g in zip(weights, gradients, strict=True)], gradients

    _, gradients = step(weights, x, wanted, center)
    _, found = sc.scalify(step, precision="fp16")(*sc.as_scaled_array((weights, x, wanted, center)))
    for one, other in zip(found, gradients, strict=True):
        assert np.linalg.norm(np.asarray(one) - other) < 5e-3 * np.linalg.norm(other)


def test_gradients_of_layers_of_raw_series() -> None:
    """Series of levels from .001 to 1e5, and a loss relative to each: what a gradient is summed of, small times
    large numbers, is 2^-20 of what their sizes foresee, and all of it was 0 in E5M2."""
    rng = np.random.default_rng(0)
    levels = np.float32(10 ** rng.uniform(-3, 5, (64, 1)))
    x = np.float32(levels * (1 + 0.3 * rng.standard_normal((64, 20))))
    w = np.float32(rng.standard_normal((20, 16)) / 20**0.5)

    def step(state: Any, x: jax.Array, y: jax.Array) -> Any:
        level = jnp.mean(jnp.abs(x), 1, keepdims=True)
        gradient = jax.grad(lambda w: jnp.mean(((x @ w - y) / level) ** 2))(state["w"])
        momentum = 0.9 * state["m"] + gradient
        return {"w": state["w"] - 1e-3 * momentum, "m": momentum}

    state, batch = {"w": w, "m": np.zeros_like(w)}, (x, x[:, :16] * np.float32(1.1))
    expected = np.asarray(jax.jit(step)(state, *batch)["m"])
    scaled = sc.scalify(step, precision="fp8")
    stored, *_ = scaled.stored(sc.as_scaled_array(state), *sc.as_scaled_array(batch))
    found = sc.asarray(scaled(stored, *sc.as_scaled_array(batch))["m"], np.float32)
    assert np.linalg.norm(found - expected) < 0.2 * np.linalg.norm(expected)
