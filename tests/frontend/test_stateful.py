"""References and checks in functions that are scalified."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify

import scalify_hlo as sc

X = np.float32([1, 2, 3])


def of_slices(x):
    ref = jax.new_ref(x)
    ref[0] = ref[0] * 2
    return ref[...]


def in_a_loop(x):
    ref = jax.new_ref(jnp.zeros_like(x))

    def body(i, carry):
        ref[i] = ref[i] + x[i] * x[i]
        return carry

    jax.lax.fori_loop(0, 3, body, 0)
    return jax.freeze(ref)


def in_a_branch(x):
    ref = jax.new_ref(x)

    def negate():
        ref[...] = -ref[...]

    jax.lax.cond(x[0] > 0, negate, lambda: None)
    return ref[...] * 3


def of_gradients(x):
    ref = jax.new_ref(jnp.zeros(()))

    def loss(x):
        return jnp.sum(x**3)

    value, gradient = jax.value_and_grad(loss)(x)
    ref[...] = value
    return gradient + ref[...]


FUNCTIONS = [of_slices, in_a_loop, in_a_branch, of_gradients]


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, lambda f: lambda x: jax.jit(f)(x)], ids=["", "jit", "within"])
@pytest.mark.parametrize("fun", FUNCTIONS)
def test_a_reference_that_is_made_inside_is_a_value(fun: Any, wrap: Any) -> None:
    found = sc.scalify(wrap(fun))(sc.as_scaled_array(X))
    assert isinstance(found, sc.ScaledArray)
    np.testing.assert_allclose(np.asarray(found), jax.jit(fun)(X), rtol=1e-6)


def test_in_a_precision_and_in_a_batch() -> None:
    weights = np.float32(np.random.default_rng(0).standard_normal((16, 16)))

    def step(w, x):
        ref = jax.new_ref(w)

        def loss(w):
            return jnp.mean(jnp.tanh(x @ w) ** 2)

        ref[...] = ref[...] - 0.1 * jax.grad(loss)(w)
        return ref[...]

    given = sc.as_scaled_array((weights, weights))
    np.testing.assert_allclose(
        np.asarray(sc.scalify(step, precision="fp16")(*given)), jax.jit(step)(weights, weights), atol=2e-3, rtol=2e-3
    )
    batch = sc.as_scaled_array(np.stack([X, 2 * X]))
    np.testing.assert_allclose(np.asarray(sc.scalify(jax.vmap(in_a_loop))(batch)), [X**2, 4 * X**2], rtol=1e-6)


def test_a_reference_from_outside_is_refused_in_words() -> None:
    ref = jax.new_ref(jnp.zeros(3))

    def adds(x):
        ref[...] = ref[...] + x
        return x * 2

    def adds_to(x, to):
        to[...] = to[...] + x
        return x * 2

    x = sc.as_scaled_array(X)
    for call in (
        lambda: sc.scalify(adds)(x),
        lambda: sc.scalify(adds_to)(x, ref),
        lambda: jax.jit(sc.scalify(adds))(x),
    ):
        with pytest.raises(TypeError, match=r"scalify\(adds.*\): it reads or writes a reference from outside, Ref"):
            call()
    np.testing.assert_array_equal(ref[...], np.zeros(3))


def checked(x):
    checkify.check(jnp.all(x > 0), "not positive: {least}", least=jnp.min(x))
    return x * 2


def test_checks_go_inside() -> None:
    x, wrong = sc.as_scaled_array(X), sc.as_scaled_array(X - 2)
    for call in (sc.scalify(checked), checkify.checkify(sc.scalify(checked)), jax.jit(sc.scalify(jax.jit(checked)))):
        with pytest.raises(ValueError, match=r"scalify\(checked\): .*scalify\(checkify\.checkify\(checked\)\)"):
            call(x)
    inside = sc.scalify(checkify.checkify(checked))
    error, y = inside(x)
    assert error.get() is None
    np.testing.assert_array_equal(np.asarray(y), 2 * X)
    assert "not positive: -1.0" in inside(wrong)[0].get()


def test_checks_for_debugging_do_nothing() -> None:
    def debugged(x):
        checkify.debug_check(jnp.all(x > 0), "not positive")
        return x * 2

    np.testing.assert_array_equal(np.asarray(sc.scalify(debugged)(sc.as_scaled_array(-X))), -2 * X)
