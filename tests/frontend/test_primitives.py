"""The scaling primitives: no-ops outside the transform, in every JAX transformation; changes of scale inside."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, PartitionSpec

import scalify_hlo as sc

X = np.float32([[1, -2, 3], [4, 5, -6]])


def program(x):
    """Uses every primitive; its value is 4 x + x^2 summed over the last axis."""
    data, scale = sc.get_data_and_scale(x)
    y = sc.set_scaling(x, jnp.max(jnp.abs(jax.lax.stop_gradient(data))))
    z = sc.rebalance_scale(x, 0.5) + sc.stop_scaling(x)
    return jnp.sum(y * y + z + data * scale + sc.get_data(x) * scale, axis=-1)


EXPECTED = np.sum(X * X + 4 * X, axis=-1)
EXPECTED_GRADIENT = 2 * X + 4


def scaled(x=X, scale=4.0):
    return sc.ScaledArray(x / np.float32(scale), np.float32(scale))


# --- outside the transform --------------------------------------------------------------------------------------


def test_checkpointed_gradient():
    gradient = jax.grad(lambda x: jax.checkpoint(program)(x).sum())(X)
    np.testing.assert_array_equal(gradient, EXPECTED_GRADIENT)


def test_eager_and_jit():
    np.testing.assert_array_equal(program(X), EXPECTED)
    np.testing.assert_array_equal(jax.jit(program)(X), EXPECTED)


def test_export_for_several_platforms():
    exported = jax.export.export(jax.jit(program), platforms=["cpu", "cuda"])(X)
    loaded = jax.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(loaded.call(X), EXPECTED)


def test_export_with_symbolic_shapes():
    shape = jax.export.symbolic_shape("rows, columns")
    exported = jax.export.export(jax.jit(jax.vmap(program)))(jax.ShapeDtypeStruct((5, *shape), jnp.float32))
    x = np.broadcast_to(X, (5, *X.shape))
    np.testing.assert_array_equal(exported.call(x), np.broadcast_to(EXPECTED, (5, 2)))


def test_gradient():
    np.testing.assert_array_equal(jax.grad(lambda x: program(x).sum())(X), EXPECTED_GRADIENT)
    np.testing.assert_array_equal(jax.jit(jax.grad(lambda x: program(x).sum()))(X), EXPECTED_GRADIENT)


def test_gradient_of_the_scale_is_zero():
    gradient = jax.grad(lambda s: jnp.sum(sc.set_scaling(X, s) ** 2))(jnp.float32(2))
    assert float(gradient) == 0


def test_hessian():
    hessian = jax.hessian(lambda x: jnp.sum(sc.set_scaling(x, 2.0) ** 3))(X[0])
    np.testing.assert_allclose(hessian, np.diag(6 * X[0]))


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_shard_map(kind):
    mesh = jax.make_mesh((1,), ("i",), axis_types=(kind,))
    with jax.set_mesh(mesh):
        x = jax.device_put(X, PartitionSpec("i"))
        mapped = jax.shard_map(program, in_specs=PartitionSpec("i"), out_specs=PartitionSpec("i"))
        np.testing.assert_array_equal(jax.jit(mapped)(x), EXPECTED)
        gradient = jax.jit(jax.grad(lambda x: mapped(x).sum()))(x)
        np.testing.assert_array_equal(gradient, EXPECTED_GRADIENT)


def test_scan():
    def body(carry, row):
        carry = carry + program(sc.rebalance_scale(row, 2.0))
        return carry, carry

    _, sums = jax.lax.scan(body, jnp.float32(0), X)
    np.testing.assert_array_equal(sums, np.cumsum(EXPECTED))


@pytest.mark.parametrize("axis", [0, 1])
def test_vmap(axis):
    x = np.stack([X, 2 * X], axis)
    out = jax.vmap(program, in_axes=axis)(x)
    np.testing.assert_array_equal(out, np.stack([EXPECTED, np.sum(4 * X * X + 8 * X, axis=-1)]))


def test_vmap_over_scales():
    out = jax.vmap(lambda s: sc.set_scaling(X, s))(np.float32([1, 2]))
    np.testing.assert_array_equal(out, np.stack([X, X]))


def test_one_function_in_the_module_for_equal_calls():
    text = jax.jit(lambda x: sc.set_scaling(sc.set_scaling(x, 2.0), 4.0)).lower(X).as_text()
    assert text.count("func.func private @scalify.set_scaling") == 1
    assert text.count("stablehlo.composite") == 2


def test_data_type_of_the_scale():
    for dtype in (np.float16, np.float32, jnp.bfloat16, jnp.float8_e4m3fn):
        data, scale = jax.jit(sc.get_data_and_scale)(jnp.ones(2, dtype))
        assert (data.dtype, scale.dtype) == (dtype, np.float32)


def test_integers_are_refused():
    for function in (lambda x: sc.set_scaling(x, 2.0), sc.get_data_and_scale, sc.stop_scaling):
        with pytest.raises(TypeError, match="floating-point"):
            function(np.arange(3))


def test_stop_scaling_converts():
    assert sc.stop_scaling(np.float16([1]), np.float32).dtype == np.float32


def test_wrong_scale_shape_is_refused():
    with pytest.raises(ValueError, match="does not belong"):
        sc.set_scaling(X, np.ones(3, np.float32))


# --- on ScaledArrays --------------------------------------------------------------------------------------------


def test_get_of_a_scaled_array():
    x = scaled()
    assert sc.get_data_and_scale(x) == (x.data, x.scale)
    assert sc.get_data(x) is x.data


def test_rebalance_of_a_scaled_array():
    y = sc.rebalance_scale(scaled(scale=4.0), 0.5)
    assert float(y.scale) == 2
    np.testing.assert_array_equal(np.asarray(y), X)


def test_rebalance_does_not_leave_the_range_of_scales():
    y = sc.rebalance_scale(sc.scaled_array(np.float32([1]), np.float32(2.0**-120)), 2.0**-30)
    assert float(y.scale) == 2.0**-126


def test_set_of_a_scaled_array():
    y = sc.set_scaling(scaled(scale=4.0), 0.5)
    assert float(y.scale) == 0.5
    np.testing.assert_array_equal(y.data, X / 0.5)
    channels = sc.set_scaling(scaled(), np.float32([[1], [2]]))
    np.testing.assert_array_equal(np.asarray(channels), X)


def test_stop_of_a_scaled_array():
    np.testing.assert_array_equal(sc.stop_scaling(scaled(), np.float64), X)


# --- inside the transform ---------------------------------------------------------------------------------------


def test_get_inside():
    data, scale = sc.scalify(sc.get_data_and_scale)(scaled(scale=4.0))
    np.testing.assert_array_equal(data, X / 4)
    assert float(scale) == 4


def test_get_inside_of_a_plain_array():
    data, scale = sc.scalify(lambda _, y: sc.get_data_and_scale(y))(scaled(), X)
    np.testing.assert_array_equal(data, X)
    assert float(scale) == 1


@pytest.mark.parametrize("scale", [4.0, 2.0**-30, 2.0**60])
def test_program_has_the_same_value_inside(scale):
    # Values stay the same, whatever the scales: exactly, because all scales are powers of two here but one.
    x = sc.ScaledArray(np.asarray(X), np.float32(scale))
    value = sc.scalify(lambda v: program(v * np.float32(1 / scale)))(x)
    np.testing.assert_allclose(np.asarray(value), EXPECTED, rtol=1e-6)
    gradient = sc.scalify(jax.grad(lambda v: program(v * np.float32(1 / scale)).sum()))(x)
    np.testing.assert_allclose(np.asarray(gradient, np.float64) * scale, EXPECTED_GRADIENT, rtol=1e-6)


def test_rebalance_inside():
    y = sc.scalify(lambda x: sc.rebalance_scale(x, 8.0))(scaled(scale=4.0))
    assert float(y.scale) == 32
    np.testing.assert_array_equal(y.data, X / 32)


def test_set_inside():
    y = sc.scalify(lambda x: sc.set_scaling(x, 0.25))(scaled(scale=4.0))
    assert float(y.scale) == 0.25
    np.testing.assert_array_equal(y.data, X * 4)


def test_set_inside_of_a_plain_array():
    y = sc.scalify(lambda x: sc.set_scaling(x, 2.0))(X)
    assert isinstance(y, sc.ScaledArray)
    np.testing.assert_array_equal(y.data, X / 2)


def test_set_with_a_computed_scale():
    y = sc.scalify(lambda x: sc.set_scaling(x, jnp.max(jnp.abs(sc.get_data(x)))))(scaled(scale=4.0))
    assert float(y.scale) == 1.5
    np.testing.assert_array_equal(np.asarray(y), X)


def test_stop_inside():
    y, z = sc.scalify(lambda x: (sc.stop_scaling(x), sc.stop_scaling(x, np.float32) * 2))(scaled(X.astype(np.float16)))
    assert isinstance(y, jax.Array) and isinstance(z, jax.Array)
    np.testing.assert_array_equal(z, 2 * X)


def test_vmapped_program_inside():
    x = np.stack([X, 2 * X])
    value = sc.scalify(jax.vmap(program))(sc.ScaledArray(x / 4, np.float32(4)))
    expected = np.stack([EXPECTED, np.sum(4 * X * X + 8 * X, axis=-1)])
    np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-6)


@pytest.mark.parametrize("scale", [-2.0, float("nan"), float("inf")])
def test_a_scale_is_a_positive_number(scale: float) -> None:
    """It would change values: NaN, or what is clipped to a type's range."""
    with pytest.raises(ValueError, match="positive finite number"):
        jax.jit(sc.scalify(lambda x: sc.set_scaling(x, scale))).lower(sc.as_scaled_array(X))
