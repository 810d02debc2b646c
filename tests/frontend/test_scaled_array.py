"""ScaledArray as a value and as a pytree node."""

import copy
import dataclasses
import inspect
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

F16 = np.float16


def test_array_is_data_times_scale():
    x = sc.scaled_array(F16([1, -2, 0.5]), 4.0)
    np.testing.assert_array_equal(np.asarray(x), F16([4, -8, 2]))
    assert np.asarray(x).dtype == F16


def test_array_with_broadcast_scale():
    x = sc.scaled_array(np.ones((2, 3), np.float32), np.float32([[2], [8]]))
    np.testing.assert_array_equal(np.asarray(x), [[2, 2, 2], [8, 8, 8]])


def test_array_copy_false_is_impossible():
    x = sc.scaled_array(np.ones(3, np.float32), 2.0)
    with pytest.raises(ValueError, match="multiplied out"):
        np.asarray(x, copy=False)


def test_astype_keeps_scale():
    x = sc.scaled_array(np.float32([1.5, 3]), 2.0**30).astype(F16)
    assert x.dtype == F16
    assert float(x.scale) == 2.0**30
    np.testing.assert_array_equal(x.data, F16([1.5, 3]))


def test_data_become_float():
    assert sc.scaled_array([1, 2, 3], 2.0).dtype == np.float32


def test_errors_of_scaled_array():
    with pytest.raises(TypeError, match="floating point"):
        sc.scaled_array(np.ones(3, np.bool_), 1.0)
    with pytest.raises(ValueError, match="positive finite"):
        sc.scaled_array(np.ones(3, np.float32), 0.0)
    with pytest.raises(ValueError, match="positive finite"):
        sc.scaled_array(np.ones(3, np.float32), float("inf"))
    for beyond in (2**130, 10**400, 2.0**130, 1e-60):
        with pytest.raises(ValueError, match="positive finite number of f32"):
            sc.scaled_array(np.ones(3, np.float32), beyond)
    assert float(sc.scaled_array(np.ones(3, np.float32), 2**100).scale) == 2.0**100
    with pytest.raises(ValueError, match=r"shape \(3,\) does not belong to data of shape \(2, 3\)"):
        sc.scaled_array(np.ones((2, 3), np.float32), np.ones(3, np.float32))


def test_jit_takes_and_returns_it():
    x = sc.scaled_array(F16([1, 2]), 2.0)
    y = jax.jit(lambda v: v)(x)
    assert isinstance(y, sc.ScaledArray)
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x))


def test_keys_of_the_tree():
    tree = {"w": sc.scaled_array(F16([1]), 2.0)}
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
    assert paths == ["['w'].data", "['w'].scale"]


def test_numpy_stays_numpy():
    x = sc.scaled_array(F16([1, 2]), np.float32(2))
    assert isinstance(x.data, np.ndarray)
    assert isinstance(x.to_array(), np.ndarray)


def test_product_is_formed_wide():
    # 300 * 2^8 is no f16, but the f32 that was asked for; 2^-20 * 2^20 is 1 in any type.
    x = sc.scaled_array(F16([300, 2.0**-20]), 2.0**8)
    np.testing.assert_array_equal(x.to_array(np.float32), np.float32([76800, 2.0**-12]))
    y = sc.scaled_array(F16([2.0**-20]), 2.0**20)
    np.testing.assert_array_equal(y.to_array(), F16([1]))


def test_properties():
    x = sc.scaled_array(np.ones((2, 3), F16), 2.0)
    assert (x.shape, x.ndim, x.size, x.dtype, x.nbytes) == ((2, 3), 2, 6, np.dtype(F16), 16)
    assert x.aval == jax.ShapeDtypeStruct((2, 3), F16)


def test_repr_is_short():
    x = sc.scaled_array(F16([1, 2]), np.float32(4))
    assert repr(x) == "ScaledArray(data=float16[2] [1.0, 2.0], scale=float32[] 4.0)"
    y = sc.scaled_array(np.ones((100, 100), F16), np.float32(4))
    assert repr(y) == "ScaledArray(data=float16[100,100], scale=float32[] 4.0)"
    assert "float16[2]" in str(jax.eval_shape(lambda v: v, x))


def test_scale_types():
    assert sc.scaled_array(F16([1]), np.float64(2)).scale.dtype == np.float32
    assert sc.scaled_array(F16([1]), jnp.float8_e8m0fnu(2)).scale.dtype == jnp.float8_e8m0fnu


def test_survives_export_of_a_function():
    exported = jax.export.export(jax.jit(lambda x: sc.ScaledArray(x.data + 1, x.scale)))(
        sc.scaled_array(F16([1, 2]), 2.0)
    )
    loaded = jax.export.deserialize(exported.serialize())
    y = loaded.call(sc.scaled_array(F16([3, 4]), 2.0))
    assert isinstance(y, sc.ScaledArray)
    np.testing.assert_array_equal(np.asarray(y), F16([8, 10]))


def test_results_of_compiled_functions_are_as_those_of_the_constructor():
    # They are built by another way, which every call of a compiled function pays for.
    result = jax.jit(lambda x: x)(sc.scaled_array(np.float16([1, 2]), 4.0))
    assert type(result) is sc.ScaledArray
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.data = None
    for copied in (pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert type(copied) is sc.ScaledArray and copied.tolist() == [4, 8]
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path({"w": result})]
    assert paths == ["['w'].data", "['w'].scale"]


def test_names_of_arrays_that_are_missing_say_what_to_write():
    x = sc.scaled_array(np.float16([1, 2]), 4.0)
    with pytest.raises(AttributeError, match=r"no attribute 'argmax'; scalify_hlo\.asarray\(x\)\.argmax"):
        _ = x.argmax
    assert not hasattr(x, "nonsense") and not hasattr(x, "argmax")
    assert {"data", "scale", "shape", "sum", "item"} <= set(dir(x)) and "argmax" not in dir(x)


def test_a_scalified_function_is_called_as_what_it_was_made_of():
    class Model:
        @sc.scalify
        def double(self, x):
            """Twice x."""
            return 2 * x

    assert Model.double.__name__ == "double"
    assert Model.double.__doc__ == "Twice x."
    assert list(inspect.signature(Model.double).parameters) == ["self", "x"]
