"""Numbers where only snapshots had stood between a fault in a rule and a wrong result."""

import jax
import numpy as np
import pytest

from scalify_hlo.analysis.calls import walk
from scalify_hlo.execution.inputs import Split, recombine
from scalify_hlo.options import ScalifyOptions
from tests.support import Rewritten, check_range, parse

CASE = """
func.func public @main(%i: tensor<i32>, %x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
  %0 = "stablehlo.case"(%i) ({
    %z = stablehlo.constant dense<0.0> : tensor<4xf16>
    stablehlo.return %z : tensor<4xf16>
  }, {
    %n = stablehlo.add %x, %y : tensor<4xf16>
    stablehlo.return %n : tensor<4xf16>
  }) : (tensor<i32>) -> tensor<4xf16>
  %1 = stablehlo.add %0, %x : tensor<4xf16>
  return %1 : tensor<4xf16>
}
"""


@pytest.mark.parametrize("index", [0, 1])
def test_a_branch_of_zeros_fits_the_scale_of_the_other(index: int) -> None:
    """With a scale of its own, 1, what is added to it, at 2^-36, would vanish."""
    x = np.float16([1.5, -0.25, 0.75, 3.0])
    check_range(CASE, [np.asarray(index, np.int32), x, x[::-1].copy()])


NESTED = """
func.func public @main(%i: tensor<i32>, %x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
  %0 = "stablehlo.case"(%i) ({
    %z = stablehlo.constant dense<0.0> : tensor<4xf16>
    stablehlo.return %z : tensor<4xf16>
  }, {
    %k = stablehlo.add %i, %i : tensor<i32>
    %n = "stablehlo.case"(%k) ({
      stablehlo.return %x : tensor<4xf16>
    }, {
      stablehlo.return %y : tensor<4xf16>
    }) : (tensor<i32>) -> tensor<4xf16>
    stablehlo.return %n : tensor<4xf16>
  }) : (tensor<i32>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}
"""


@pytest.mark.parametrize("index", [0, 1])
def test_a_scale_that_only_one_branch_knows_is_returned(index: int) -> None:
    """The other branch is zeros, which agree with it; outside it does not exist."""
    x = np.float16([1.5, -0.25, 0.75, 3.0])
    check_range(NESTED, [np.asarray(index, np.int32), x, x[::-1].copy()])


UNLIKE = """
func.func public @main(%i: tensor<i32>, %x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
  %0 = "stablehlo.case"(%i) ({
    %z = stablehlo.constant dense<0.0> : tensor<4xf16>
    stablehlo.return %z : tensor<4xf16>
  }, {
    %n = stablehlo.multiply %x, %y : tensor<4xf16>
    stablehlo.return %n : tensor<4xf16>
  }, {
    stablehlo.return %x : tensor<4xf16>
  }) : (tensor<i32>) -> tensor<4xf16>
  %1 = stablehlo.add %0, %x : tensor<4xf16>
  return %1 : tensor<4xf16>
}
"""


@pytest.mark.parametrize("index", [0, 1, 2])
def test_a_branch_of_zeros_has_the_smallest_scale_beside_branches_of_unlike_scales(index: int) -> None:
    """With 1, its scale as a number, what is added to it at 2^-36 would vanish."""
    x, y = np.float16([1.5, -0.25, 0.75, 3.0]), np.float16([0.5, 2.0, -1.0, 1.0])
    small = np.float32(2.0**-36)
    run = Rewritten.of(UNLIKE).run
    (got,) = run([Split(np.asarray(index, np.int32), None), Split(x, small), Split(y, np.float32(1))])
    want = x.astype(np.float64) + (0 * x, x.astype(np.float64) * y, x)[index]
    np.testing.assert_array_equal(recombine(got.data, got.scale) * 2.0**36, want)


@pytest.mark.parametrize("scaled", [False, True])
def test_a_branch_of_zeros_returns_no_scale_where_the_others_agree(scaled: bool) -> None:
    """The scale that they agree on exists outside, and zeros fit any: constant ones, and scaled ones."""
    text = CASE.replace("stablehlo.add %x, %y", "stablehlo.negate %x")
    if scaled:
        text = text.replace(
            "stablehlo.return %z", "%p = stablehlo.multiply %z, %y : tensor<4xf16>\n    stablehlo.return %p"
        )
    module = parse(Rewritten.of(text).text)
    (case,) = [op for op in walk(module.operation) if op.name == "stablehlo.case"]
    assert len(case.results) == 1


