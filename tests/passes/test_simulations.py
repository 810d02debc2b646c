"""`scalify-cast`: what a loop computes of itself alone, whatever is decided in each step, is carried in f32."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.normal_form import NormalForm

ROUNDED = {"xla_allow_excess_precision": False}
GENERATOR = np.random.default_rng(0)
W = np.float32(GENERATOR.standard_normal((8, 4)))
STATE = np.float32(0.02 * GENERATOR.standard_normal((16, 8)))
FORCES = np.float32(GENERATOR.standard_normal((12, 16, 4)))


def moved(state: jax.Array, force: jax.Array) -> jax.Array:
    """Of points that are thrown about by a spring whose force is a cube: they come to 2^7 times their first size."""
    x, v = jnp.split(state, 2, 1)
    return jnp.concatenate([x + 0.3 * v, v + 0.3 * force - 0.1 * x**3], 1)


def by_decisions(w: jax.Array, state: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What parameters decide is an integer."""

    def step(state: jax.Array, _: Any) -> tuple[jax.Array, jax.Array]:
        action = jnp.argmax(state @ w, -1)
        return moved(state, jnp.where(action == 1, 1.0, -1.0)[:, None]), state

    return jax.lax.scan(step, state, None, length=12)


def by_inputs(w: jax.Array, state: jax.Array) -> tuple[jax.Array, jax.Array]:
    del w

    def step(state: jax.Array, force: jax.Array) -> tuple[jax.Array, jax.Array]:
        return moved(state, force), state

    return jax.lax.scan(step, state, FORCES * jnp.mean(state))


def by_products(w: jax.Array, state: jax.Array) -> tuple[jax.Array, jax.Array]:
    def step(state: jax.Array, _: Any) -> tuple[jax.Array, jax.Array]:
        return moved(state, state @ w), state

    return jax.lax.scan(step, state, None, length=12)


@pytest.mark.parametrize(("function", "carried"), [(by_decisions, "f32"), (by_inputs, "f16"), (by_products, "f16")])
def test_what_a_loop_carries(function: Callable[..., Any], carried: str) -> None:
    """What is stacked of it, for products to read, is in 16 bits."""

    def step(w: jax.Array, state: jax.Array) -> Any:
        last, seen = function(w, state)
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(jax.lax.stop_gradient(seen) @ w)))(w)
        return w - 0.1 * gradient, last, loss

    text = jax.export.export(jax.jit(step))(W, STATE).mlir_module()
    with make_context():
        module = ir.Module.parse(text)
        NormalForm().apply(module, [])
        Cast(precision="fp16").apply(module, [])
        loop = next(line for line in str(module).splitlines() if "stablehlo.while" in line)
    assert set(re.findall(r"tensor<16x8x(f\d+)>", loop)) == {carried}
    assert set(re.findall(r"tensor<12x16x8x(f\d+)>", loop)) == {"f16"}


@pytest.mark.parametrize("precision", ["fp16", "fp8-fp16-state"])
def test_a_simulation_is_that_of_f32(precision: str) -> None:
    """At the scale that positions start with, the cubes of later ones were infinite."""

    def function(state: jax.Array, w: jax.Array) -> jax.Array:
        return by_decisions(w, state)[0]

    exact = np.asarray(jax.jit(function)(STATE, W))
    scaled = sc.scalify(function, precision=precision)(*map(sc.as_scaled_array, (STATE, W)))
    got = np.asarray(scaled.data, np.float64) * np.asarray(scaled.scale, np.float64)
    assert np.linalg.norm(got - exact) < 2e-3 * np.linalg.norm(exact)


def _diffused(rate: Any, start: Any) -> Any:
    """Concentrations of 10^4 in ten cells, out of the last of which 1 is taken in each step."""

    def step(c: Any, _: Any) -> Any:
        flow, none = rate * (c[:, 1:] - c[:, :-1]), jnp.zeros((len(start), 1))
        c = c + jnp.concatenate([flow, none - 1], 1) - jnp.concatenate([none, flow], 1)
        return c, c[:, -1]

    return jax.lax.scan(step, jnp.broadcast_to(start[:, None], (len(start), 10)), None, length=24)[1]


def _grown(rate: Any, start: Any) -> Any:
    """Species that grow slowly and eat each other, by Euler's method."""

    def step(n: Any, _: Any) -> Any:
        n = jnp.maximum(n + 1e-3 * n * (rate - n / 2e4 - 1e-5 * jnp.roll(n, 1, 1)), 0)
        return n, n

    return jax.lax.scan(step, start[:, None] * (1 + jnp.arange(8) / 8), None, length=40)[1]


def _drifted(rate: Any, start: Any) -> Any:
    """Prices that move by some parts in a thousand."""

    def step(x: Any, t: Any) -> Any:
        moved = x - rate * 1e-2 * x * jnp.sin(t * jnp.arange(6.0))
        return moved, x

    return jax.lax.scan(step, start[:, None] + jnp.arange(6.0), jnp.arange(32.0))[1]


