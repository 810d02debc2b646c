"""Which arguments are never negative in a real run, because roots or logarithms are taken of them."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from scalify_hlo.analysis.roots import under_roots
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.measure import measure
from scalify_hlo.execution.signature import entry_function, entry_signature
from scalify_hlo.passes.instrument import Instrument


def names(function: object, *arguments: object) -> list[str]:
    module = exported(function, *arguments)
    found = under_roots(module, entry_function(module).operation)
    return [entry_signature(module).arguments[i].name for i in sorted(found)]


def exported(function: object, *arguments: object) -> ir.Module:
    text = jax.export.export(jax.jit(function))(*arguments).mlir_module()  # type: ignore[arg-type]
    return ir.Module.parse(text, context=make_context())


X, S = np.ones((4, 4), np.float32), np.float32(1)


def step(optimizer: optax.GradientTransformation) -> tuple[object, object]:
    params = {"w": X, "b": X[0]}

    def update(params: object, state: optax.OptState, x: object) -> object:
        value, gradients = jax.value_and_grad(lambda p: jnp.mean(jnp.tanh(x @ p["w"] + p["b"]) ** 2))(params)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    return update, optimizer.init(params)


@pytest.mark.parametrize(
    ("optimizer", "wanted"),
    [
        (optax.adamw(1e-3), ["state[0].nu['b']", "state[0].nu['w']"]),
        (optax.rmsprop(1e-3, centered=True), ["state[0].nu['b']", "state[0].nu['w']"]),
        (optax.adagrad(1e-3), ["state[0].sum_of_squares['b']", "state[0].sum_of_squares['w']"]),
        (optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(1e-3, momentum=0.9)), []),
    ],
    ids=["adamw", "rmsprop", "adagrad", "clipping"],
)
def test_second_moments(optimizer: optax.GradientTransformation, wanted: list[str]):
    update, state = step(optimizer)
    assert names(update, {"w": X, "b": X[0]}, state, X) == wanted


def test_through_functions_branches_and_loops():
    def loop(v, g):
        v, _ = jax.lax.scan(lambda v, _: (0.9 * v + g * g, None), v, length=3)
        return jax.lax.cond(v[0, 0] > 0, lambda v: v, lambda v: v / 2, jax.jit(lambda v: v.T)(v)) ** 0.25

    assert names(loop, X, X) == ["v"]


def test_not_what_is_bounded_or_squared_before():
    def norms(x, y, z, s):
        return jnp.sqrt(jnp.sum(x * x)) + jnp.log(jnp.sum(jnp.exp(y))) + jnp.log(jnp.maximum(z, s))

    assert names(norms, X, X, X, S) == ["z", "s"]


def test_only_second_moments_are_drawn_positive():
    """Where all arguments are, products are sums of positive numbers, here six times as large."""

    def update(w, v, x):
        y = x @ w
        v = 0.9 * v + 0.1 * jnp.square(x.T @ y)
        return w - 1e-3 * y / jnp.sqrt(v), v

    x = np.ones((64, 64), np.float32)
    found = measure(exported(update, x, x, x), Instrument(histogram=False, movements=True))
    product = next(each for each in found if "dot_general" in each.name)
    assert product.mean_square == pytest.approx(1 / 64, rel=0.1)
