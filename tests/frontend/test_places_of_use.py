"""Scalified functions where they are used: written anew in each call, copied with what holds them, pickled."""

import copy
import functools
import pickle

import jax
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.rules.registry import generation


def product(x, y):
    return x @ y


@sc.scalify
def twice(x):
    return x + x


X = sc.as_scaled_array(np.float32([[3.0, 5.0], [1.0, 2.0]]))


@pytest.fixture
def compilations():
    """How often XLA has compiled something since the fixture was made."""
    count = [0]

    def listen(name, _, **others):
        del others
        count[0] += name == "/jax/core/compile/backend_compile_duration"

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield count
    jax.monitoring.unregister_event_duration_listener(listen)


@pytest.mark.parametrize("arguments", [{}, {"precision": "fp16"}, {"donate_argnums": 0}])
def test_a_function_that_is_scalified_in_each_call_is_compiled_once(compilations, arguments) -> None:
    def own(x, y):
        return x @ y

    fresh = jax.tree.map(lambda x: x + 0, X)
    sc.scalify(own, **arguments)(fresh, X)
    before = compilations[0]
    for _ in range(3):
        sc.scalify(own, **arguments)(jax.tree.map(np.asarray, X), X)
    assert compilations[0] == before
    sc.scalify(own, options=sc.ScalifyOptions(rounding="up"))(X, X)
    assert compilations[0] > before


def test_what_wraps_a_function_is_another_function() -> None:
    """`functools.wraps` copies what the function inside has in its dictionary."""
    sc.scalify(product)(X, X)

    @functools.wraps(product)
    def negated(x, y):
        return -product(x, y)

    x = np.asarray(X)
    np.testing.assert_array_equal(np.asarray(sc.scalify(negated)(X, X)), -(x @ x))
    np.testing.assert_array_equal(np.asarray(sc.scalify(product)(X, X)), x @ x)


def test_a_function_is_forgotten_with_its_last_reference() -> None:
    """Whoever writes a lambda in a loop keeps nothing alive."""
    import gc
    import weakref

    class Weights:
        value = np.ones((2, 2), np.float32)

    weights = Weights()
    alive = weakref.ref(weights)

    def step(x, weights=weights):
        return x @ weights.value

    sc.scalify(step)(X)
    del step, weights
    jax.clear_caches()
    gc.collect()
    assert alive() is None


def test_copies_and_pickles_are_the_same_function() -> None:
    """Of a trainer, say, that holds its step."""
    for function in (twice, sc.scalify(product, precision="fp16")):
        trainer = {"step": function}
        assert copy.copy(function) is function
        assert copy.deepcopy(trainer)["step"] is function
        again = pickle.loads(pickle.dumps(function))
        given = (X,) if function is twice else (X, X)
        np.testing.assert_array_equal(np.asarray(again(*given)), np.asarray(function(*given)))
    assert pickle.loads(pickle.dumps(twice)) is twice


def test_rules_of_this_package_change_no_generation() -> None:
    before = generation()
    sc.scalify(product)(X, X)
    assert generation() == before


def test_complex_state_stays_complex_in_a_type_of_floats() -> None:
    state = {"filter": np.complex64([1 + 2j]), "w": X, "step": np.int32(3), "wide": np.complex128([1j])}
    found = sc.asarray(state, np.float32)
    assert [found[name].dtype for name in ("filter", "w", "step")] == [np.complex64, np.float32, np.int32]
    assert found["filter"][0] == 1 + 2j
    assert found["wide"][0] == 1j


def test_layers_where_ranks_are_not_promoted() -> None:
    x, w, q = np.ones((4, 8), np.float32), np.ones((8, 3), np.float32), np.ones((1, 5, 2, 8), np.float32)
    with jax.numpy_rank_promotion("raise"):
        np.testing.assert_array_equal(sc.nn.linear(x, w, w[0]), np.full((4, 3), 9.0))
        assert sc.nn.dot_product_attention(q, q, q, is_causal=True).shape == q.shape
        assert sc.nn.selective_scan(x, x, -w, x[:, :3], x[:, :3], x[0]).shape == x.shape
