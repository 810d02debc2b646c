"""custom_scale: the function outside the transform, the rule inside, and the way of the rule through modules."""

import functools
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from scalify_hlo import ScaledArray


@sc.custom_scale
def shifted(x, offset, index, *, factor=3):
    """Not homogeneous; its rule gives away that it has run by the scale of the result."""
    return x * factor + offset, index + 1


@shifted.defscale
def _(x, offset, index, *, factor):
    value = x.data * (x.scale * factor / 32) + offset.data * (offset.scale / 32)
    return ScaledArray(value.astype(x.dtype), jnp.float32(32)), index + 1


X = np.float32([1, -2, 3])


def scaled(x, scale):
    return ScaledArray(np.asarray(x) / np.float32(scale), np.float32(scale))


def test_derivative_is_that_of_the_function():
    gradient = jax.grad(lambda x: shifted(x, x, 1, factor=5)[0].sum())(X)
    np.testing.assert_array_equal(gradient, [6, 6, 6])
    tangent = jax.jvp(lambda x: shifted(x, 1.0, 1)[0], (X,), (X,))[1]
    np.testing.assert_array_equal(tangent, 3 * X)


def test_eager_on_scaled_arrays_runs_the_rule():
    y, index = shifted(scaled(X, 4), np.float32(1), np.int32(1))
    assert float(y.scale) == 32
    assert int(index) == 2
    np.testing.assert_array_equal(np.asarray(y), 3 * X + 1)


def test_exported_program_carries_the_rule():
    exported = jax.export.export(jax.jit(lambda x, i: shifted(x, 1.0, i)))(X, np.int32(0))
    loaded = jax.export.deserialize(exported.serialize())
    np.testing.assert_array_equal(loaded.call(X, np.int32(0))[0], 3 * X + 1)
    y, _ = sc.scalify_exported(loaded).call(scaled(X, 4), np.int32(0))
    assert float(y.scale) == 32
    np.testing.assert_array_equal(np.asarray(y), 3 * X + 1)


def test_exported_with_symbolic_shape_carries_the_rule():
    (n,) = jax.export.symbolic_shape("n")
    exported = jax.export.export(jax.jit(lambda x: shifted(x, 1.0, 0)[0]), platforms=["cpu", "cuda"])(
        jax.ShapeDtypeStruct((n,), jnp.float32)
    )
    np.testing.assert_array_equal(exported.call(X), 3 * X + 1)
    y = sc.scalify_exported(exported).call(scaled(X, 4))
    assert float(y.scale) == 32
    np.testing.assert_array_equal(np.asarray(y), 3 * X + 1)


def test_function_outside_the_transform():
    for function in (shifted, jax.jit(shifted)):
        y, index = function(X, np.float32(1), np.int32(1))
        np.testing.assert_array_equal(y, 3 * X + 1)
        assert int(index) == 2


def test_gradient_inside_the_transform():
    gradient = sc.scalify(jax.grad(lambda x: jnp.sum(shifted(x, x * x, 0)[0] ** 2)))(scaled(X, 4))
    y = 3 * X + X * X
    np.testing.assert_allclose(np.asarray(gradient), 2 * y * (3 + 2 * X), rtol=1e-6)


def test_inside_the_transform():
    y, index = sc.scalify(shifted)(scaled(X, 4), np.float32(1), np.int32(1))
    assert float(y.scale) == 32
    assert isinstance(index, jax.Array)
    np.testing.assert_array_equal(np.asarray(y), 3 * X + 1)


def test_inside_without_anything_scaled_the_rule_does_not_run():
    y, z = sc.scalify(lambda x, y: (x * 2, shifted(y, 1.0, 0)[0]))(scaled(X, 4), X)
    assert isinstance(y, ScaledArray)
    assert isinstance(z, jax.Array)
    np.testing.assert_array_equal(z, 3 * X + 1)


def test_keyword_arguments_are_static():
    with pytest.raises(TypeError, match="pass arrays by position"):
        shifted(X, 1.0, 0, factor=jnp.ones(3))


