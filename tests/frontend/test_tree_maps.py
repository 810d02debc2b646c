"""What generic tree functions make of a ScaledArray: repaired by meaning, or refused with what to write."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc


def _tree():
    return {
        "a": sc.scaled_array(np.float32([1, 3]), 4.0),
        "b": [sc.as_scaled_array(jnp.float32([[0.5, -2], [1, 1]])), np.int32(3)],
        "c": sc.scaled_array(np.float16([1.5]), 2.0**-30),
    }


def _values(tree):
    return [np.asarray(leaf, np.float64) for leaf in sc.tree.leaves(tree)]


def _assert_values(tree, want):
    for got, expected in zip(_values(tree), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=2**-9)


@pytest.mark.parametrize("number", [0.0, 1.0, 0.1, 4.0])
@pytest.mark.parametrize("jit", [False, True])
def test_fills(number: float, jit: bool):
    tree = _tree()
    fill = lambda t: jax.tree.map(lambda v: jnp.full_like(v, number), t)  # noqa: E731
    if jit and number not in (0.0, 1.0):
        pytest.skip("while JAX traces there are no numbers to compare")
    want = [np.full(v.shape, number if v.ndim else int(number)) for v in _values(tree)]
    _assert_values(jax.jit(fill)(tree) if jit else fill(tree), want)


@pytest.mark.parametrize(
    "function", [jnp.copy, np.asarray, jax.device_put, lambda v: v + 0, lambda v: jnp.asarray(v)],
)  # fmt: skip
def test_copies(function):
    tree = _tree()
    _assert_values(jax.tree.map(function, tree), _values(tree))


def test_casts_keep_the_scale():
    """2^-30 is no f16: the scale would be lost in the cast."""
    tree = {"w": sc.scaled_array(np.float32([1.5]), 2.0**-30)}
    cast = jax.tree.map(lambda v: v.astype(np.float16), tree)["w"]
    assert (cast.dtype, cast.scale.dtype) == (np.float16, np.float32)
    assert cast.to_array(np.float32).tolist() == [1.5 * 2.0**-30]


@pytest.mark.parametrize(
    "function",
    [lambda v: 2 * v, lambda v: -v, jnp.abs, lambda v: v + 1, lambda v: jnp.clip(v, -1, 1), jnp.square, jnp.sin],
)  # fmt: skip
def test_arithmetic_is_refused(function):
    with pytest.raises(TypeError, match=r"has computed on the data and on the scale.*scalify_hlo\.tree\.map"):
        jax.tree.map(function, {"a": sc.scaled_array(np.float32([-1, 3]), 4.0)})


def test_two_trees():
    tree = _tree()
    with pytest.raises(TypeError, match="has computed on the data"):
        jax.tree.map(lambda p, u: p + u, tree, tree)
    _assert_values(sc.tree.map(lambda p, u: p + u, tree, tree), [2 * v for v in _values(tree)])
    chosen = jax.tree.map(lambda old, new: new, tree, sc.tree.map(lambda v: v + v, tree))  # noqa: ARG005
    _assert_values(chosen, [2 * v for v in _values(tree)])
    stacked = jax.tree.map(lambda *v: jnp.stack(v), tree, tree)
    _assert_values(stacked, [np.stack([v, v]) for v in _values(tree)])
    _assert_values(jax.tree.map(lambda v: v[0], stacked), _values(tree))


def test_after_a_map_that_failed():
    tree = _tree()
    for _ in range(3):
        with pytest.raises(TypeError, match="has computed"):
            jax.tree.map(lambda v: 2 * v, tree)
        _assert_values(jax.tree.map(jnp.copy, tree), _values(tree))


def test_other_ways_of_building_trees_are_left_alone():
    """A checkpoint that is restored into the structure of a state has other scales."""
    tree = _tree()
    leaves, structure = jax.tree.flatten(tree)
    restored = jax.tree.unflatten(structure, [leaf * 2 for leaf in leaves])
    assert float(restored["a"].scale) == 8.0
    by_path = jax.tree_util.tree_map_with_path(lambda path, v: v * (2 if ".data" in str(path) else 1), tree)
    assert float(by_path["a"].scale) == 4.0

    def body(carry, _):
        return sc.scalify(lambda t: jax.tree.map(lambda v: v * v, t))(carry), None

    a, _ = jax.lax.scan(body, {"a": tree["a"]}, None, length=2)
    _assert_values(a, [np.array([4.0, 12.0]) ** 4])


@pytest.mark.parametrize("function", [jnp.add, jnp.subtract, jnp.maximum, jnp.minimum, jnp.multiply, jnp.hypot])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_scales_of_zero(function, dtype):
    """As `jax.jit(optimizer.init)` makes them."""
    zeros = jax.jit(lambda t: jax.tree.map(jnp.zeros_like, t))(sc.scaled_array(dtype([1, 2]), 4.0))
    assert float(zeros.scale) == 0
    assert np.asarray(sc.scalify(function)(zeros, zeros)).tolist() == [0, 0]
    joined = sc.scalify(lambda a, b: jnp.concatenate([a, b]))(zeros, zeros)
    assert np.asarray(joined).tolist() == [0] * 4
    one = sc.scaled_array(dtype([1, 2]), 4.0)
    assert np.asarray(sc.scalify(jnp.add)(zeros, one)).tolist() == [4, 8]


def test_set_scaling_to_zero():
    zeros = sc.scaled_array(np.zeros(3, np.float16), 1.0)
    for rescaled in (sc.set_scaling(zeros, np.float32(0)), sc.scalify(sc.set_scaling)(zeros, np.float32(0))):
        assert float(rescaled.scale) == 2.0**-126
        assert np.asarray(sc.scalify(jnp.add)(rescaled, rescaled)).tolist() == [0] * 3


def test_optimizers_are_initialised_from_scaled_parameters():
    optax = pytest.importorskip("optax")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((16, 8)).astype(np.float32)
    y = x.sum(1, keepdims=True)
    plain = {"w": rng.standard_normal((8, 1)).astype(np.float32)}
    for optimizer in (optax.adam(1e-2), optax.sgd(1e-2, momentum=0.9), optax.adagrad(0.1)):

        def step(p, s, b):
            loss, g = jax.value_and_grad(lambda p: jnp.mean((b[0] @ p["w"] - b[1]) ** 2))(p)
            u, s = optimizer.update(g, s, p)  # noqa: B023
            return optax.apply_updates(p, u), s, loss

        want = jax.jit(step)(plain, optimizer.init(plain), (x, y))[0]["w"]
        params = sc.as_scaled_array(plain)
        got = sc.scalify(step)(params, optimizer.init(params), sc.as_scaled_array((x, y)))[0]["w"]
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-4)
    with pytest.raises(TypeError, match="scalify"):
        optax.apply_updates(params, params)
    np.testing.assert_allclose(float(sc.scalify(optax.tree.norm)(params)), optax.tree.norm(plain), rtol=1e-6)


def test_what_a_map_takes_as_a_leaf_has_no_pairs_of_its_own() -> None:
    """Flax nnx maps over nodes with whole states in them: their pairs are not those that are built."""
    tree = ({"state": sc.scaled_array(np.float32([1, 2]), 64.0)}, sc.scaled_array(np.float32([3]), 1.0))

    def is_node(x: Any) -> bool:
        return isinstance(x, dict)

    same = jax.tree.map(lambda leaf: leaf, tree, is_leaf=is_node)
    assert float(same[1].scale) == 1
    with pytest.raises(TypeError, match="computed on the data"):
        jax.tree.map(lambda leaf: leaf if is_node(leaf) else 2 * leaf, tree, is_leaf=is_node)
