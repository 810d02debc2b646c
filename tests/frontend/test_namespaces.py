"""The names of jax-scalify 0.1.1: each is here with the same meaning, or named in docs/migration.md with a reason."""

import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as jsa

NAMES = {
    "": ["Pow2RoundMode", "ScaledArray", "ScalifyConfig", "as_scaled_array", "asarray", "core", "debug_callback",
         "lax", "ops", "scaled_array", "scalify", "tree", "__version__"],
    "ops": ["cast_on_backward", "cast_on_forward", "debug_callback", "debug_callback_grad", "debug_print",
            "debug_print_grad", "dynamic_rescale_l1", "dynamic_rescale_l1_grad", "dynamic_rescale_l2",
            "dynamic_rescale_l2_grad", "dynamic_rescale_max", "dynamic_rescale_max_grad",
            "reduce_precision_on_backward", "reduce_precision_on_forward"],
    "tree": ["all", "astype", "flatten", "leaves", "map", "structure", "unflatten"],
    "lax": ["get_data_scale", "get_data_scale_p", "rebalance", "set_scaling", "set_scaling_p", "stop_scaling",
            "stop_scaling_p"],
    "core": ["Array", "ArrayTypes", "DTypeLike", "Pow2RoundMode", "ScaledArray", "ScaledPrimitiveType",
             "ScalifyConfig", "Shape", "as_scaled_array", "asarray", "debug_callback", "find_registered_scaled_op",
             "get_numpy_api", "get_scale_dtype", "get_scalify_config", "is_scaled_leaf", "is_static_anyscale",
             "is_static_one_scalar", "is_static_zero", "make_scaled_scalar", "pow2_decompose", "pow2_round",
             "pow2_round_down", "pow2_round_up", "register_scaled_lax_op", "register_scaled_op", "safe_div",
             "safe_reciprocal", "scaled_array", "scalify"],
}  # fmt: skip
# JAX primitives and their registry: this package rewrites StableHLO, so there is nothing for them to mean.
WITHOUT_COUNTERPART = {
    "core.ScaledPrimitiveType", "core.find_registered_scaled_op", "core.register_scaled_lax_op",
    "core.register_scaled_op", "lax.get_data_scale_p", "lax.set_scaling_p", "lax.stop_scaling_p",
}  # fmt: skip
ALL = [f"{space}.{name}".lstrip(".") for space, names in NAMES.items() for name in names]


def lookup(path):
    value = jsa
    for part in path.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("path", ALL)
def test_name(path):
    if path in WITHOUT_COUNTERPART:
        assert not hasattr(lookup(path.split(".")[0]), path.split(".")[1])
    else:
        assert lookup(path) is not None


def test_migration_table_is_complete():
    text = (pathlib.Path(__file__).parents[2] / "docs" / "migration.md").read_text()
    listed = set(re.findall(r"`(?:jsa\.)?([\w.]+)`", text))
    missing = [path for path in ALL if path not in listed and path != "__version__"]
    assert not missing


# --- single operations of `lax` ---------------------------------------------------------------------------------

A = jsa.scaled_array(np.float16([[1, 2], [3, 4]]), np.float32(4))
B = jsa.scaled_array(np.float16([[2, 0], [1, 5]]), np.float32(8))
OPERATIONS = {
    "add": (A, B), "sub": (A, B), "mul": (A, B), "div": (B, A), "max": (A, B), "min": (A, B), "neg": (A,),
    "abs": (A,), "sqrt": (A,), "exp": (jsa.scaled_array(np.float16([1, -2, 0.5]), 4.0),), "log": (A,),
    "sin": (A,), "cos": (A,), "sign": (A,), "is_finite": (A,),
    "eq": (A, B), "ne": (A, B), "gt": (A, B), "ge": (A, B), "lt": (A, B), "le": (A, B),
    "integer_pow": (A, 2), "convert_element_type": (A, np.float32), "reduce_precision": (A, 5, 7),
    "reshape": (A, (4,), None), "broadcast_in_dim": (A, (3, 2, 2), (1, 2)), "transpose": (A, (1, 0)),
    "slice": (A, (0, 1), (2, 2), None), "rev": (A, (0,)), "concatenate": ([A, B], 0),
    "reduce_sum": (A, (0,)), "reduce_prod": (A, (0,)), "reduce_max": (A, (1,)), "reduce_min": (A, (1,)),
    "select_n": (np.array([[True, False], [False, True]]), A, B), "stop_gradient": (A,),
    "dot_general": (A, B, (((1,), (0,)), ((), ()))), "pad": (A, np.float16(0), ((1, 0, 0), (0, 0, 0))),
}  # fmt: skip