def test_plain_program_does_not_compute_the_rule():
    def function(x):
        return jnp.exp(x)

    marked = sc.custom_scale(function)
    marked.defscale(lambda x: ScaledArray(jnp.sinh(x.data), x.scale))
    hlo = jax.jit(marked).lower(X).compile().as_text()
    assert "exponential" in hlo
    assert hlo.count("exponential(") == jax.jit(function).lower(X).compile().as_text().count("exponential(")


def test_rule_of_the_wrong_type_is_refused():
    marked = sc.custom_scale(lambda x: x * 2, name="doubled")
    marked.defscale(lambda x: ScaledArray(x.data.astype(np.float16), x.scale))
    expected = r"rule of 'doubled' returns data float16\[3\].* where the function returns float32"
    with pytest.raises(TypeError, match=expected):
        jax.jit(marked)(X)


def test_rule_with_the_wrong_structure_is_refused():
    marked = sc.custom_scale(lambda x: (x, x), name="pair")
    marked.defscale(lambda x: x)
    with pytest.raises(TypeError, match="the scale rule of 'pair' returns"):
        jax.jit(marked)(X)


def test_second_rule_is_refused():
    marked = sc.custom_scale(lambda x: x, name="identity")
    marked.defscale(lambda x: x)
    with pytest.raises(ValueError, match="'identity' has a rule already"):
        marked.defscale(lambda x: x)


def test_scan_inside():
    def run(x):
        return jax.lax.scan(lambda carry, _: (shifted(carry, 1.0, 0)[0], None), x, length=3)[0]

    y = sc.scalify(run)(scaled(X, 4))
    np.testing.assert_array_equal(np.asarray(y), run(X))


def test_vmap():
    x = np.stack([X, 2 * X])
    y, index = jax.jit(jax.vmap(lambda v: shifted(v, 1.0, 0)))(x)
    np.testing.assert_array_equal(y, 3 * x + 1)
    np.testing.assert_array_equal(index, [1, 1])


def test_vmap_inside():
    x = np.stack([X, 2 * X])
    y = sc.scalify(jax.vmap(lambda v: shifted(v, 1.0, 0)[0]))(scaled(x, 4))
    assert float(y.scale) == 32
    np.testing.assert_array_equal(np.asarray(y), 3 * x + 1)


def test_vmap_inside_of_a_rule_with_a_scale_from_the_data():
    marked = sc.custom_scale(lambda x: x * 2, name="normalised")

    @marked.defscale
    def _(x):
        largest = jnp.max(jnp.abs(x.data))
        return ScaledArray(x.data / largest, 2 * x.scale * largest)

    x = np.float32([[1, 2], [8, 4]])
    y = sc.scalify(jax.vmap(marked))(scaled(x, 4))
    # One scale for the batch: the largest of its members'.
    assert float(y.scale) == 16
    np.testing.assert_array_equal(np.asarray(y), 2 * x)


def test_without_a_rule_it_is_the_function():
    marked = sc.custom_scale(lambda x: x + 1)
    np.testing.assert_array_equal(marked(X), X + 1)
    np.testing.assert_allclose(np.asarray(sc.scalify(marked)(scaled(X, 4))), X + 1)


def _multiplied(factor, x):
    return factor * x


@pytest.mark.parametrize("name", [None, "my rule"])
def test_any_name_is_one_of_a_rule(name: Any) -> None:
    """A lambda's is no identifier, and functools.partial has none."""
    clipped = sc.custom_scale(lambda x: jnp.clip(x, -1, 1), name=name)
    clipped.defscale(lambda x: sc.as_scaled_array(jnp.clip(x.data * x.scale, -1, 1)))
    doubled = sc.custom_scale(functools.partial(_multiplied, 2.0), name=name)
    doubled.defscale(lambda x: sc.ScaledArray(x.data, 2 * x.scale))
    arrays = np.eye(32, dtype=np.float32), np.full((4, 32), 0.75, np.float32)
    scaled = sc.scalify(lambda w, x: clipped(doubled(x @ w)), precision="fp8")
    assert np.allclose(np.asarray(sc.asarray(scaled(*sc.as_scaled_array(arrays)), np.float32)), 1)
    jax.export.export(jax.jit(clipped))(arrays[0])
