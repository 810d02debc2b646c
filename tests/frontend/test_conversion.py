"""as_scaled_array, asarray and the tree functions."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo.frontend.statistics import magnitude


def normal(*shape, sigma=1.0, dtype=np.float32):
    return (sigma * np.random.default_rng(0).standard_normal(shape)).astype(dtype)


def is_power_of_two(scale):
    return np.frexp(np.float32(scale))[0] == 0.5


# --- as_scaled_array --------------------------------------------------------------------------------------------


def test_default_scale_is_rms_rounded_down():
    x = sc.as_scaled_array(normal(1000, sigma=0.01))
    assert is_power_of_two(x.scale)
    assert 1 <= np.sqrt(np.mean(np.square(x.data))) < 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, jnp.bfloat16])
@pytest.mark.parametrize("sigma", [2.0**-8, 1.0, 2.0**6])
def test_value_keeps_its_bits(dtype, sigma):
    x = normal(64, sigma=sigma, dtype=dtype)
    y = sc.as_scaled_array(x)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(y), x)


def test_abstract_evaluation():
    shape = jax.eval_shape(sc.as_scaled_array, {"w": np.ones((2, 3), np.float16)})
    assert isinstance(shape["w"], sc.ScaledArray)
    assert (shape["w"].shape, shape["w"].scale.shape) == ((2, 3), ())


def test_e8m0_scales():
    x = sc.as_scaled_array(normal(10, sigma=4), scale_dtype=jnp.float8_e8m0fnu)
    assert x.scale.dtype == jnp.float8_e8m0fnu
    np.testing.assert_array_equal(np.asarray(x), normal(10, sigma=4))


def test_existing_scaled_arrays_stay():
    x = sc.scaled_array(np.float16([1]), 8.0)
    assert sc.as_scaled_array([x])[0] is x


def test_given_scale_is_rounded_to_a_power_of_two():
    x = sc.as_scaled_array(np.float32([1, 3]), scale=0.1)
    assert float(x.scale) == 0.0625
    np.testing.assert_array_equal(np.asarray(x), np.float32([1, 3]))


def test_given_scale_per_channel():
    x = sc.as_scaled_array(np.float32([[1, 2], [4, 8]]), scale=np.float32([[1], [4]]))
    np.testing.assert_array_equal(x.data, np.float32([[1, 2], [1, 2]]))


def test_infinite_elements_get_scale_1():
    x = sc.as_scaled_array(np.float32([1, np.inf]))
    assert float(x.scale) == 1
    np.testing.assert_array_equal(np.asarray(x), np.float32([1, np.inf]))


def test_jit_and_eager_agree():
    x = normal(100, sigma=3e-5)
    eager, jitted = sc.as_scaled_array(x), jax.jit(sc.as_scaled_array)(x)
    assert float(eager.scale) == float(jitted.scale)
    np.testing.assert_array_equal(eager.data, jitted.data)


def test_large_values_do_not_overflow_the_statistic():
    x = sc.as_scaled_array(np.float32([1e30, -1e30]))
    np.testing.assert_array_equal(np.asarray(x), np.float32([1e30, -1e30]))
    assert 1e29 < float(x.scale) <= 1e30


def test_numbers():
    tree = sc.as_scaled_array({"int": 3, "bool": True, "float": 0.75, "none": None})
    assert (tree["int"], tree["bool"], tree["none"]) == (3, True, None)
    assert (float(tree["float"].data), float(tree["float"].scale)) == (1.5, 0.5)


def test_shapes_become_the_shapes_of_scaled_arrays():
    mesh = jax.make_mesh((1,), ("i",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    w = jax.ShapeDtypeStruct((2, 3), jnp.float32, sharding=sharding)
    scaled, step = sc.as_scaled_array([w, jax.ShapeDtypeStruct((), jnp.int32)])
    assert (scaled.data, scaled.scale.shape, scaled.scale.dtype) == (w, (), jnp.float32)
    assert scaled.scale.sharding.is_fully_replicated
    assert step == jax.ShapeDtypeStruct((), jnp.int32)


def test_others_stay():
    key = jax.random.key(0)
    tree = sc.as_scaled_array([np.arange(3), np.ones(2, np.bool_), key, np.ones(2, np.complex64)])
    assert [type(leaf).__name__ for leaf in tree] == ["ndarray", "ndarray", type(key).__name__, "ndarray"]


@pytest.mark.parametrize(("statistic", "expected"), [("max", 4.0), ("l1", 1.0), ("rms", 2.0)])
def test_statistics(statistic, expected):
    # max 4, mean 1.25, root mean square 2.06
    x = sc.as_scaled_array(np.float32([4, 1, 0, 0]) * np.float32(1), statistic=statistic)
    assert float(x.scale) == expected


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf"), np.float32([1, 0])])
def test_unusable_scales_are_refused(scale):
    with pytest.raises(ValueError, match="positive finite"):
        sc.as_scaled_array(np.ones(2, np.float32), scale=scale)


@pytest.mark.parametrize("scale", [2**100, 2**130, 10**400])
def test_scales_may_be_integers_of_any_size(scale: int):
    x = sc.as_scaled_array(np.full(2, 2.0**120, np.float32), scale=scale)
    assert float(x.scale) == 2.0 ** min(math.log2(scale), 127)
    assert np.asarray(x).tolist() == [2.0**120] * 2


def test_wrong_shape_of_scale_is_refused():
    with pytest.raises(ValueError, match="does not belong"):
        sc.as_scaled_array(np.ones((2, 3), np.float32), scale=np.ones(3, np.float32))


def test_zeros_get_the_smallest_scale():
    for zeros in (np.zeros(3, np.float16), jnp.zeros(3, jnp.float16)):
        x = sc.as_scaled_array(zeros)
        assert float(x.scale) == 2.0**-126
        np.testing.assert_array_equal(np.asarray(x), np.zeros(3))


def test_empty_array():
    assert sc.as_scaled_array(np.ones((0, 3), np.float32)).shape == (0, 3)


# --- asarray ----------------------------------------------------------------------------------------------------


def test_asarray_of_a_tree():
    tree = {"x": sc.scaled_array(np.float16([1, 2]), 2.0), "y": np.float32([3])}
    plain = sc.asarray(tree, np.float32)
    np.testing.assert_array_equal(plain["x"], np.float32([2, 4]))
    assert plain["x"].dtype == plain["y"].dtype == np.float32


@pytest.mark.parametrize("dtype", [None, np.float32])
def test_asarray_leaves_what_is_no_number_what_it_is(dtype: type | None):
    """The activation function among the leaves of an equinox module, which is called afterwards."""
    tree = {"w": sc.as_scaled_array(np.ones(2, np.float32)), "activation": jnp.tanh, "name": "layer", "depth": 3}
    back = sc.asarray(tree, dtype)
    assert back["activation"] is jnp.tanh and back["name"] == "layer" and int(back["depth"]) == 3


def test_asarray_leaves_counters_what_they_are():
    state = {"count": np.int32(3), "done": np.array([True]), "steps": 7, "w": sc.scaled_array(np.float16([1, 2]), 2.0)}
    plain = sc.asarray(state, np.float32)
    assert {name: leaf.dtype for name, leaf in plain.items()} == {
        "count": np.int32, "done": np.bool_, "steps": np.int_, "w": np.float32,
    }  # fmt: skip
    assert sc.asarray(np.arange(3), np.float32).dtype == np.float32  # one array, as numpy.asarray
    assert sc.asarray({"n": np.arange(3)}, np.int8)["n"].dtype == np.int8


# --- tree -------------------------------------------------------------------------------------------------------


def test_tree_functions_see_one_leaf():
    tree = {"a": sc.scaled_array(np.float16([1, 2]), 2.0), "b": np.arange(2)}
    assert len(sc.tree.leaves(tree)) == 2
    leaves, structure = sc.tree.flatten(tree)
    assert structure == sc.tree.structure(tree)
    assert sc.tree.unflatten(structure, leaves)["a"] is tree["a"]
    assert sc.tree.map(lambda v: v.shape, tree) == {"a": (2,), "b": (2,)}


def test_tree_astype():
    tree = {"a": sc.scaled_array(np.float16([1, 2]), 2.0), "b": np.arange(2)}
    assert [v.dtype for v in sc.tree.leaves(sc.tree.astype(tree, np.float32))] == [np.float32, np.float32]
    converted = sc.tree.astype(tree, np.float32, floating_only=True)
    assert [v.dtype for v in sc.tree.leaves(converted)] == [np.float32, tree["b"].dtype]


def test_tree_all_and_nbytes():
    assert sc.tree.all([True, np.bool_(True)])
    assert not sc.tree.all([True, False])
    assert sc.tree.nbytes([sc.scaled_array(np.ones(4, np.float16), np.float32(1)), np.ones(2, np.float32)]) == 20


# --- statistics -------------------------------------------------------------------------------------------------


def test_magnitude_along_axes():
    x = np.float32([[3, 4], [0, 0]])
    np.testing.assert_allclose(magnitude(x, "rms", (1,)), [[np.sqrt(12.5)], [0]])
    np.testing.assert_allclose(magnitude(jnp.asarray(x), "max", (0,)), [[3, 4]])