def in_f32(value):
    is_f16 = isinstance(value, jsa.ScaledArray) or getattr(value, "dtype", None) == np.float16
    return np.asarray(value, np.float32) if is_f16 else value


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_scaled_operation(name):
    arguments = OPERATIONS[name]
    result = getattr(jsa.lax, f"scaled_{name}")(*arguments)
    expected = getattr(jax.lax, name)(*jax.tree.map(in_f32, arguments, is_leaf=jsa.core.is_scaled_leaf))
    np.testing.assert_allclose(np.asarray(result, np.float32), np.asarray(expected, np.float32), rtol=2e-3)


def test_operations_with_adapted_arguments():
    assert jsa.lax.scaled_argmax(A, (1,), np.int32).tolist() == [1, 1]
    assert jsa.lax.scaled_argmin(A, (0,), np.int32).tolist() == [0, 0]
    window = {"window_dimensions": (2, 1), "window_strides": (1, 1), "padding": ((0, 0), (0, 0))}
    for name, expected in (("sum", [[16, 24]]), ("max", [[12, 16]]), ("min", [[4, 8]])):
        result = getattr(jsa.lax, f"scaled_reduce_window_{name}")(A, **window)
        np.testing.assert_array_equal(np.asarray(result, np.float32), expected)


def test_unknown_operation():
    with pytest.raises(AttributeError, match="scaled_nothing"):
        _ = jsa.lax.scaled_nothing


# --- helpers of `core` ------------------------------------------------------------------------------------------


def test_scalars():
    x = jsa.core.make_scaled_scalar(np.float32(6))
    assert (float(x.data), float(x.scale)) == (1.5, 4)
    assert jsa.core.make_scaled_scalar(0.75).dtype == np.float32
    with pytest.raises(TypeError, match="float scalar"):
        jsa.core.make_scaled_scalar(np.float32([1, 2]))


def test_safe_division():
    for xp in (np, jnp):
        one, zero = xp.asarray(1, np.float32), xp.asarray(0, np.float32)
        assert float(jsa.core.safe_div(one, zero)) == 0
        assert float(jsa.core.safe_reciprocal(one * 4)) == 0.25
        assert float(jsa.core.safe_reciprocal(zero)) == 0


def test_static_values():
    core = jsa.core
    np.testing.assert_array_equal(core.is_static_zero(np.float32([0, 1])), [True, False])
    np.testing.assert_array_equal(core.is_static_zero(jnp.zeros(2)), [False, False])
    np.testing.assert_array_equal(core.is_static_anyscale(np.float32([0, np.inf, 1])), [True, True, False])
    pair = jsa.ScaledArray(np.float32([1, 0]), np.float32(1))
    np.testing.assert_array_equal(core.is_static_zero(pair), [False, True])
    assert core.is_static_one_scalar(1) and core.is_static_one_scalar(np.float32([1]))
    assert not core.is_static_one_scalar(jnp.float32(1))
    assert core.get_scale_dtype(A) == np.float32 and core.get_scale_dtype(np.float16(1)) == np.float16
    assert core.get_numpy_api(np.float32(1)) is np and core.get_numpy_api(jnp.ones(1)) is jnp
    with pytest.raises(TypeError, match="neither"):
        core.get_numpy_api("x")


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        (jsa, "utils", "compile"), (jsa, "quantization", "scale_dtype"),
        (jsa.core, "register_scaled_op", "custom_scale"),
        (jsa.core, "find_registered_scaled_op", "extending"), (jsa.lax, "set_scaling_p", "without `_p`"),
    ],
)  # fmt: skip
def test_names_without_counterpart_say_what_to_write(module, name, hint):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'.*{hint}.*migration"):
        getattr(module, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        _ = jsa.core.nonsense


def test_scaled_array_with_a_module():
    x = jsa.scaled_array([1.0, 2.0], 3.0, dtype=np.float16, npapi=np)
    assert (type(x.data), type(x.scale), x.dtype) == (np.ndarray, np.ndarray, np.float16)
    assert isinstance(jsa.scaled_array(np.float32([1]), np.float32(3), npapi=jnp).data, jax.Array)
