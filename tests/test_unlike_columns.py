"""Columns in unlike units, taken out of one tensor: they had the scale of the largest, which is multiplied by."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo.analysis.calls import CallGraph
from scalify_hlo.analysis.unlike_columns import unlike_columns
from scalify_hlo.bindings import ir, make_context

ROUNDED = {"xla_allow_excess_precision": False}


def normals(seed: int) -> Callable[..., Any]:
    """Draws arrays of these sizes, the same ones whatever tests ran before."""
    generator = np.random.default_rng(seed)
    return lambda *shape: np.float32(generator.normal(size=shape))


def within(low: list[float], high: list[float], x: Any) -> Any:
    """Parameters of a model, each within bounds of its own."""
    return np.float32(low) + (np.float32(high) - np.float32(low)) * jax.nn.sigmoid(x)


def reservoirs(q: Any, rain: Any) -> Any:
    """What runs off from soil that holds 50 to 500 mm, and from two reservoirs that lose a share of theirs."""
    capacity, upper, lower = within([50.0, 0.05, 0.01], [500.0, 0.5, 0.2], q).T

    def step(carry: Any, p: Any) -> Any:
        soil, u, v = carry
        recharge = p * soil / capacity
        soil, percolates = soil + p - recharge - 0.01 * soil, jnp.minimum(2.0, u)
        u, v = u + recharge - percolates, v + percolates
        return (soil, u - upper * u, v - lower * v), upper * u + lower * v

    start = jnp.zeros(q.shape[0])
    return jax.lax.scan(step, (0.5 * capacity, start + 5.0, start + 30.0), rain.T)[1].T


def membrane(q: Any, currents: Any) -> Any:
    """A leaky membrane: capacitances of 1e-10 F, conductances of 1e-8 S, potentials of -70 mV."""
    numbers = jnp.exp(0.3 * q) * np.float32([1e-10, 1e-8, 70.0])
    capacitance, conductance, rest = (numbers[:, i] for i in range(3))

    def step(v: Any, current: Any) -> Any:
        v = v + 1e-3 * (1e-9 * current - conductance * (v + rest)) / capacitance
        return v, v

    return jax.lax.scan(step, -rest, currents.T)[1].T


def peaks(q: Any, times: Any) -> Any:
    """Chromatographic peaks: heights of 1e4 counts, times of 5 minutes, widths of 0.05."""
    height, time, width = jnp.split(within([2e3, 1.0, 0.05], [2e4, 9.0, 0.2], q), 3, axis=1)
    return height * jnp.exp(-0.5 * ((9 * jax.nn.sigmoid(times) - time) / width) ** 2)


MODELS: dict[str, Callable[[Any, Any], Any]] = {"reservoirs": reservoirs, "membrane": membrane, "peaks": peaks}


@pytest.mark.parametrize("precision", ["fp16", "fp8"])
@pytest.mark.parametrize("name", MODELS)
def test_the_network_that_gives_them_learns_as_in_f32(name: str, precision: Any) -> None:
    normal = normals(0)
    model, attributes, weights = MODELS[name], normal(16, 32), normal(32, 3) / 6
    inputs = np.abs(normal(16, 24)) if name != "peaks" else normal(16, 24)
    target = np.asarray(model(attributes @ weights + 0.5, inputs))
    size = np.float32(target.std())

    def loss(w: Any, x: Any, y: Any) -> Any:
        return jnp.mean(((model(attributes @ w, x) - y) / size) ** 2)

    gradient = jax.grad(loss)
    expected = np.asarray(jax.jit(gradient)(weights, inputs, target))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaled = jax.jit(scalify_hlo.scalify(gradient, precision=precision), compiler_options=ROUNDED)
        got = np.asarray(scaled(*scalify_hlo.as_scaled_array((weights, inputs, target)))).astype(np.float64)
    assert np.linalg.norm(got - expected) < (1e-2 if precision == "fp16" else 1e-1) * np.linalg.norm(expected)


def columns(function: Callable[..., Any], *arguments: Any) -> int:
    text = jax.export.export(jax.jit(function))(*arguments).mlir_module()
    with make_context():
        module = ir.Module.parse(text)
        return len(unlike_columns(CallGraph(module)))


def apart(table: Any) -> Any:
    return [table[:, i] * 2 for i in range(table.shape[1])]


UNITS = np.float32([100.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: apart(x * UNITS), 3),
        (lambda x: apart(UNITS - x / 3), 3),
        (lambda x: apart((x.T * UNITS[:, None]).T), 3),
        (lambda x: apart(jax.lax.select(x > 0, x, x + UNITS)), 3),
        (lambda x: apart(jnp.tanh(x * UNITS)), 0),  # bounded: no longer in units of their own
        (lambda x: apart(x * np.float32([1.0, 2.0, 0.0])), 0),
        (lambda x: (x * UNITS)[:, :2], 0),  # more than one column
        (lambda x: (x * UNITS)[:1], 0),  # a row of all units
        (lambda x: apart(x + 3), 0),
    ],
)
def test_columns_are_found_by_the_constants_that_enter_them(function: Callable[..., Any], count: int) -> None:
    assert columns(function, np.ones((4, 3), np.float32)) == count


def test_a_constant_without_elements() -> None:
    empty = np.zeros((0, 4), np.float32)
    found = scalify_hlo.scalify(lambda x: jnp.sum(x) + (empty + jnp.tanh(x)[:0])[:, :1].sum(), precision="fp16")(
        scalify_hlo.as_scaled_array(np.ones((4, 4), np.float32))
    )
    assert float(np.asarray(found)) == 16
