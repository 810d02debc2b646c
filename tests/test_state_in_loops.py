"""State that a loop updates keeps its scale, however sizes are estimated, or the one that each iteration measures."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

import scalify_hlo as sc
from scalify_hlo import budget

_CALLS = 50
_Tree = dict[str, Any]
_Rule = Callable[[jax.Array, _Tree, jax.Array], tuple[jax.Array, _Tree]]


def _sgd(w: jax.Array, state: _Tree, g: jax.Array) -> tuple[jax.Array, _Tree]:
    return w - 0.05 * g, state


def _momentum(w: jax.Array, state: _Tree, g: jax.Array) -> tuple[jax.Array, _Tree]:
    m = 0.9 * state["m"] + g
    return w - 0.01 * m, {**state, "m": m}


def _adam(w: jax.Array, state: _Tree, g: jax.Array) -> tuple[jax.Array, _Tree]:
    m = 0.9 * state["m"] + 0.1 * g
    v = 0.99 * state["v"] + 0.01 * g * g
    return w - 1e-2 * m / (jnp.sqrt(v) + 1e-8), {"m": m, "v": v}


def _sign(w: jax.Array, state: _Tree, g: jax.Array) -> tuple[jax.Array, _Tree]:
    m = 0.9 * state["m"] + 0.1 * g
    return w - 1e-3 * jnp.sign(m) - 1e-4 * w, {**state, "m": m}


_RULES: dict[str, _Rule] = {"sgd": _sgd, "momentum": _momentum, "adam": _adam, "sign": _sign}
_SLOPES: dict[str, Callable[[jax.Array], jax.Array]] = {
    "tanh": jnp.tanh, "relu": jax.nn.relu, "identity": lambda x: x, "silu": jax.nn.silu,
}  # fmt: skip


def _training(rule: str, slope: str, depth: int, nested: bool) -> Callable[..., Any]:
    """Updates of a small network in a scan over batches, or in one within another over epochs."""

    def loss(p: _Tree, x: jax.Array, y: jax.Array) -> jax.Array:
        for i in range(depth):
            x = _SLOPES[slope](x @ p[f"w{i}"] + p[f"b{i}"])
        return jnp.mean((x @ p["out"] - y) ** 2)

    def update(carried: tuple[_Tree, _Tree], batch: tuple[jax.Array, jax.Array]) -> tuple[Any, jax.Array]:
        parameters, state = carried
        value, g = jax.value_and_grad(loss)(parameters, *batch)
        new = {k: _RULES[rule](w, state[k], g[k]) for k, w in parameters.items()}
        return ({k: w for k, (w, _) in new.items()}, {k: s for k, (_, s) in new.items()}), value

    def step(carried: tuple[_Tree, _Tree], x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        if nested:
            return jax.lax.scan(lambda c, _: jax.lax.scan(update, c, (x, y)), carried, None, 2)
        return jax.lax.scan(update, carried, (x, y))

    return step


def _start(depth: int, size: float, rng: np.random.Generator) -> tuple[_Tree, _Tree]:
    """Parameters, biases of zeros among them, and moments of zeros."""
    parameters: _Tree = {}
    for i in range(depth):
        parameters[f"w{i}"] = (rng.standard_normal((8, 8)) * size / np.sqrt(8)).astype(np.float32)
        parameters[f"b{i}"] = np.zeros(8, np.float32)
    parameters["out"] = (rng.standard_normal((8, 1)) * size).astype(np.float32)
    return parameters, {k: {"m": np.zeros_like(w), "v": np.zeros_like(w)} for k, w in parameters.items()}


def _batches(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((2, 16, 8)).astype(np.float32)
    return x, np.sin(3 * x[..., :1]).astype(np.float32)


@settings(max_examples=4, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(
    rule=st.sampled_from(sorted(_RULES)),
    slope=st.sampled_from(sorted(_SLOPES)),
    depth=st.integers(1, 3),
    nested=st.booleans(),
    size=st.sampled_from([0.5, 1.0]),
    precision=st.sampled_from([None, "bf16", "fp16"]),
)
@example("momentum", "identity", 3, False, 0.5, "fp16")  # the last bias passes through zero: its scale follows
def test_scales_of_state_are_bounded(
    rule: str, slope: str, depth: int, nested: bool, size: float, precision: str | None
) -> None:
    """Random recurrences, each called with its own results: estimates never move the scales of parameters again.

    In `fp16` scales follow what is measured, within the window that it leaves (`budget.STATE_NEAR`), also where a loop
    is in another.
    """
    rng = np.random.default_rng(0)
    step = _training(rule, slope, depth, nested)
    scaled = sc.scalify(step, precision=precision)
    state: Any = _start(depth, size, rng)
    expected, wanted = state, jax.jit(step)
    state = sc.as_scaled_array(state)
    scales: list[dict[str, float]] = []
    for _ in range(_CALLS):
        batch = _batches(rng)
        state, _loss = scaled(state, *sc.as_scaled_array(batch))
        expected, _ = wanted(expected, *batch)
        scales.append({k: float(np.log2(float(w.scale))) for k, w in state[0].items()})
        if precision == "fp16":
            for k, w in state[0].items():
                size = float(np.log2(np.sqrt(np.mean(np.square(np.asarray(w.data, np.float64))))))
                assert -budget.STATE_NEAR <= size <= budget.STATE_NEAR + 1, (k, size)
    if precision != "fp16":
        assert scales[-1] == scales[1], (scales[0], scales[1], scales[-1])
    for k, w in expected[0].items():
        truth = float(np.log2(np.sqrt(np.mean(np.square(w)))))
        # Zeros take the size of their first updates, and may be a hundred of them by now.
        assert abs(scales[-1][k] - truth) < 14, (k, scales[-1][k], truth)
        assert all(np.isfinite(np.asarray(leaf)).all() for leaf in jax.tree.leaves(state))


@pytest.mark.parametrize(
    ("rule", "precision", "nested"),
    [("momentum", "fp16", True), ("adam", "bf16", True), ("adam", "fp16", False), ("adam", None, True)],
)
def test_updates_in_loops_train_alike(rule: str, precision: str | None, nested: bool) -> None:
    rng = np.random.default_rng(1)
    step = _training(rule, "tanh", 2, nested)
    scaled, wanted = sc.scalify(step, precision=precision), jax.jit(step)
    expected: Any = _start(2, 1.0, rng)
    state = sc.as_scaled_array(expected)
    for _ in range(10):
        batch = _batches(rng)
        state, loss = scaled(state, *sc.as_scaled_array(batch))
        expected, want = wanted(expected, *batch)
        tolerance = {None: 1e-4, "fp16": 1e-2, "bf16": 4e-2}[precision]
        np.testing.assert_allclose(np.asarray(loss), want, rtol=tolerance, atol=tolerance * float(np.mean(want)))


@pytest.mark.parametrize("rule", ["momentum", "adam"])
@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
@pytest.mark.parametrize("nested", [False, True])
def test_state_may_outgrow_its_size_within_one_call(rule: str, precision: str, nested: bool) -> None:
    """Weights that start at 1e-7 are 2^20 times larger after a loop of updates, in which f16 reads them all along."""
    rng = np.random.default_rng(2)
    step = _training(rule, "identity", 2, nested)
    scaled, wanted = sc.scalify(step, precision=precision), jax.jit(step)
    expected: Any = _start(2, 1.0, rng)
    expected[0]["w0"] *= np.float32(1e-7)
    x = rng.standard_normal((60, 16, 8)).astype(np.float32)
    y = np.sin(x[..., :1]).astype(np.float32)
    state = scaled.stored(sc.as_scaled_array(expected), *sc.as_scaled_array((x, y)))[0]
    # XLA:CPU would keep what is rounded to f16 in f32.
    called = jax.jit(scaled, compiler_options={"xla_allow_excess_precision": False})
    for _ in range(2):
        state, loss = called(state, *sc.as_scaled_array((x, y)))
        expected, want = wanted(expected, x, y)
        np.testing.assert_allclose(np.asarray(loss), want, rtol=2e-2, atol=2e-2 * float(np.mean(want)))


@pytest.mark.parametrize("form", ["between", "outer"])
def test_weights_between_those_before_and_behind_a_loop_of_steps(form: str) -> None:
    """Reptile, and the outer step of federated averaging: the search for what is averaged ends at the loop's result."""

    def gradient(w: Any, x: Any) -> Any:
        return jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - 0.5) ** 2))(w)

    def step(w: Any, x: Any) -> Any:
        inner = jax.lax.fori_loop(0, 4, lambda _, v: v - 0.1 * gradient(v, x), w)
        return w + 0.5 * (inner - w) if form == "between" else w - 1.0 * (w - inner)

    rng = np.random.default_rng(0)
    w, x = (np.float32(rng.standard_normal(shape) / 4) for shape in ((16, 16), (8, 16)))
    found = sc.scalify(step, precision="fp16")(*sc.as_scaled_array((w, x)))
    wanted = np.float64(jax.jit(step)(w, x)) - w
    assert np.linalg.norm(np.float64(np.asarray(found)) - w - wanted) < 0.01 * np.linalg.norm(wanted)