@pytest.mark.parametrize("exponent", [-40, 0, 40])
def test_what_is_known_of_a_reciprocal_root_brings_it_to_one(exponent: int) -> None:
    """rsqrt(0.2 x^2) has data of 2.2 in f32, as 0.2 stays in them, and of half of that in f16."""
    text = """
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf16> {
  %c = stablehlo.constant dense<0.2> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %x : tensor<4xf32>
  %1 = stablehlo.multiply %0, %c : tensor<4xf32>
  %2 = stablehlo.rsqrt %1 : tensor<4xf32>
  %3 = stablehlo.convert %2 : (tensor<4xf32>) -> tensor<4xf16>
  return %3 : tensor<4xf16>
}
"""
    x = np.float32([1.0, -1.0, 1.0, -1.0])
    (got,) = Rewritten.of(text).run([Split(x, np.float32(2.0**exponent))])
    assert 0.7 <= np.abs(got.data).max() <= 1.5
    np.testing.assert_allclose(recombine(got.data, got.scale), 0.2**-0.5 / np.abs(x) * 2.0**-exponent, rtol=1e-3)


def test_large_elements_fit_a_narrow_type_at_unit_scale() -> None:
    """3 stays in f32 data: 30000 times that is beyond f16, and half of it is not, as it is at unit scale."""
    text = """
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf16> {
  %c = stablehlo.constant dense<3.0> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %c : tensor<4xf32>
  %1 = stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}
"""
    x, scale = np.float32([1.5, -0.25, 0.75, 30000]), np.float32(2.0**-20)
    (got,) = Rewritten.of(text).run([Split(x, scale)])
    np.testing.assert_allclose(recombine(got.data, got.scale), x * 3 * scale, rtol=1e-3)


@pytest.mark.parametrize("exponent", [30, -30])
def test_values_are_brought_to_unit_size_before_they_are_narrowed(exponent: int) -> None:
    """f16 holds neither 2^30 nor 2^-30; what is known of the size comes from the constant alone."""
    text = f"""
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf16> {{
  %c = stablehlo.constant dense<{2.0**exponent!r}> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %c : tensor<4xf32>
  %1 = stablehlo.convert %0 : (tensor<4xf32>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}}
"""
    x = np.float32([1.5, -0.25, 0.75, 3.0])
    (got,) = Rewritten.of(text).run([Split(x, np.float32(1))])
    np.testing.assert_allclose(recombine(got.data, got.scale), x * 2.0**exponent, rtol=2e-3)


@pytest.mark.parametrize("constant", [1e-3, 1.0, 3e4])
@pytest.mark.parametrize("exponent", [-20, 0, 20])
def test_a_compared_constant_is_the_same_number_at_every_scale(constant: float, exponent: int) -> None:
    text = f"""
func.func public @main(%x: tensor<6xf16>) -> tensor<6xi1> {{
  %c = stablehlo.constant dense<{constant!r}> : tensor<6xf16>
  %0 = stablehlo.compare GT, %x, %c, FLOAT : (tensor<6xf16>, tensor<6xf16>) -> tensor<6xi1>
  return %0 : tensor<6xi1>
}}
"""
    data = np.float16([0.0, 0.02, 1.0, -1.0, 500.0, 6e4])
    (got,) = Rewritten.of(text).run([Split(data, np.float32(2.0**exponent))])
    np.testing.assert_array_equal(got.data, data.astype(np.float64) * 2.0**exponent > np.float16(constant))


def test_an_average_of_rows_with_a_scale_for_each_column() -> None:
    """The average took the scale of what it averages the rows of, which has another rank: ValueError."""

    def average(x: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda z, row: (z * 0.9 + row * 0.1, None), x[0], x)[0]

    x = np.float32(np.random.default_rng(0).standard_normal((5, 4)))
    rewritten = Rewritten.of(jax.jit(average).lower(x).as_text(), ScalifyOptions(scale_dims="all=-1"))
    scale = np.float32([[2.0**9, 0.5, 2.0**-7, 1.0]])
    (got,) = rewritten.run([Split(x / scale, scale)])
    np.testing.assert_allclose(recombine(got.data, got.scale), average(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 0.0])
@pytest.mark.parametrize("exponent", [-60, 0, 60])
def test_an_infinite_number_of_run_time_leaves_the_scale_of_others(number: float, exponent: int) -> None:
    """Its own scale was 2^127, beside which the others vanish, and that of NaN was NaN, and so were the others."""
    text = """
func.func public @main(%p: tensor<4xi1>, %c: tensor<f16>, %x: tensor<4xf16>) -> tensor<4xf16> {
  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f16>) -> tensor<4xf16>
  %0 = stablehlo.select %p, %b, %x : tensor<4xi1>, tensor<4xf16>
  return %0 : tensor<4xf16>
}
"""
    chosen, x = np.array([True, False, False, False]), np.float16([1, 2, 3, 5])
    rewritten = Rewritten.of(text, ScalifyOptions(args="2"))
    (got,) = rewritten.run([Split(chosen, None), Split(np.float16(number), None), Split(x, np.float32(2.0**exponent))])
    np.testing.assert_array_equal(recombine(got.data, got.scale) * 2.0**-exponent, np.where(chosen, number, x))


