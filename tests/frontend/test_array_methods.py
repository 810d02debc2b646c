"""ScaledArrays outside of `scalify`: numbers, text, parts and arithmetic go by the value, data * scale."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc

# Values that f16 cannot hold.
DATA, SCALE = np.float16([1, -2, 3]), 2.0**20
X = sc.scaled_array(DATA, SCALE)
VALUE = DATA.astype(np.float64) * SCALE


def test_numbers_and_text():
    loss = sc.scaled_array(np.float16(1.5), SCALE)
    assert float(loss) == loss.item() == 1.5 * SCALE
    assert int(loss) == 1.5 * SCALE
    assert f"{loss:.3e}" == f"{1.5 * SCALE:.3e}"
    assert f"{loss}" == f"{1.5 * SCALE}"
    assert str(loss) == repr(loss)
    assert f"{X}" == repr(X)
    jax.jit(lambda x: print(f"{x}"))(loss)  # a traced one has no number to show
    assert bool(loss)
    assert not bool(sc.as_scaled_array(0.0))
    assert X.item(1) == VALUE[1]
    assert X.tolist() == VALUE.tolist()
    assert float(sc.scaled_array(np.float32(1), 2.0**127) * sc.scaled_array(np.float32(2), 1.0)) == 2.0**128


def test_numbers_of_many_elements_are_refused():
    for function in (float, int, bool, complex):
        with pytest.raises(TypeError, match=rf"{function.__name__}\(\) takes one element.*asarray"):
            function(X)
    with pytest.raises(TypeError, match="format"):
        f"{X:.3f}"


def test_parts():
    assert len(X) == 3
    assert [x.item() for x in X] == VALUE.tolist()
    assert X[1:].tolist() == VALUE[1:].tolist()
    rows = sc.scaled_array(np.ones((2, 3), np.float32), np.float32([[2], [8]]))
    assert rows[1].tolist() == [8.0] * 3
    assert rows.T.tolist() == np.asarray(rows).T.tolist()
    with pytest.raises(TypeError, match="without dimensions"):
        len(X[0])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + x, lambda x: x - 2.0**20, lambda x: 2 * x, lambda x: 1 / x, lambda x: x**2, lambda x: -x, abs,
        lambda x: x @ x, lambda x: x.sum(), lambda x: x.reshape(3, 1), lambda x: x.mean(axis=0), lambda x: x.max(),
        lambda x: np.float32(2) * x, lambda x: np.ones(3, np.float32) * x, lambda x: sum([x[0], x[1]]),
    ],
)  # fmt: skip
def test_arithmetic(function):
    want = function(VALUE)
    got = function(X)
    assert isinstance(got, sc.ScaledArray)
    np.testing.assert_allclose(np.array(got.tolist()), want, rtol=2**-9)


def test_comparisons():
    assert np.asarray(X == X).all()
    assert np.asarray(sc.scaled_array(DATA * 2, SCALE / 2) == X).all()
    assert np.asarray(X > 2.0**20).tolist() == (VALUE > 2.0**20).tolist()
    assert (X == "text") is False
    assert X != None  # noqa: E711


def test_functions_of_jax_numpy_see_the_value():
    np.testing.assert_allclose(jnp.sqrt(X[0]), np.sqrt(VALUE[0]))
    np.testing.assert_allclose(jnp.sum(X), VALUE.sum())
    np.testing.assert_allclose(jnp.ones(3) * X, VALUE)
    assert jnp.stack([X, X]).dtype == np.float32


def test_unknown_attributes():
    with pytest.raises(AttributeError, match=r"no attribute 'at'; scalify_hlo\.asarray\(x\)\.at"):
        _ = X.at
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        _ = X.nonsense


def test_vmap_from_outside():
    x = sc.as_scaled_array(np.arange(1, 13, dtype=np.float32).reshape(3, 4))
    f = sc.scalify(lambda v: v * v)
    y = jax.vmap(f, in_axes=(sc.ScaledArray(0, None),))(x)
    want = np.asarray(x) ** 2
    np.testing.assert_array_equal(np.asarray(y), want)
    np.testing.assert_array_equal(np.asarray(f(y)), want**2)
    assert y[1].tolist() == want[1].tolist()
    twice = jax.vmap(lambda v: jax.vmap(f, in_axes=(sc.ScaledArray(0, None),))(v), in_axes=(sc.ScaledArray(0, None),))(
        sc.as_scaled_array(np.ones((2, 3, 4), np.float32))
    )
    assert twice.scale.shape == (2, 3)
    assert np.asarray(twice).shape == (2, 3, 4)


def test_collectives_over_the_axis_of_vmap():
    x = sc.as_scaled_array(np.arange(1, 13, dtype=np.float32).reshape(3, 4))
    f = sc.scalify(lambda v: v - jax.lax.pmean(v, "i"))
    y = jax.vmap(f, axis_name="i", in_axes=(sc.ScaledArray(0, None),))(x)
    np.testing.assert_allclose(np.asarray(y), np.asarray(x) - np.asarray(x).mean(0), atol=1e-6)


def test_debug_nans():
    x = sc.as_scaled_array(np.float32([-1, 2]))
    with jax.debug_nans(True):
        with pytest.raises(FloatingPointError, match="log"):
            sc.scalify(jnp.log)(x)
        assert np.isfinite(np.asarray(sc.scalify(jnp.exp)(x))).all()
    with jax.debug_infs(True), pytest.raises(FloatingPointError, match="div"):
        sc.scalify(lambda x: 1 / (x - x))(x)
