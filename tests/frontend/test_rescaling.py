"""Dynamic and delayed rescaling: inside the transform, on ScaledArrays, and nothing outside."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec

import scalify_hlo as sc
from scalify_hlo import ScaledArray, ops

# Largest magnitude 4, root mean square 2.06, mean magnitude 1.25.
DATA = np.float16([4, -1, 0, 0])
RESCALINGS = {
    "max": (ops.dynamic_rescale_max, ops.dynamic_rescale_max_grad, 4.0),
    "l2": (ops.dynamic_rescale_l2, ops.dynamic_rescale_l2_grad, 2.0),
    "l1": (ops.dynamic_rescale_l1, ops.dynamic_rescale_l1_grad, 1.0),
}


def scaled(data=DATA, scale=2.0**-30):
    return ScaledArray(data, np.float32(scale))


@pytest.mark.parametrize("name", RESCALINGS)
@pytest.mark.parametrize("factor", [1.0, 2.0**-8, 2.0**8])
def test_inside(name, factor):
    rescale, _, statistic = RESCALINGS[name]
    x = scaled(DATA * np.float16(factor))
    for function in (sc.scalify(rescale), rescale):
        y = function(x)
        assert float(y.scale) == float(x.scale) * factor * statistic
        np.testing.assert_array_equal(np.asarray(y.data), DATA / np.float16(statistic))


@pytest.mark.parametrize("name", RESCALINGS)
def test_gradient_inside(name):
    _, rescale_gradient, statistic = RESCALINGS[name]
    gradient = sc.scalify(jax.grad(lambda x, g: jnp.sum(rescale_gradient(x) * g)))(np.float16([1, 2, 3, 4]), scaled())
    assert float(gradient.scale) == 2.0**-30 * statistic
    np.testing.assert_array_equal(np.asarray(gradient.data), DATA / np.float16(statistic))


@pytest.mark.parametrize("name", RESCALINGS)
def test_nothing_outside(name):
    rescale, rescale_gradient, _ = RESCALINGS[name]
    for function in (rescale, rescale_gradient):
        np.testing.assert_array_equal(jax.jit(function)(DATA), DATA)
        np.testing.assert_array_equal(jax.jit(jax.grad(lambda x, f=function: jnp.sum(f(x) ** 2)))(DATA), 2 * DATA)
        compiled = jax.jit(function).lower(DATA).compile().as_text()
        assert "reduce" not in compiled


def test_forward_rescaling_leaves_gradients_alone():
    gradient = sc.scalify(jax.grad(lambda x: jnp.sum(ops.dynamic_rescale_max(x) * x)))(scaled(scale=1.0))
    np.testing.assert_array_equal(np.asarray(gradient), 2 * DATA)


def test_tree():
    state = {"w": scaled(), "step": 3, "plain": np.float32([1, 2]), "count": np.arange(2)}
    new = ops.dynamic_rescale(state, "max")
    assert float(new["w"].scale) == 2.0**-28
    assert new["step"] == 3
    assert new["plain"] is state["plain"]
    assert new["count"] is state["count"]


def test_rescale_state():
    state = {"w": scaled(), "m": ScaledArray(np.float32([1e-20, 0]), np.float32(1)), "step": np.int32(3)}
    new = sc.rescale_state(state)
    for key in ("w", "m"):
        np.testing.assert_array_equal(np.asarray(new[key], np.float64), np.asarray(state[key], np.float64))
        rms = np.sqrt(np.mean(np.square(np.asarray(new[key].data, np.float64))))
        assert 1 <= rms < 2
    assert int(new["step"]) == 3


@pytest.mark.parametrize("values", [[0, 0], [np.inf, 1], [np.nan, 1]])
def test_useless_statistics_keep_the_scale(values):
    x = scaled(np.float16(values))
    for function in (ops.dynamic_rescale_l2, sc.scalify(ops.dynamic_rescale_l2)):
        y = function(x)
        assert float(y.scale) == float(x.scale)
        np.testing.assert_array_equal(np.asarray(y.data), np.float16(values))


def test_zeros_rescaled_for_ever_keep_a_usable_scale():
    x = scaled(np.zeros(3, np.float16), 2.0**-126)
    for _ in range(3):
        x = sc.scalify(lambda x: ops.dynamic_rescale_l2(x) * 0.5)(x)
    assert np.all(np.asarray(x) == 0)
    assert np.isfinite(1 / float(x.scale)) if float(x.scale) else True


def test_scale_per_layer():
    x = ScaledArray(np.float16([[4, 0], [16, 16]]), np.float32([[1], [2]]))
    y = ops.dynamic_rescale_max(x)
    np.testing.assert_array_equal(np.asarray(y.scale), [[4], [32]])
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


def test_e8m0_scale_is_kept():
    x = ScaledArray(DATA, jnp.float8_e8m0fnu(2))
    y = ops.dynamic_rescale_max(x)
    assert y.scale.dtype == jnp.float8_e8m0fnu
    assert float(y.scale) == 8


def test_every_few_steps():
    def update(step, x):
        return ops.dynamic_rescale_every(3, step, x, "max")

    for function in (sc.scalify(update), update):
        scales = [float(function(np.int32(step), scaled(scale=1.0)).scale) for step in range(4)]
        assert scales == [4, 1, 1, 4]
    np.testing.assert_array_equal(jax.jit(update)(0, DATA), DATA)
    with pytest.raises(ValueError, match="must be positive"):
        ops.dynamic_rescale_every(0, 0, DATA)


def test_every_few_steps_inside_shard_map():
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AxisType.Auto,))

    def function(x, step):
        return ops.dynamic_rescale_every(2, step, x)

    along = PartitionSpec("i")
    mapped = jax.shard_map(function, mesh=mesh, in_specs=(along, PartitionSpec()), out_specs=along)
    x = ScaledArray(np.float16([2, 4]), np.float32(1))
    assert [float(sc.scalify(mapped)(x, np.int32(step)).scale) for step in (3, 4)] == [1, 2]


def test_vmap():
    """A batch has one scale, large enough for all of it."""
    x = scaled(np.float16([[4, 1], [16, 8]]), 1.0)
    y = sc.scalify(jax.vmap(ops.dynamic_rescale_max))(x)
    assert float(y.scale) == 16
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


# --- delayed ----------------------------------------------------------------------------------------------------


def test_delayed():
    """The scale follows the largest of the last magnitudes, one step behind."""

    @sc.scalify
    def step(x, history):
        return ops.delayed_rescale(x, history)

    history, scales, recorded = ops.AmaxHistory.of_length(2), [], []
    for magnitude in (3.0, 40.0, 0.5, 0.5, np.inf, 1.0):
        x, history = step(ScaledArray(np.float32([magnitude / 8, 0]), np.float32(8)), history)
        scales.append(float(x.scale))
        recorded.append(np.asarray(history.values).tolist())
        np.testing.assert_array_equal(np.asarray(x), np.float32([magnitude, 0]))
    assert recorded == [[3, 0], [40, 3], [0.5, 40], [0.5, 0.5], [0, 0.5], [1, 0]]
    # Nothing known at first: the scale stays; then the next power of two above the largest.
    assert scales == [8, 4, 64, 64, 0.5, 0.5]
    assert isinstance(history.values, jax.Array)


def test_delayed_target():
    history = ops.AmaxHistory(np.float32([100.0]))
    x, _ = sc.scalify(lambda x, h: ops.delayed_rescale(x, h, target=448))(scaled(np.float16([100]), 1.0), history)
    assert float(x.scale) == 0.25
    assert float(x.data[0]) == 400


def test_delayed_outside():
    x, history = jax.jit(ops.delayed_rescale)(DATA, ops.AmaxHistory.of_length(3))
    np.testing.assert_array_equal(x, DATA)
    np.testing.assert_array_equal(history.values, [4, 0, 0])


def test_delayed_in_a_loop():
    """The history is carried by lax.scan, inside the transform."""

    def run(xs, history):
        def body(history, x):
            x, history = ops.delayed_rescale(x, history)
            return history, x * 2

        return jax.lax.scan(body, history, xs)

    xs = np.float32(np.random.default_rng(0).standard_normal((5, 8)))
    history, ys = sc.scalify(run)(scaled(xs, 1.0), ops.AmaxHistory.of_length(2))
    np.testing.assert_array_equal(np.asarray(ys), 2 * xs)
    np.testing.assert_array_equal(history.values, np.max(np.abs(xs[[4, 3]]), axis=1))


def test_empty_history_is_refused():
    with pytest.raises(ValueError, match="at least one entry"):
        ops.AmaxHistory.of_length(0)


# --- debugging --------------------------------------------------------------------------------------------------


def test_debug_callback():
    seen = []
    x = scaled(scale=2.0)
    jax.block_until_ready(sc.scalify(lambda x, n: (ops.debug_callback(seen.append, {"x": x, "n": n}), x + 1)[1])(x, 3))
    jax.effects_barrier()
    (value,) = seen
    assert int(value["n"]) == 3
    assert isinstance(value["x"], ScaledArray)
    np.testing.assert_array_equal(value["x"].data, DATA)
    seen.clear()
    jax.block_until_ready(jax.jit(lambda x: (ops.debug_callback(seen.append, x), x + 1)[1])(DATA))
    jax.effects_barrier()
    np.testing.assert_array_equal(seen[0], DATA)


def test_debug_callback_of_gradients():
    seen = []
    function = sc.scalify(jax.grad(lambda x: jnp.sum(ops.debug_callback_grad(seen.append, x)[0] * 3)))
    jax.block_until_ready(function(scaled(scale=2.0)))
    jax.effects_barrier()
    np.testing.assert_array_equal(np.asarray(seen[0]), np.full(4, 3))


def test_debug_print(capfd):
    jax.block_until_ready(jax.jit(lambda x: ops.debug_print("value {}", x)[0] + 1)(np.float32(2)))
    jax.block_until_ready(jax.jit(jax.grad(lambda x: ops.debug_print_grad("gradient {}", x)[0] * 5))(np.float32(2)))
    jax.effects_barrier()
    assert capfd.readouterr().out.split("\n")[:2] == ["value 2.0", "gradient 5.0"]
