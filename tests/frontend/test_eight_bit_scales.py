"""Scales in f8E8M0FNU: a scale that is no power of two leaves as one, and what is left of it is in the data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo as sc
from tests.training_programs import train_step_text

E8M0 = jnp.float8_e8m0fnu
NEGATE = """func.func @main(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = stablehlo.negate %x : tensor<4xf16>
  return %0 : tensor<4xf16>
}"""


def given(*data, dtype=np.float32):
    return sc.ScaledArray(np.asarray(data, dtype), np.asarray(4, E8M0))


@sc.custom_scale
def thrice(x):
    return x * 3


@thrice.defscale
def _(x):
    return sc.ScaledArray(x.data, x.scale * 3)


CHANGES = {
    "set_scaling": lambda x: sc.set_scaling(x, 3.0),
    "of a little more": lambda x: sc.set_scaling(x, 4.0001),
    "known when it runs": lambda x: sc.set_scaling(x, jnp.max(jnp.abs(sc.stop_scaling(x)))),
    "rebalance": lambda x: sc.rebalance_scale(x, 3.0),
    "one for each row": lambda x: sc.set_scaling(x[None] * jnp.ones((2, 1), x.dtype), jnp.float32([[3], [5]])),
}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_no_value_changes_none(change: str, dtype: type):
    with jax.enable_x64(dtype == np.float64):
        x = given(1, 2, 3, 4.5, dtype=dtype)
        y = sc.scalify(CHANGES[change])(x)
        assert y.scale.dtype == E8M0 and y.dtype == dtype
        np.testing.assert_allclose(np.asarray(y), np.broadcast_to(np.asarray(x), y.shape), rtol=2.0**-10)


def test_rounding_the_scale_leaves_data_in_their_range():
    x = given(60000, -65504, dtype=np.float16)
    y = sc.scalify(lambda x: sc.set_scaling(x, 4.5))(x)
    np.testing.assert_allclose(np.asarray(y.to_array(np.float32)), x.to_array(np.float32), rtol=2.0**-10)


def test_a_rule_of_ones_own():
    np.testing.assert_allclose(np.asarray(sc.scalify(thrice)(given(1, 2))), [12, 24])


@pytest.mark.parametrize("slack", [0.0, 6.0])
def test_scales_that_are_not_rounded(slack: float):
    exported = jax.export.export(jax.jit(lambda x: jnp.sum(x * x) / 3))(np.ones(3, np.float32))
    options = sc.ScalifyOptions(rounding="none", scale_dtype="e8m0", slack=slack)
    y = sc.scalify_exported(exported, options=options).call(given(1, 2, 3))
    np.testing.assert_allclose(float(y.data) * float(y.scale), 16 * 14 / 3, rtol=1e-6)
    z = sc.scalify(lambda x: jnp.sum(x * x) / 3, options=sc.ScalifyOptions(rounding="none", slack=slack))(
        given(1, 2, 3)
    )
    np.testing.assert_allclose(np.asarray(z), 16 * 14 / 3, rtol=1e-6)


def test_where_all_scales_are_powers_of_two_it_costs_nothing():
    text = sc.rewrite_module(NEGATE, sc.ScalifyOptions(scale_dtype="e8m0"))
    assert "f8E8M0FNU" in text and "multiply" not in text
    jaxpr = str(jax.make_jaxpr(sc.scalify(lambda x: -x))(given(1, 2)))
    assert "bitcast" not in jaxpr


def test_scales_that_passes_choose_are_powers_of_two():
    """The markers of scalify-auto-rescale and scalify-state-rescale measure; what they set needs no rounding."""
    step = train_step_text()
    count = {
        scale_dtype: sc.rewrite_module(step, sc.ScalifyOptions(scale_dtype=scale_dtype), precision="fp8").count(
            "stablehlo.multiply"
        )
        for scale_dtype in ("f32", "e8m0")
    }
    assert count["f32"] == count["e8m0"]
