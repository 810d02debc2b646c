"""Clips that are written as two operations have the scale of clips that are written as one."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo import rewrite_module
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.module.chosen_bounds import write_as_extremes
from scalify_hlo.module.clips import write_as_clamps


def _clip(x: jax.Array) -> jax.Array:
    return jnp.clip(x * 1e6, -1, 1)


def _clamp(x: jax.Array) -> jax.Array:
    return jax.lax.clamp(-1.0, x * 1e6, 1.0)


def _bounds_first(x: jax.Array) -> jax.Array:
    return jnp.minimum(jnp.maximum(-1.0, x * 1e6), 1.0)


def _other_order(x: jax.Array) -> jax.Array:
    return jnp.maximum(jnp.minimum(x * 1e6, 1.0), -1.0)


def _chosen(x: jax.Array) -> jax.Array:
    x = x * 1e6
    return jnp.where(x > 1, 1, jnp.where(x < -1, -1, x))


def _chosen_the_other_way(x: jax.Array) -> jax.Array:
    x = x * 1e6
    return jnp.where(x <= -1, -1, jnp.where(x > 1, 1, x))


def _computed_bound(x: jax.Array) -> jax.Array:
    bound = jnp.sum(jnp.zeros_like(x)) + 1
    return jnp.clip(x * 1e6, -bound, bound)


@pytest.mark.parametrize("fun", [_clip, _clamp, _bounds_first, _other_order, _computed_bound])
@pytest.mark.parametrize("precision", [None, "fp16"])
def test_what_a_clip_bounds_has_the_scale_of_the_bound(fun: Callable[..., jax.Array], precision: str | None) -> None:
    """Data of 2^-20 were left beside the scale of what was clipped, as ADOPT clips a gradient over a small root."""
    x = np.array([-3.0, -0.5, 0.0, 2.0, np.nan], np.float32)
    found = scalify_hlo.scalify(fun, precision=precision)(scalify_hlo.as_scaled_array(x))
    np.testing.assert_array_equal(np.asarray(found), [-1, -1, 0, 1, np.nan])
    assert 2**-4 <= float(found.scale) <= 2**4


@pytest.mark.parametrize("fun", [_chosen, _chosen_the_other_way])
def test_so_has_what_is_chosen_instead(fun: Callable[..., jax.Array]) -> None:
    test_what_a_clip_bounds_has_the_scale_of_the_bound(fun, "fp16")


_PAIR = """func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> {results} {{
  %low = stablehlo.constant dense<{low}> : tensor<4xf32>
  %high = stablehlo.constant dense<1.0> : tensor<4xf32>
  %above = stablehlo.maximum %x, {bound} : tensor<4xf32>
  %r = stablehlo.minimum %above, %high : tensor<4xf32>
  return {returned}
}}"""


@pytest.mark.parametrize(
    ("bound", "low", "more"),
    [("%low", "0xFF800000", False), ("%y", "-1.0", False), ("%low", "-1.0", True)],
    ids=["no bound", "a tensor", "read elsewhere"],
)
def test_other_minima_stay(bound: str, low: str, more: bool) -> None:
    returned, results = ("%r, %above", "(tensor<4xf32>, tensor<4xf32>)") if more else ("%r", "tensor<4xf32>")
    types = ", ".join(["tensor<4xf32>"] * (1 + more))
    text = _PAIR.format(bound=bound, low=low, returned=f"{returned} : {types}", results=results)
    with make_context():
        module = ir.Module.parse(text)
        before = str(module)
        write_as_clamps(module)
        assert str(module) == before


_CHOICE = """func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %two = stablehlo.constant dense<2.0> : tensor<4xf32>
  %beyond = stablehlo.compare {compare}, {type} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %above = stablehlo.maximum %x, %two : tensor<4xf32>
  %r = stablehlo.select %beyond, {chosen} : tensor<4xi1>, tensor<4xf32>
  return %r : tensor<4xf32>
}}"""


@pytest.mark.parametrize(
    ("compare", "kind", "chosen", "extreme"),
    [
        ("GT, %x, %one", "FLOAT", "%one, %x", "minimum"),
        ("GE, %one, %x", "FLOAT", "%one, %x", "maximum"),
        ("GT, %x, %one", "FLOAT", "%x, %one", ""),  # of NaN it is 1
        ("GT, %x, %one", "TOTALORDER", "%one, %x", ""),
        ("GT, %x, %two", "FLOAT", "%one, %x", ""),
        ("GT, %y, %one", "FLOAT", "%one, %x", ""),
        ("LT, %x, %zero", "FLOAT", "%zero, %x", ""),  # -0 stays -0
        ("EQ, %x, %one", "FLOAT", "%one, %x", ""),
        ("GT, %x, %one", "FLOAT", "%one, %above", ""),  # 2 where x is 0
    ],
)
def test_a_choice_of_a_bound_is_an_extreme(compare: str, kind: str, chosen: str, extreme: str) -> None:
    with make_context():
        module = ir.Module.parse(_CHOICE.format(compare=compare, type=kind, chosen=chosen))
        before = str(module)
        write_as_extremes([op.operation for op in module.body.operations[0].regions[0].blocks[0].operations])
        if extreme:
            assert f"stablehlo.{extreme} %arg0, %cst_0" in str(module) and "select" not in str(module)
        else:
            assert str(module) == before


def test_a_maximum_of_a_minimum_below_it_stays() -> None:
    """max(2, min(x, 1)) is 2, and clamp(2, x, 1) is 1."""
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %low = stablehlo.constant dense<2.0> : tensor<4xf32>
  %high = stablehlo.constant dense<1.0> : tensor<4xf32>
  %below = stablehlo.minimum %x, %high : tensor<4xf32>
  %r = stablehlo.maximum %below, %low : tensor<4xf32>
  return %r : tensor<4xf32>
}"""
    with make_context():
        module = ir.Module.parse(text)
        before = str(module)
        write_as_clamps(module)
        assert str(module) == before


def test_a_ratio_within_bounds_beside_one_has_their_scale() -> None:
    """As PPO's: neither bound is on the other side of 0."""
    text = jax.jit(lambda x: jnp.clip(x, 0.8, 1.2)).lower(jax.ShapeDtypeStruct((4,), jnp.float16)).as_text()
    assert "stablehlo.clamp" in rewrite_module(text)


def test_what_a_clip_bounds_is_a_term_of_the_bound_s_size() -> None:
    """A sum takes the scale of its terms: of ADOPT's average of clipped quotients it was that of the quotients."""

    def average(m: jax.Array, g: jax.Array, root: jax.Array, count: jax.Array) -> jax.Array:
        bound, rate = count**0.25, jnp.where(count > 0, 0.9, 1.0)
        return rate * m + (1 - rate) * jnp.clip(g / jnp.maximum(root, 1e-6), -bound, bound)

    arguments = [np.zeros(4, np.float32), np.full(4, 0.5, np.float32), np.zeros(4, np.float32)]
    given = scalify_hlo.as_scaled_array(arguments)
    found = scalify_hlo.scalify(average)(*given, np.int32(1))
    np.testing.assert_allclose(np.asarray(found), 0.1, rtol=1e-5)
    assert float(found.scale) <= 2**4
