"""Typed random keys and other leaves that are no arrays of numbers, with every precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc


def _step(state, key, x):
    key, sub = jax.random.split(key)

    def loss(w):
        dropped = jnp.where(jax.random.bernoulli(sub, 0.9, (4, 2)), x @ w, 0.0)
        return jnp.mean(dropped**2)

    value, gradient = jax.value_and_grad(loss)(state["w"])
    new = {"w": state["w"] - 0.1 * gradient, "key": state["key"], "count": state["count"] + 1, "none": state["none"]}
    return new, key, value


def _state():
    return {"w": np.eye(3, 2, dtype=np.float32), "key": jax.random.key(1), "count": jnp.int32(0), "none": None}


@pytest.mark.parametrize("precision", [None, "fp16", "bf16"])
def test_typed_keys(precision: str | None):
    x = np.ones((4, 3), np.float32)
    step = sc.scalify(_step, precision=precision)
    state, key, data = sc.as_scaled_array((_state(), jax.random.key(0), x))
    assert jax.tree.structure(step.stored(state, key, data)) == jax.tree.structure((state, key, data))
    new, new_key, loss = step(state, key, data)
    want, want_key, want_loss = jax.jit(_step)(_state(), jax.random.key(0), x)
    assert (jax.random.key_data(new_key) == jax.random.key_data(want_key)).all()
    np.testing.assert_allclose(float(loss), want_loss, rtol=2**-6)
    np.testing.assert_allclose(np.asarray(new["w"], np.float32), want["w"], atol=2**-6)
    assert int(new["count"]) == 1
    assert new["none"] is None
    assert jax.tree.structure(new) == jax.tree.structure(state)


def test_a_batch_of_keys():
    x = sc.as_scaled_array(np.ones((4, 3), np.float32))
    draw = sc.scalify(lambda x, keys: x * jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys))
    assert draw(x, jax.random.split(jax.random.key(0), 4)).shape == (4, 3)


def test_stored_with_keywords():
    def step(w, *, x):
        value, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
        return w - 0.1 * gradient, value

    f = sc.scalify(step, precision="fp16")
    w, x = sc.as_scaled_array((np.eye(3, 2, dtype=np.float32), np.ones((4, 3), np.float32)))
    args, kwargs = f.stored(w, x=x)
    assert float(f(*args, **kwargs)[1]) == float(f(w, x=x)[1])


def test_keys_are_what_they_were_in_a_state_that_is_multiplied_out():
    state = {"key": jax.random.key(3), "w": sc.as_scaled_array(np.ones(3, np.float32))}
    plain = sc.asarray(state, np.float16)
    assert plain["key"] is state["key"]
    assert plain["w"].dtype == np.float16
