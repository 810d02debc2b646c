"""pack_exported: the scales of an exported function in one vector."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import scalify_hlo as sc
from scalify_hlo import ScaledArray, ScalifyError

RNG = np.random.default_rng(0)
PARAMS = {"a": np.float32(RNG.standard_normal((8, 16))), "b": np.float32(RNG.standard_normal((16, 4)))}
STATE = {"p": PARAMS, "m": jax.tree.map(np.zeros_like, PARAMS), "count": np.int32(0)}
BATCH = (np.float32(RNG.standard_normal((32, 8))), np.float32(RNG.standard_normal((32, 4))))


def loss(params, batch):
    x, y = batch
    return jnp.mean((jax.nn.relu(x @ params["a"]) @ params["b"] - y) ** 2)


def step(state, batch, unused=None):
    del unused
    value, gradients = jax.value_and_grad(loss)(state["p"], batch)
    moments = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], gradients)
    params = jax.tree.map(lambda p, m: p - 0.01 * m, state["p"], moments)
    return {"p": params, "m": moments, "count": state["count"] + 1}, value


def stored(scaled, *args):
    """The arguments as ScaledArrays of the types that an Exported wants."""
    leaves, tree = jax.tree.flatten(sc.as_scaled_array(args))
    avals = scaled.in_avals
    return tree.unflatten([jnp.asarray(leaf, aval.dtype) for leaf, aval in zip(leaves, avals, strict=True)])


@pytest.mark.parametrize("precision", [None, "fp16-state", "fp8"])
def test_steps_of_training(precision):
    """The same numbers as with pairs, serialised and loaded in between, and ScaledArrays again at the end."""
    scaled = sc.scalify_exported(export.export(jax.jit(step))(STATE, BATCH), precision=precision)
    packed = export.deserialize(sc.pack_exported(scaled).serialize())
    pairs = stored(scaled, STATE, BATCH)
    (state, batch), scales = sc.pack_scales(pairs)
    assert scales.shape == (6,)
    assert len(packed.in_avals) == len(jax.tree.leaves((STATE, BATCH))) + 1
    expected = pairs[0]
    for _ in range(3):
        expected, want = scaled.call(expected, pairs[1])
        (state, got), scales = packed.call(state, batch, scales)
        assert isinstance(got, ScaledArray)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    unpacked, same_batch = sc.unpack_scales((state, batch), scales, like=pairs)
    jax.tree.map(np.testing.assert_array_equal, unpacked, expected)
    jax.tree.map(np.testing.assert_array_equal, same_batch, pairs[1])


def test_unused_arguments_have_an_element():
    scaled = sc.scalify_exported(export.export(jax.jit(step))(STATE, BATCH, np.float32([1, 2])))
    packed = sc.pack_exported(scaled)
    pairs = stored(scaled, STATE, BATCH, np.float32([1, 2]))
    data, scales = sc.pack_scales(pairs)
    assert scales.shape == (7,)
    (_, got), following = packed.call(*data, scales)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(scaled.call(*pairs)[1]))
    assert following[6] == scales[6]


def test_pairs_that_are_tuples():
    """Loaded where this package is not known: trees of arrays alone."""
    exported = export.export(jax.jit(step))(STATE, BATCH)
    packed = sc.pack_exported(sc.scalify_exported(exported, container="tuple"))
    known = sc.pack_exported(sc.scalify_exported(exported))
    assert packed.in_tree == known.in_tree and packed.in_avals == known.in_avals
    data, scales = sc.pack_scales(stored(sc.scalify_exported(exported), STATE, BATCH))
    (state, loss_pair), following = packed.call(*data, scales)
    (want_state, want), want_scales = known.call(*data, scales)
    assert isinstance(loss_pair, tuple)
    jax.tree.map(np.testing.assert_array_equal, (state, following), (want_state, want_scales))
    np.testing.assert_array_equal(loss_pair[0] * loss_pair[1], np.asarray(want))


def test_a_function_without_state_returns_no_vector():
    def forward(params, x):
        return {"y": jnp.tanh(x @ params["a"]), "n": jnp.argmax(x)}

    scaled = sc.scalify_exported(export.export(jax.jit(forward), platforms=("cpu", "cuda"))(PARAMS, BATCH[0]))
    packed = sc.pack_exported(scaled)
    pairs = stored(scaled, PARAMS, BATCH[0])
    data, scales = sc.pack_scales(pairs)
    result = jax.jit(packed.call)(*data, scales)
    np.testing.assert_array_equal(np.asarray(result["y"]), np.asarray(scaled.call(*pairs)["y"]))


def test_results_like_an_input_are_no_state():
    """A layer maps x to something of its shape: no subtree of state comes back."""
    scaled = sc.scalify_exported(export.export(jax.jit(lambda x: 2 * x))(BATCH[0]))
    packed = sc.pack_exported(scaled)
    assert isinstance(jax.tree.unflatten(packed.out_tree, (0, 0)), ScaledArray)


def test_donation_and_sharding():
    mesh = jax.make_mesh((1,), ("d",), axis_types=(AxisType.Auto,))
    batch = jax.device_put(BATCH, NamedSharding(mesh, PartitionSpec("d")))
    scaled = sc.scalify_exported(export.export(jax.jit(step, donate_argnums=0))(STATE, batch))
    packed = sc.pack_exported(scaled)
    pairs = stored(scaled, STATE, batch)
    data, scales = sc.pack_scales(pairs)
    want = np.asarray(jax.jit(scaled.call)(*jax.tree.map(jnp.copy, pairs))[1])
    (_, got), _ = jax.jit(packed.call)(*data, scales)
    np.testing.assert_array_equal(np.asarray(got), want)


def test_what_cannot_be_packed():
    exported = export.export(jax.jit(step))(STATE, BATCH)
    for refused in (exported, sc.scalify_exported(exported, "none")):
        with pytest.raises(ScalifyError, match=r"pack_exported\(step\): no input that it uses is a pair with a scale"):
            sc.pack_exported(refused)
    with_keyword = export.export(jax.jit(lambda x, *, y: x * y))(BATCH[0], y=BATCH[0])
    with pytest.raises(ScalifyError, match="positional arguments only"):
        sc.pack_exported(sc.scalify_exported(with_keyword))


def test_trees():
    by_row = ScaledArray(jnp.ones((2, 3)), jnp.ones((2, 1)))
    tree = {"x": sc.scaled_array(jnp.ones(3), 2.0), "n": 3, "rows": by_row, "none": None}
    data, scales = sc.pack_scales(tree)
    assert data["n"] == 3 and data["rows"] is by_row and data["none"] is None
    np.testing.assert_array_equal(scales, [2.0])
    assert sc.unpack_scales(data, scales, like=tree)["x"].scale == 2.0
    assert sc.unpack_scales(data, scales, like=jax.eval_shape(lambda: tree))["x"].scale == 2.0
    with pytest.raises(ValueError, match="2 scales for a tree with 1 ScaledArrays"):
        sc.unpack_scales(data, jnp.ones(2), like=tree)
    assert sc.pack_scales({"n": 1})[1].shape == (0,)