@pytest.mark.parametrize("simulate", [_diffused, _grown, _drifted])
def test_what_a_loop_without_products_adds_to_moves(simulate: Any) -> None:
    """Of 10^4 the next number of f16 is 8 away: where a parameter entered it, nothing moved or all did by too much."""
    start = np.linspace(8e3, 2e4, 8).astype(np.float32)
    rate = np.float32(0.1)

    def loss(rate: Any, start: Any) -> Any:
        path = simulate(rate, start)
        return jnp.mean((path - path[:1] + 5) ** 2)

    def both(rate: Any, start: Any) -> Any:
        return jax.value_and_grad(loss)(rate, start)

    expected = jax.jit(both)(rate, start)
    scaled: Any = jax.jit(sc.scalify(both, precision="fp16"), compiler_options=ROUNDED)
    for got, right in zip(scaled(*sc.as_scaled_array((rate, start))), expected, strict=True):
        assert abs(float(np.asarray(got)) - float(right)) < 2e-3 * abs(float(right))


def _waves(speed: Any) -> Any:
    """Of a string that is moved at one place: x' = 2 x - x_before + c^2 (x_left - 2 x + x_right)."""

    def step(carried: Any, force: Any) -> Any:
        x, before = carried
        moved = 2 * x - before + speed**2 * (jnp.roll(x, 1) - 2 * x + jnp.roll(x, -1))
        moved = moved.at[2].add(force)
        return (moved, x), moved

    at_rest = jnp.zeros_like(speed)
    return jax.lax.scan(step, (at_rest, at_rest), jnp.sin(jnp.arange(200) / 8) * 0.1)[1]


DOSES = np.linspace(100, 500, 24, dtype=np.float32)


def _dissolved(logarithms: Any) -> Any:
    """Doses that go from a stomach to blood, and back and forth to tissue, by substeps."""
    taken, given, back = jnp.exp(logarithms.T)

    def substep(carried: Any, _: Any) -> Any:
        dose, blood, tissue = carried
        change = -taken * dose, taken * dose - given * blood + back * tissue, given * blood - back * tissue
        return tuple(amount + 0.25 * rate for amount, rate in zip(carried, change, strict=True)), None

    def step(carried: Any, _: Any) -> Any:
        carried, _ = jax.lax.scan(substep, carried, None, length=2)
        return carried, carried[1]

    return jax.lax.scan(step, (DOSES, 0 * DOSES, 0 * DOSES), None, length=48)[1]


@pytest.mark.parametrize(
    ("simulate", "measured", "parameters"),
    [(_waves, jnp.square, np.linspace(0.19, 0.3, 72)), (_dissolved, jnp.abs, np.log([[0.8, 0.15, 0.1]] * 24))],
)
def test_steps_and_places_and_loops_within_loops_are_added_to(simulate: Any, measured: Any, parameters: Any) -> None:
    """The string's path was 1.4 % off, and the gradient of the rates, of what substeps stack in f16, 53 %."""

    def step(p: Any, m: Any) -> Any:
        gradient = jax.grad(lambda p: jnp.mean(measured(simulate(p))))(p)
        return p - 1e-3 * (0.9 * m + gradient), 0.9 * m + gradient

    parameters = np.float32(parameters)
    _, expected = jax.jit(step)(parameters, 0 * parameters)
    scaled: Any = jax.jit(sc.scalify(step, precision="fp16"), compiler_options=ROUNDED)
    _, got = scaled(*sc.as_scaled_array((parameters, 0 * parameters)))
    assert np.linalg.norm(np.asarray(got, np.float64) - expected) < 2e-3 * np.linalg.norm(expected)


# T' = T + h f(T): f of products of matrices
@pytest.mark.parametrize("midpoint", [False, True])
@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
def test_small_steps_of_what_layers_give(precision: Any, midpoint: bool) -> None:
    """Temperatures of 288 K, .25 K from each other in f16, moved by .02 K: the loss was 4 times that of f32."""
    rng = np.random.default_rng(0)
    weights = [np.float32(rng.standard_normal(shape) / np.sqrt(shape[0])) for shape in ((1, 24), (24, 24), (24, 1))]
    start = np.float32(288 + 5 * rng.standard_normal((16, 20)))
    target = np.float32(start + 0.8 * np.sin(start / 5))

    def loss(weights: Any, start: Any, target: Any) -> Any:
        def change(t: Any) -> Any:
            h = ((t - 288) / 5)[..., None]
            for w in weights[:-1]:
                h = jnp.tanh(h @ w)
            return (h @ weights[-1])[..., 0] + 0.1 * (jnp.roll(t, 1, 1) + jnp.roll(t, -1, 1) - 2 * t)

        def step(t: Any, _: Any) -> Any:
            return t + 0.02 * (change(t + 0.01 * change(t)) if midpoint else change(t)), None

        return jnp.mean((jax.lax.scan(step, start, None, length=40)[0] - target) ** 2)

    def step(weights: Any, start: Any, target: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(weights, start, target)
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradient), gradient, value

    _, expected, value = jax.jit(step)(weights, start, target)
    scaled: Any = jax.jit(sc.scalify(step, precision=precision), compiler_options=ROUNDED)
    _, found, found_value = scaled(*sc.as_scaled_array((weights, start, target)))
    assert abs(float(np.asarray(found_value)) - float(value)) < 2e-3 * float(value)
    for each, gradient in zip(sc.tree.leaves(found), expected, strict=True):
        assert np.linalg.norm(np.asarray(each, np.float64) - gradient) < 1e-2 * np.linalg.norm(gradient)