@pytest.mark.parametrize("index", [0, 1])
def test_each_result_of_a_branch_has_its_own_scale(index: int) -> None:
    """Three scales come out, at the places of their results; one result in the middle is an integer."""
    text = """
func.func public @main(%i: tensor<i32>, %x: tensor<4xf16>, %y: tensor<4xf16>, %z: tensor<4xf16>)
    -> (tensor<4xf16>, tensor<i32>, tensor<4xf16>, tensor<4xf16>) {
  %0:4 = "stablehlo.case"(%i) ({
    %n = stablehlo.constant dense<7> : tensor<i32>
    stablehlo.return %x, %n, %y, %z : tensor<4xf16>, tensor<i32>, tensor<4xf16>, tensor<4xf16>
  }, {
    %n = stablehlo.multiply %i, %i : tensor<i32>
    stablehlo.return %y, %n, %z, %x : tensor<4xf16>, tensor<i32>, tensor<4xf16>, tensor<4xf16>
  }) : (tensor<i32>) -> (tensor<4xf16>, tensor<i32>, tensor<4xf16>, tensor<4xf16>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<4xf16>, tensor<i32>, tensor<4xf16>, tensor<4xf16>
}
"""
    arrays = [np.float16([1.5, -0.25, 0.75, 3.0]) * factor for factor in (1, 2, 3)]
    scales = [np.float32(2.0**k) for k in (-30, 0, 30)]
    splits = [Split(a, s) for a, s in zip(arrays, scales, strict=True)]
    got = Rewritten.of(text).run([Split(np.asarray(index, np.int32), None), *splits])
    x, y, z = (recombine(split.data, split.scale) for split in splits)
    for pair, want in zip(got, ((x, 7, y, z), (y, 1, z, x))[index], strict=True):
        value = pair.data if pair.scale is None else recombine(pair.data, pair.scale)
        np.testing.assert_array_equal(value, want)


@pytest.mark.parametrize("exponent", [-8, 8])
def test_a_scale_that_multiplies_itself_in_a_branch_of_a_loop_is_held(exponent: int) -> None:
    """It was 2^(20 * 8), beyond f32, were the branch not known to return a multiple of it."""

    def grow(h: jax.Array, w: jax.Array) -> jax.Array:
        branches = (lambda h: h * w, lambda h: -h)
        return jax.lax.fori_loop(0, 40, lambda k, h: jax.lax.switch(k % 2, branches, h), h)

    h, w = np.float32([1.0, 0.5]), np.float32([1.0, -1.0])
    splits = [Split(h, np.float32(1)), Split(w * np.float32(2.0**-exponent), np.float32(2.0**exponent))]
    (got,) = Rewritten.of(jax.jit(grow).lower(h, w).as_text()).run(splits)
    np.testing.assert_array_equal(recombine(got.data, got.scale), h)


def test_a_branch_s_result_is_as_large_as_those_of_the_branches_together() -> None:
    """# E[x^2] = (1^2 + 3^2) / 2, and zeros, which lose every maximum, do not count"""
    text = """
func.func public @main(%i: tensor<i32>, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.case"(%i) ({
    %z = stablehlo.constant dense<0.0> : tensor<4xf32>
    stablehlo.return %z : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }, {
    %c = stablehlo.constant dense<3.0> : tensor<4xf32>
    %n = stablehlo.multiply %y, %c : tensor<4xf32>
    stablehlo.return %n : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
"""
    module = parse(Rewritten.of(text, ScalifyOptions(print_rules=True)).text)
    (negated,) = [op for op in walk(module.operation) if op.name == "stablehlo.negate"]
    assert "rms=2.24" in str(negated.attributes["scalify.scale"])


BLOCK = """
func.func public @main(%i: tensor<i32>, %x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "stablehlo.case"(%i) ({
    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
       : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    stablehlo.return %p : tensor<4x4xf32>
  }, {
    stablehlo.return %x : tensor<4x4xf32>
  }) : (tensor<i32>) -> tensor<4x4xf32>
  %1 = stablehlo.add %x, %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}
"""


@pytest.mark.parametrize(("of_weights", "of_result"), [(1.0, 4.0), (16.0, 4.0), (2.0**10, 2.0**4)])
def test_what_a_branch_makes_of_a_stream_is_a_multiple_of_it(of_weights: float, of_result: float) -> None:
    """What the scale of a branch is about the largest of is known outside: 2^8 times the stream's counts."""
    split = [Split(np.eye(4, dtype=np.float32), np.float32(s)) for s in (4.0, of_weights)]
    (result,) = Rewritten.of(BLOCK).run([Split(np.asarray(0, np.int32), None), *split])
    assert result.scale == of_result, result
