"""Casts and the linear layer with formats of its own."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo import ScaledArray, nn, ops

E4M3, E5M2 = jnp.float8_e4m3fn, jnp.float8_e5m2
LARGEST = {E4M3: 448.0, E5M2: 57344.0}
X = np.float32([0.1, -3.3, 100, 1e6, -1e6])


def rounded(x, dtype):
    """The values of x in an 8-bit type, saturating, as f32: by ml_dtypes."""
    return np.clip(x, -LARGEST[dtype], LARGEST[dtype]).astype(dtype).astype(np.float32)


# --- casts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [E4M3, E5M2])
def test_saturating_cast(dtype):
    y = ops.saturating_cast(X, dtype)
    assert y.dtype == dtype
    np.testing.assert_array_equal(np.asarray(y, np.float32), rounded(X, dtype))
    assert np.isnan(np.asarray(ops.saturating_cast(np.float32([np.nan]), dtype), np.float32))


def test_saturating_cast_to_a_wider_type():
    np.testing.assert_array_equal(ops.saturating_cast(np.float16([65504, np.inf]), np.float32), [65504, np.inf])


def test_saturation_inside_is_that_of_the_data():
    x = ScaledArray(np.float16([1, -300, 1000]), np.float32(2.0**20))
    y = sc.scalify(lambda x: ops.saturating_cast(x, E4M3))(x)
    assert (y.dtype, float(y.scale)) == (E4M3, 2.0**20)
    np.testing.assert_array_equal(np.asarray(y.data, np.float32), [1, -288, 448])


@pytest.mark.parametrize("dtype", [E4M3, E5M2, np.float16])
def test_cast_on_forward(dtype):
    y, pullback = jax.vjp(lambda x: ops.cast_on_forward(x, dtype), X[:3])
    assert y.dtype == dtype
    expected = rounded(X[:3], dtype) if dtype in LARGEST else X[:3].astype(np.float16)
    np.testing.assert_array_equal(np.asarray(y, np.float32), expected)
    (gradient,) = pullback(jnp.asarray([1, 2, 3], dtype))
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, [1, 2, 3])


@pytest.mark.parametrize("dtype", [E4M3, E5M2])
def test_cast_on_backward(dtype):
    y, pullback = jax.vjp(lambda x: ops.cast_on_backward(x, dtype), X)
    np.testing.assert_array_equal(y, X)
    (gradient,) = pullback(X)
    np.testing.assert_array_equal(gradient, rounded(X, dtype))


def test_cast_on_backward_survives_the_compiler():
    gradient = jax.jit(jax.grad(lambda x, g: jnp.sum(ops.cast_on_backward(x, E4M3) * g)))(X, X)
    np.testing.assert_array_equal(gradient, rounded(X, E4M3))


def test_cast_on_backward_inside():
    gradient = sc.scalify(jax.grad(lambda x, g: jnp.sum(ops.cast_on_backward(x, E5M2) * g)))(
        np.float16(X[:3]), ScaledArray(np.float16([1.1, 2.3, 3]), np.float32(2.0**-30))
    )
    expected = rounded(np.float16([1.1, 2.3, 3]), E5M2) * 2.0**-30
    np.testing.assert_array_equal(np.asarray(gradient, np.float64), expected)


@pytest.mark.parametrize("dtype", [E4M3, E5M2, jnp.bfloat16])
def test_reduce_precision(dtype):
    x = np.float32([0.1, -3.3, 100])
    y, pullback = jax.vjp(lambda x: ops.reduce_precision_on_forward(x, dtype), x)
    expected = x.astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(pullback(x)[0], x)
    y, pullback = jax.vjp(lambda x: ops.reduce_precision_on_backward(x, dtype), x)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(pullback(x)[0], expected)


def test_reduce_precision_saturates():
    y = ops.reduce_precision_on_forward(X, E4M3)
    np.testing.assert_array_equal(y[3:], [240, -240])
    inside = sc.scalify(lambda x: ops.reduce_precision_on_forward(x, E4M3))(
        ScaledArray(np.float16([1.1, 1000]), np.float32(2.0**20))
    )
    np.testing.assert_array_equal(np.asarray(inside.data, np.float32), [1.125, 240])


def test_old_names():
    assert ops.cast_ml_dtype is ops.reduce_precision_on_forward
    assert ops.cast_ml_dtype_grad is ops.reduce_precision_on_backward


# --- linear -----------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
INPUT, WEIGHT, BIAS, GRADIENT = (
    np.float32(RNG.standard_normal(shape)) for shape in ((5, 3, 32), (32, 16), (16,), (5, 3, 16))
)


def test_linear_without_formats():
    y, pullback = jax.vjp(lambda *a: nn.linear(*a), INPUT, WEIGHT, BIAS)
    expected, expected_pullback = jax.vjp(lambda x, w, b: x @ w + b, INPUT, WEIGHT, BIAS)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
    for g, e in zip(pullback(GRADIENT), expected_pullback(GRADIENT), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-4)


def fp8_reference(x, w, g):
    """Output and gradients of an FP8 linear layer, computed in f64 from the rounded operands."""
    x8, w8, g8 = rounded(x, E4M3), rounded(w, E4M3), rounded(g, E5M2)
    x8, w8, g8 = (v.astype(np.float64) for v in (x8, w8, g8))
    return x8 @ w8, g8 @ w8.T, x8.reshape(-1, x8.shape[-1]).T @ g8.reshape(-1, g8.shape[-1])


def test_linear_in_fp8():
    y, pullback = jax.vjp(lambda x, w: nn.linear(x, w, formats=nn.FP8), INPUT, WEIGHT)
    expected = fp8_reference(INPUT, WEIGHT, GRADIENT)
    for value, e in zip((y, *pullback(GRADIENT)), expected, strict=True):
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, e, rtol=1e-5, atol=1e-5)


def test_linear_in_fp8_multiplies_f8_directly():
    text = (
        jax.jit(jax.grad(lambda x, w: nn.linear(x, w, formats=nn.FP8).sum(), argnums=(0, 1)))
        .lower(INPUT, WEIGHT)
        .as_text()
    )
    products = [line for line in text.splitlines() if "dot_general" in line]
    assert len(products) == 2
    assert all("f8E5M2" in line and "f8E4M3FN" in line for line in products)


def test_linear_in_fp8_inside():
    """Operands far out of f8's and f16's range, with scales that fit them."""
    scales = 2.0**30, 2.0**-20, 2.0**-40
    arguments = [
        ScaledArray(v.astype(np.float16), np.float32(s)) for v, s in zip((INPUT, WEIGHT, GRADIENT), scales, strict=True)
    ]

    @sc.scalify
    def layer(x, w, g):
        y, pullback = jax.vjp(lambda x, w: nn.linear(x, w, formats=nn.FP8), x, w)
        return (y, *pullback(g))

    expected = fp8_reference(*(np.asarray(a.data, np.float32) for a in arguments))
    of_result = scales[0] * scales[1], scales[2] * scales[1], scales[0] * scales[2]
    for value, e, s in zip(layer(*arguments), expected, of_result, strict=True):
        assert value.dtype == np.float16
        np.testing.assert_allclose(np.asarray(value, np.float64) / s, e, rtol=2.0**-10, atol=2.0**-8)
    text = layer.lower(*arguments).as_text()
    products = [line for line in text.splitlines() if "dot_general" in line]
    assert len(products) == 3
    assert all(line.count("f8E") == 2 for line in products)


def test_mixed_formats():
    formats = nn.Formats(activation=np.float16, weight=E4M3)
    y, pullback = jax.vjp(lambda x, w: nn.linear(x, w, formats=formats), INPUT, WEIGHT)
    expected = INPUT.astype(np.float16).astype(np.float64) @ rounded(WEIGHT, E4M3)
    np.testing.assert_allclose(y, expected, rtol=1e-2, atol=1e-2)
    assert [g.dtype for g in pullback(GRADIENT)] == [np.float32, np.float32]


def test_linear_refuses_shapes_that_do_not_match():
    with pytest.raises(ValueError, match=r"input \(5, 3, 32\) and weight \(16, 32\) do not match"):
        nn.linear(INPUT, WEIGHT.T)


def test_formats_are_dtypes():
    assert nn.FP8.activation == np.dtype(ml_dtypes.float8_e4m3fn)
    assert nn.FULL.weight is None
    assert hash(nn.FP8) == hash(nn.Formats(E4M3, E4M3, E5M2))
