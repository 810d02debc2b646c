"""Parameters in 16 bits that are rounded at random: what is lost on average is nothing."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.errors import Diagnostic
from scalify_hlo.execution import xla
from scalify_hlo.passes.round_state import RoundState

_SUM = """
func.func public @main(%w: tensor<SIZExf32>, %g: tensor<SIZExf32>)
    -> (tensor<SIZExTYPE> {scalify.state = "parameter"}) {
  %e = stablehlo.reverse %g, dims = [0] : tensor<SIZExf32>
  %sum = stablehlo.add %w, %e : tensor<SIZExf32>
  %half = stablehlo.convert %sum : (tensor<SIZExf32>) -> tensor<SIZExTYPE>
  return %half : tensor<SIZExTYPE>
}
"""


def _rounded(values: np.ndarray, changing: np.ndarray, element: str = "f16") -> np.ndarray:
    """Values rounded beside something that changes; `changing` is far too small to change the sum."""
    remarks: list[Diagnostic] = []
    text = _SUM.replace("SIZE", str(values.size)).replace("TYPE", element)
    with make_context():
        module = ir.Module.parse(text)
        RoundState().apply(module, remarks)
        assert "1 parameters are rounded at random" in remarks[-1].message
        (result,) = xla.compile(module)([np.float32(values), np.float32(changing)])
    return np.asarray(result, np.float64)


@pytest.mark.parametrize(("element", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_values_go_to_their_neighbours_as_often_as_they_are_near(element: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    step = 2.0 ** -(7 if element == "bf16" else 10)
    for part in (0.05, 0.3, 0.5, 0.9):
        for sign in (1, -1):
            values = np.float32(sign * (1.25 + part * step) * np.ones(1 << 14))
            got = _rounded(values, 1e-20 * rng.random(values.size), element)
            below, above = sign * 1.25, sign * (1.25 + step)
            assert set(got) == {below, above}
            assert np.array_equal(got, got.astype(dtype).astype(np.float64))
            share = np.mean(got == above)
            assert abs(share - part) < 4 * np.sqrt(part * (1 - part) / values.size) + 2e-3


def test_what_the_type_has_is_left() -> None:
    held = np.float32([0, -0.0, 1, -1.5, 65504, -65504, np.inf, -np.inf, np.nan, 2.0**-14, 1024.0])
    got = _rounded(held, np.full(held.size, -0.0))
    np.testing.assert_array_equal(got, held)
    assert np.array_equal(np.signbit(got)[:2], [False, True])


def test_the_same_values_are_rounded_in_the_same_way() -> None:
    values, other = np.float32(np.random.default_rng(1).normal(size=(2, 256)))
    first, again = (_rounded(values, 1e-20 * other) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert np.any(first != _rounded(values, 2e-20 * other))


def _batch(i: int) -> tuple[Any, Any]:
    x = np.float32(np.random.default_rng(i).normal(size=(64, 16)))
    return x, np.float32(np.tanh(x @ np.random.default_rng(99).normal(size=(16, 1))))


def _layers(p: dict[str, Any], x: Any) -> Any:
    return jax.nn.relu(jax.nn.relu(x @ p["a"]) @ p["b"]) @ p["c"]


def _fine_tuned(p: dict[str, Any], x: Any, y: Any) -> Any:
    return jnp.mean((_layers(p, x) - y) ** 2)


def _gains(p: dict[str, Any], x: Any, y: Any) -> Any:
    h = jax.nn.relu(x @ p["a"]) * (3 * p["s"])
    return jnp.mean((jax.nn.relu(h @ p["b"]) @ p["c"] - y) ** 2)


def _prices(p: dict[str, Any], x: Any, y: Any) -> Any:
    """A price of each of 64 goods, 5e4 +- 2e3, from orders of some of them."""
    bought = jnp.abs(jnp.concatenate([x, x**2, x[:, ::-1] * x, x**3], 1))
    wanted = jnp.sum(bought * (5e4 + 2e3 * jnp.sin(jnp.arange(64.0))), 1) / 64
    return jnp.mean(jnp.abs(bought @ p["s"] / 64 - wanted)) + 0 * jnp.sum(y)


# loss, what an Adam moves by in a step, which parameters it moves
PROGRAMS: dict[str, tuple[Callable[..., Any], float, str]] = {
    "fine-tuning": (_fine_tuned, 1e-5, "abc"),
    "gains": (_gains, 2e-5, "s"),
    "prices": (_prices, 12.0, "s"),
}


# On batches of their own: what is rounded at random ends a few per cent apart.
_RUNS = 4


def _moved(name: str, precision: Any, optimiser: str = "adam") -> tuple[dict[str, Any], float]:
    """How far parameters are from where they started in the first run, and the last losses of all."""
    loss, rate, learnt = PROGRAMS[name]
    rng = np.random.default_rng(0)
    shapes = {"a": (16, 64), "b": (64, 64), "c": (64, 1)}
    p = {key: np.float32(rng.normal(size=shape) / np.sqrt(shape[0])) for key, shape in shapes.items()}
    p["s"] = np.full(64, 5e4 if name == "prices" else 1 / 3, np.float32)

    def step(state: Any, x: Any, y: Any) -> Any:
        p, m, v = state
        value, g = jax.value_and_grad(lambda own: loss({**p, **own}, x, y))({key: p[key] for key in learnt})
        m = {**m, **{key: 0.9 * m[key] + 0.1 * g[key] for key in g}}
        v = {**v, **{key: 0.99 * v[key] + 0.01 * g[key] ** 2 for key in g}}
        moved = {key: m[key] / (jnp.sqrt(v[key]) + 1e-12) if optimiser == "adam" else jnp.sign(m[key]) for key in g}
        return ({**p, **{key: p[key] - rate * moved[key] for key in g}}, m, v), value

    zeros = jax.tree.map(np.zeros_like, p)
    start: Any = (p, zeros, zeros)
    function: Any = jax.jit(step) if precision is None else sc.scalify(step, precision=precision)
    losses: list[float] = []
    ends: list[Any] = []
    for first in range(0, 80 * _RUNS, 80):
        state = start
        for i in range(first, first + 80):
            x, y = _batch(i)
            if precision is not None:
                state, x, y = (sc.as_scaled_array(each) for each in (state, x, y))
            state, value = function(state, x, y)
            if i >= first + 70:
                losses.append(float(np.asarray(value)))
        ends.append(jax.tree.map(np.asarray, state[0] if precision is None else sc.asarray(state[0], np.float32)))
    return {key: ends[0][key].astype(np.float64) - p[key] for key in learnt}, float(np.mean(losses))


@pytest.mark.parametrize("optimiser", ["adam", "sign"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_updates_below_half_of_the_last_digit_are_not_lost(name: str, optimiser: str) -> None:
    wanted, loss = _moved(name, None, optimiser)
    got, close = _moved(name, "fp16-state", optimiser)
    nearest, _ = _moved(name, "fp16-state rounding=nearest", optimiser)
    for key, exact in wanted.items():
        along = [np.vdot(each[key], exact) / np.vdot(exact, exact) for each in (got, nearest)]
        assert abs(along[0] - 1) < 0.15  # moved as far, in the direction of f32
        assert key in "bc" or abs(along[1] - 1) > 0.2  # the largest weights, at least, had not
    assert abs(close - loss) < 0.03 * loss


@pytest.mark.parametrize("precision", ["fp16", "bf16", "fp16-state parameters=f32", "fp16-state update=f16"])
def test_only_parameters_that_are_rounded_at_all(precision: str) -> None:
    def step(w: Any, x: Any) -> Any:
        return w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)

    arguments = sc.as_scaled_array((np.ones((16, 32), np.float32), np.ones((8, 16), np.float32)))
    assert "shift_right_logical" not in sc.scalify(step, precision=precision).lower(*arguments).as_text()
    assert "shift_right_logical" in sc.scalify(step, precision="fp16-state").lower(*arguments).as_text()
