"""Steps in which a gradient is all but 0: a batch of padding, a term that is switched off, a margin that is kept.

# v' = b v + (1 - b) g^2 with g = 0 is b v, at the scale of v

An average takes the scale of what enters it, which is 2^-96 for the square of a gradient of zeros: v, 2^76 times as
large, has squares beyond f32's range there and cannot be measured. It keeps the scale that it had.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import scalify_hlo as sc

_Tree = dict[str, Any]


def weighted(p: _Tree, x: Any, y: Any, weight: Any) -> Any:
    """A regression of which a batch may count nothing."""
    return weight * jnp.mean((jnp.tanh(x @ p["a"]) @ p["b"] - y) ** 2)


def masked(p: _Tree, x: Any, y: Any, weight: Any) -> Any:
    """Rows of which a batch may have none."""
    errors = jnp.mean((jax.nn.silu(x @ p["a"]) @ p["b"] - y) ** 2, 1) * weight
    return jnp.sum(errors) / jnp.maximum(jnp.sum(weight * jnp.ones_like(errors)), 1.0)


def margin(p: _Tree, x: Any, y: Any, weight: Any) -> Any:
    """Margins, all of which a batch may keep."""
    scores = jax.nn.relu(x @ p["a"]) @ p["b"]
    return jnp.mean(jnp.maximum(0.0, 3 - jnp.sign(y) * scores - 1e3 * (1 - weight)))


@pytest.mark.parametrize("scanned", [False, True])
@pytest.mark.parametrize("optimiser", [optax.adam, optax.rmsprop])
@pytest.mark.parametrize("loss", [weighted, masked, margin])
def test_second_moments_outlast_a_step_without_gradient(
    loss: Callable[..., Any], optimiser: Callable[..., optax.GradientTransformation], scanned: bool
) -> None:
    rng = np.random.default_rng(0)
    parameters = {
        "a": np.float32(rng.standard_normal((32, 64)) / 6),
        "b": np.float32(rng.standard_normal((64, 16)) / 8),
    }
    x = np.float32(rng.standard_normal((64, 32)))
    y = np.sin(x[:, :16])
    optimizer = optimiser(1e-3)

    def one(state: Any, weight: Any) -> Any:
        p, moments = state
        value, gradient = jax.value_and_grad(loss)(p, x, y, weight)
        update, moments = optimizer.update(gradient, moments, p)
        return (optax.apply_updates(p, update), moments), value

    def step(state: Any, weight: Any) -> Any:
        return jax.lax.scan(one, state, jnp.stack([weight, weight])) if scanned else one(state, weight)

    weights = np.float32([1, 1, 1, 0, 1, 1, 0, 1])
    plain = parameters, optimizer.init(parameters)
    scaled = sc.as_scaled_array(plain)
    rewritten = sc.scalify(step, precision="fp16 moments=f16")
    jitted = jax.jit(step)
    for weight in weights:
        plain, value = jitted(plain, weight)
        scaled, other = rewritten(scaled, sc.as_scaled_array(weight))
    np.testing.assert_allclose(np.asarray(sc.asarray(other)), value, rtol=0.02)
    for exact, kept in zip(*(jax.tree.leaves(s[0]) for s in (plain, sc.asarray(scaled))), strict=True):
        moved = np.linalg.norm(exact - np.asarray(kept, np.float32))
        assert moved < 0.1 * np.linalg.norm(exact - parameters["a" if exact.shape == (32, 64) else "b"])


# u' = u + rho (y . u) s of a memory that has no y yet: y . u = 0, at a scale that is 2^7 times that of u
@pytest.mark.parametrize("precision", ["fp16", "fp8-fp16-state"])
def test_a_line_search_with_an_empty_memory(precision: Any) -> None:
    """L-BFGS, whose directions had scales 2^70 times too large, as there was a factor for each place in the memory."""
    rng = np.random.default_rng(0)
    sizes = {"a": (16, 64), "m": (64, 64), "b": (64, 5)}
    p = {name: np.float32(rng.standard_normal(size) / np.sqrt(size[0])) for name, size in sizes.items()}
    p |= {"c": np.zeros(64, np.float32), "n": np.zeros(64, np.float32)}
    x = np.float32(rng.standard_normal((256, 16)))
    labels = np.int32(np.argmax(x[:, :5] + np.abs(x[:, 5:10]), -1))
    optimizer = optax.lbfgs()

    def step(state: Any, x: Any) -> Any:
        p, moments = state

        def loss(p: _Tree) -> Any:
            h = jax.nn.gelu(jax.nn.gelu(x @ p["a"] + p["c"]) @ p["m"] + p["n"]) @ p["b"]
            entropy = optax.softmax_cross_entropy_with_integer_labels(h, labels).mean()
            return entropy + 1e-3 * optax.tree.norm(p, squared=True)

        value, gradient = optax.value_and_grad_from_state(loss)(p, state=moments)
        update, moments = optimizer.update(gradient, moments, p, value=value, grad=gradient, value_fn=loss)
        return (optax.apply_updates(p, update), moments), value

    plain = p, optimizer.init(p)
    rewritten, jitted = sc.scalify(step, precision=precision), jax.jit(step)
    scaled, _ = rewritten.stored(sc.as_scaled_array(plain), sc.as_scaled_array(x))
    types = [leaf.dtype for leaf in sc.tree.leaves(scaled)]
    for _ in range(5):
        plain, value = jitted(plain, x)
        scaled, other = rewritten(scaled, sc.as_scaled_array(x))
        # The gradient is next to the last one in the state, which takes its place: each is stored as it was.
        assert [leaf.dtype for leaf in sc.tree.leaves(scaled)] == types
    np.testing.assert_allclose(np.asarray(sc.asarray(other)), value, rtol=0.05)


@pytest.mark.parametrize("precision", ["fp16-state", "fp8", "fp8-fp16-state"])
def test_backpropagation_by_hand_returns_state_in_the_types_that_it_takes(precision: str) -> None:
    def step(state: Any, x: Any, y: Any) -> Any:
        (w, v), (m, n) = state
        z = x @ w
        h = jnp.maximum(z, 0)
        e = h @ v - y
        m, n = 0.9 * m + x.T @ ((e @ v.T) * (z > 0)) / 64, 0.9 * n + h.T @ e / 64
        return ((w - 0.02 * m, v - 0.02 * n), (m, n)), jnp.mean(e**2)

    generator = np.random.default_rng(0)
    weights = tuple(np.float32(generator.normal(size=s) / 4) for s in ((16, 64), (64, 32)))
    x, y = (sc.as_scaled_array(np.float32(generator.normal(size=(64, n)))) for n in (16, 32))
    scaled = sc.scalify(step, precision=precision)
    state, *_ = scaled.stored(sc.as_scaled_array((weights, tuple(map(np.zeros_like, weights)))), x, y)
    after, loss = scaled(state, x, y)
    assert [leaf.dtype for leaf in sc.tree.leaves(after)] == [leaf.dtype for leaf in sc.tree.leaves(state)]
    assert np.isfinite(np.asarray(loss))


@pytest.mark.parametrize("precision", ["fp16", "fp16-state", "fp8"])
@pytest.mark.parametrize("size", [12, 40])
def test_recursive_least_squares_in_a_loop(size: int, precision: str) -> None:
    """The covariance is a difference in each iteration, which f16 left without positive eigenvalues."""
    generator = np.random.default_rng(0)
    features = np.float32(generator.normal(size=(size, 8)) / 3)
    wanted = np.float32(generator.normal(size=size))

    def update(carried: Any, t: Any) -> Any:
        w, p = carried
        h, y = t
        ph = p @ h
        k = ph / (0.995 + h @ ph)
        e = y - h @ w
        return (w + k * e, (p - jnp.outer(k, ph)) / 0.995), e**2

    def step(state: Any, h: Any, y: Any) -> Any:
        state, errors = jax.lax.scan(update, state, (h, y))
        return state, errors.mean()

    scaled = sc.scalify(step, precision=precision)
    state: Any = sc.as_scaled_array((np.zeros(size, np.float32), np.float32(10 * np.eye(size))))
    for i in range(30):
        own = np.random.default_rng(i)
        h = np.float32(np.tanh(own.normal(size=(32, 8)) @ features.T))
        y = np.float32(h @ wanted + 0.01 * own.normal(size=32))
        state, error = scaled(state, *sc.as_scaled_array((h, y)))
    assert float(np.asarray(error)) < 3e-4


def unlabelled(p: _Tree, x: Any, k: Any) -> Any:
    """A head that no label of a batch is for."""
    errors = (1e3 * (jnp.tanh(x @ p["a"]) @ p["c"] + p["d"] - jnp.cos(x[:, :16]))) ** 2
    return jnp.mean(jnp.where((k > 9)[:, None], errors, 0))


def dead(p: _Tree, x: Any, _: Any) -> Any:
    """Units that are off for all rows."""
    off = jax.nn.relu(jnp.tanh(x @ p["a"]) @ p["c"] + p["d"] - 100.0)
    return jnp.mean((1e3 * (off - jnp.cos(x[:, :16]))) ** 2)


def unchosen(p: _Tree, x: Any, k: Any) -> Any:
    """An expert that no row chooses."""
    chosen = (k == 0)[:, None] * (jnp.tanh(x @ p["a"]) @ p["c"] + p["d"])
    return jnp.mean((1e3 * (chosen - jnp.cos(x[:, :16]))) ** 2)


# v = 0 at 2^-126, g^2 = 0 at 2^25: what moves the one to the other is beyond f32, and 0 * inf is no number
@pytest.mark.parametrize("precision", ["fp8 moments=f16", "fp8-fp16-state"])
@pytest.mark.parametrize("other", [unlabelled, dead, unchosen])
def test_moments_of_what_has_no_gradient_yet(other: Callable[..., Any], precision: str) -> None:
    rng = np.random.default_rng(0)
    shapes = {"a": (32, 64), "b": (64, 16), "c": (64, 16)}
    parameters = {name: np.float32(rng.standard_normal(s) / s[0] ** 0.5) for name, s in shapes.items()}
    parameters["d"] = np.zeros(16, np.float32)
    x = np.float32(rng.standard_normal((64, 32)))
    k = np.int32(rng.integers(1, 4, 64))
    optimizer = optax.adam(3e-3)

    def loss(p: _Tree, x: Any, k: Any) -> Any:
        return jnp.mean((1e3 * (jnp.tanh(x @ p["a"]) @ p["b"] - jnp.sin(x[:, :16]))) ** 2) + other(p, x, k)

    def step(state: Any, x: Any, k: Any) -> Any:
        p, moments = state
        value, gradient = jax.value_and_grad(loss)(p, x, k)
        update, moments = optimizer.update(gradient, moments, p)
        return (optax.apply_updates(p, update), moments), value

    state = parameters, optimizer.init(parameters)
    narrow = sc.scalify(step, precision=precision)
    own, scaled = narrow.stored(*sc.as_scaled_array((state, x)), k)[:2]
    for _ in range(6):
        state, wanted = step(state, x, k)
        own, found = narrow(own, scaled, k)
        assert abs(float(np.asarray(found)) / float(wanted) - 1) < 0.01
