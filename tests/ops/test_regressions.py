"""Programs that were rewritten wrongly once, each with what was wrong."""

import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.functions import FunctionTable
from scalify_hlo.engine.rewriter import Rewriter
from scalify_hlo.execution.inputs import Split, recombine
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.rewrite import rewrite_module
from scalify_hlo.rules.values import ScaledValue
from scalify_hlo.scale import ONE
from tests.support import Rewritten, check_program, check_range, run_on_xla


def _reduce_window(body: str, padding: str) -> str:
    return f"""
func.func public @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {{
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %c) <{{window_dimensions = array<i64: 4, 1>, {padding}}}> ({{
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    {body}
    stablehlo.return %s : tensor<f32>
  }}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}}"""


def test_product_over_padded_windows() -> None:
    """cumprod: the window has four elements, of which up to three are padding; the scale was s^4 everywhere."""
    body = "%s = stablehlo.multiply %a, %b : tensor<f32>"
    check_program(_reduce_window(body, "padding = dense<[[3, 0], [0, 0]]> : tensor<2x2xi64>"))


def test_product_over_a_dimension_of_unknown_size() -> None:
    """The scale is s^n for n elements; an unknown n counted as 1."""
    rewritten = rewrite_module("""
func.func public @main(%x: tensor<?x4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %c) applies stablehlo.multiply across dimensions = [0]
    : (tensor<?x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}""")
    assert "return %" in rewritten
    assert rewritten.rstrip().splitlines()[-4].count("%arg1") == 0, rewritten


def test_a_reducer_that_calls_a_function_in_f16() -> None:
    """cumlogsumexp: the region was widened to f32, the function that it calls was not."""
    check_range("""
func.func public @main(%x: tensor<4x6xf16>) -> tensor<4xf16> {
  %c = stablehlo.constant dense<0xFC00> : tensor<f16>
  %r = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %s = func.call @larger(%a, %b) : (tensor<f16>, tensor<f16>) -> tensor<f16>
    stablehlo.return %s : tensor<f16>
  }) : (tensor<4x6xf16>, tensor<f16>) -> tensor<4xf16>
  return %r : tensor<4xf16>
}
func.func private @larger(%a: tensor<f16>, %b: tensor<f16>) -> tensor<f16> {
  %0 = stablehlo.maximum %a, %b : tensor<f16>
  %1 = stablehlo.subtract %a, %b : tensor<f16>
  %2 = stablehlo.abs %1 : tensor<f16>
  %3 = stablehlo.negate %2 : tensor<f16>
  %4 = stablehlo.exponential %3 : tensor<f16>
  %5 = stablehlo.log_plus_one %4 : tensor<f16>
  %6 = stablehlo.add %0, %5 : tensor<f16>
  return %6 : tensor<f16>
}""", exponents={"up": (24,), "far": (60,)})  # fmt: skip


def test_a_python_zero_passed_to_a_function() -> None:
    """jnp.pad(x, 1): the 0 arrives as an integer argument. It was taken for a number of scale 1, before which small
    f16 data vanished."""
    check_range("""
func.func public @main(%x: tensor<3x4xf16>) -> tensor<5x6xf16> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0 = call @pad(%x, %c) : (tensor<3x4xf16>, tensor<i32>) -> tensor<5x6xf16>
  return %0 : tensor<5x6xf16>
}
func.func private @pad(%x: tensor<3x4xf16>, %c: tensor<i32>) -> tensor<5x6xf16> {
  %0 = stablehlo.convert %c : (tensor<i32>) -> tensor<f16>
  %1 = stablehlo.pad %x, %0, low = [1, 1], high = [1, 1], interior = [0, 0]
    : (tensor<3x4xf16>, tensor<f16>) -> tensor<5x6xf16>
  return %1 : tensor<5x6xf16>
}""")


def test_a_map_of_a_value_that_shares_its_data() -> None:
    """4 x is the data of x at another scale; mapping it changed what was known of x."""
    check_program("""
func.func public @main(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %c = stablehlo.constant dense<4.0> : tensor<3x4xf32>
  %y = stablehlo.multiply %x, %c : tensor<3x4xf32>
  %m = "stablehlo.map"(%y) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>):
    %s = stablehlo.negate %a : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %r = stablehlo.subtract %x, %m : tensor<3x4xf32>
  return %m, %r : tensor<3x4xf32>, tensor<3x4xf32>
}""")


def test_scatter_with_a_body_that_needs_values() -> None:
    """x.at[i].apply(sin): elements that are not touched were brought to scale 1, where small f16 data vanish."""
    check_range("""
func.func public @main(%x: tensor<6xf16>, %i: tensor<1x1xi32>, %u: tensor<1xf16>) -> tensor<6xf16> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %s = stablehlo.sine %a : tensor<f16>
    stablehlo.return %s : tensor<f16>
  }) : (tensor<6xf16>, tensor<1x1xi32>, tensor<1xf16>) -> tensor<6xf16>
  return %r : tensor<6xf16>
}""", exponents={"down": (-36,)})  # fmt: skip


def test_reduce_precision_to_a_smaller_range() -> None:
    """1e6 is infinite with five exponent bits; the data, 1e6 / s, were not."""
    text = """
func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<3xf32>
  return %0 : tensor<3xf32>
}"""
    check_program(text, [np.array([1e6, 1e-6, 1.2345], np.float32)])


def test_a_comparison_in_total_order_and_one_of_far_scales() -> None:
    """f16 values were formed in f32, where 2^126 * 2^10 is infinite and equal to any other infinity."""
    check_range("""
func.func public @main(%x: tensor<8xf16>, %y: tensor<8xf16>) -> (tensor<8xi1>, tensor<8xi1>) {
  %0 = stablehlo.compare LT, %x, %y : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xi1>
  %1 = stablehlo.compare GE, %x, %y, TOTALORDER : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xi1>
  return %0, %1 : tensor<8xi1>, tensor<8xi1>
}""", [np.float16(2.0**10) * np.arange(1, 9, dtype=np.float16), np.float16(2.0**10) * np.full(8, 4, np.float16)],
        exponents={"far": (125, 126)})  # fmt: skip


def test_data_are_at_unit_scaling_before_they_are_narrowed() -> None:
    """Sums in f32 may stay some way from unit scaling; 600 converted to f8, whose largest number is 448,
    saturated."""
    count = 1 << 14
    check_program(
        f"""
func.func public @main(%x: tensor<2x{count}xf32>) -> tensor<2xf32> {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1]
    : (tensor<2x{count}xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = stablehlo.convert %0 : (tensor<2xf32>) -> tensor<2xf8E4M3FN>
  %2 = stablehlo.convert %1 : (tensor<2xf8E4M3FN>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}}""",
        [np.full((2, count), 600 / count * 2.0**-12, np.float32)],
        [2.0**-12],
        evaluate=run_on_xla,
    )


def test_a_scan_over_an_unknown_number_of_steps() -> None:
    """Its stacked results had a scale for each step, of which there is no type."""
    rewritten = rewrite_module("""
func.func public @main(%x: tensor<?x4xf32>, %n: tensor<i32>, %s: tensor<2xi32>) -> tensor<?x4xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.dynamic_broadcast_in_dim %z, %s, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
  %r:2 = stablehlo.while(%k = %c, %y = %b) : tensor<i32>, tensor<?x4xf32>
  cond {
    %p = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %t = stablehlo.dynamic_slice %x, %k, %c, sizes = [1, 4]
      : (tensor<?x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %u = stablehlo.dynamic_update_slice %y, %t, %k, %c
      : (tensor<?x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<?x4xf32>
    %l = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %l, %u : tensor<i32>, tensor<?x4xf32>
  }
  return %r#1 : tensor<?x4xf32>
}""")
    assert "stablehlo.dynamic_update_slice" in rewritten


def test_scales_that_multiply_themselves_by_way_of_each_other() -> None:
    """L-BFGS: x -= (a x + b y) c and y -= (a x + b y) d; the scales, max(s, t) u each time, became infinite."""
    check_program(
        """
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %a: tensor<4xf32>, %c: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<40> : tensor<i32>
  %r:3 = stablehlo.while(%k = %zero, %u = %x, %v = %y) : tensor<i32>, tensor<4xf32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %k, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %0 = stablehlo.dot_general %a, %u, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    %1 = stablehlo.dot_general %c, %v, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    %2 = stablehlo.add %0, %1 : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %4 = stablehlo.multiply %3, %a : tensor<4xf32>
    %5 = stablehlo.multiply %3, %c : tensor<4xf32>
    %6 = stablehlo.subtract %u, %5 : tensor<4xf32>
    %7 = stablehlo.subtract %v, %4 : tensor<4xf32>
    %8 = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %8, %6, %7 : tensor<i32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>
}""",
        [
            np.array([3, 5, 3, 5], np.float32),
            np.array([2, 2, 7, 7], np.float32),
            np.array([16, 0, -16, 0], np.float32),
            np.array([0, 0, 16, -16], np.float32),
        ],
        [1.0, 2.0, 16.0, 16.0],
    )


@pytest.mark.parametrize("exponent", [0, 12, 40])
def test_a_branch_of_a_stream_may_be_large(exponent: int) -> None:
    """x + W x keeps the scale of x where that of W x is about as large; in f16 it must not where it is far larger."""
    text = """
func.func public @main(%x: tensor<4x8xf16>, %w: tensor<8x8xf16>) -> tensor<4x8xf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf16>
  %1 = stablehlo.add %x, %0 : tensor<4x8xf16>
  return %1 : tensor<4x8xf16>
}"""
    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(shape).astype(np.float16) for shape in ((4, 8), (8, 8)))
    data, scale = run_on_xla(rewrite_module(text), [x, np.float32(1), w, np.float32(2.0**exponent)])
    x, w = (array.astype(np.float64) for array in (x, w))
    np.testing.assert_allclose(data.astype(np.float64) * scale, x + x @ w * 2.0**exponent, rtol=2e-2, atol=0.02 * scale)


def test_a_stream_of_many_blocks() -> None:
    """What a scale grows with was found by recursion: the gradient of 48 layers exceeded Python's limit."""
    tensor, weight = "tensor<4x8xf16>", "tensor<8x8xf16>"
    blocks = "\n".join(
        f"""%b{i} = stablehlo.dot_general %x{i}, %w, contracting_dims = [1] x [0] : ({tensor}, {weight}) -> {tensor}
  %x{i + 1} = stablehlo.add %x{i}, %b{i} : {tensor}"""
        for i in range(400)
    )
    text = f"""
func.func public @main(%x0: {tensor}, %w: {weight}, %v: {tensor}) -> {tensor} {{
  {blocks}
  %r = stablehlo.subtract %v, %x400 : {tensor}
  return %r : {tensor}
}}"""
    assert rewrite_module(text).count("stablehlo.dot_general") == 400


@pytest.mark.parametrize("element", ["f32", "f16"])
def test_a_multiple_of_a_value_times_the_value(element: str) -> None:
    """(2 x) x has one data for both operands, but two scales: it was taken for a square, 4 x^2."""
    text = f"""
func.func public @main(%x: tensor<4x{element}>) -> tensor<4x{element}> {{
  %two = stablehlo.constant dense<2.0> : tensor<4x{element}>
  %0 = stablehlo.multiply %x, %two : tensor<4x{element}>
  %1 = stablehlo.multiply %0, %x : tensor<4x{element}>
  return %1 : tensor<4x{element}>
}}"""
    check_program(text)


@pytest.mark.parametrize("sign", [1, -1])
def test_product_of_scales_that_leaves_f32_before_it_is_divided(sign: int) -> None:
    """(y / x) y, scales 2^65 and 2^60: s^2 was formed before it was divided by t; the scale was infinite."""
    rewritten = rewrite_module("""
func.func public @main(%x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
  %0 = stablehlo.divide %y, %x : tensor<4xf16>
  %1 = stablehlo.multiply %0, %y : tensor<4xf16>
  return %1 : tensor<4xf16>
}""")
    ones = np.ones(4, np.float16)
    scales = [np.asarray(np.ldexp(1.0, sign * exponent), np.float32) for exponent in (60, 65)]
    data, scale = run_on_xla(rewritten, [ones, scales[0], ones, scales[1]])
    np.testing.assert_array_equal(data.astype(np.float64) * float(scale), np.ldexp(np.ones(4), sign * 70))


@pytest.mark.parametrize("exponents", [(65, 65), (-65, -65), (65, 63)])
def test_product_of_scales_that_leaves_f32_before_its_root_is_taken(exponents: tuple[int, int]) -> None:
    """sqrt(x y): s t was formed before its root was taken; the scale was infinite, or 0."""
    rewritten = rewrite_module("""
func.func public @main(%x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
  %0 = stablehlo.multiply %x, %y : tensor<4xf16>
  %1 = stablehlo.sqrt %0 : tensor<4xf16>
  return %1 : tensor<4xf16>
}""")
    ones = np.ones(4, np.float16)
    s, t = (np.asarray(np.ldexp(1.0, exponent), np.float32) for exponent in exponents)
    data, scale = run_on_xla(rewritten, [ones, s, ones, t])
    np.testing.assert_array_equal(data.astype(np.float64) * float(scale), np.ldexp(np.ones(4), sum(exponents) // 2))


def test_the_scale_of_a_result_is_never_zero() -> None:
    """The square of a tensor of zeros had scale 2^-252, that is 0; as an argument of the next call it divides."""
    rewritten = rewrite_module("""
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}""")
    data, scale = run_on_xla(rewritten, [np.zeros(4, np.float32), np.asarray(2.0**-126, np.float32)])
    assert scale == np.float32(2.0**-126) and not data.any()


@pytest.mark.parametrize("factor", [2.0**-12, 0.75 * 2**20])
@pytest.mark.parametrize("slack", [0.0, 6.0])
def test_a_constant_in_the_scale_of_a_product_whose_factors_have_values(factor: float, slack: float) -> None:
    """c x y + z: the value of c x y was that of x y, since their data are the same; only the scale has c."""
    text = f"""
func.func public @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {{
  %c = stablehlo.constant dense<{factor}> : tensor<4xf32>
  %e = stablehlo.exponential %x : tensor<4xf32>
  %0 = stablehlo.multiply %e, %y : tensor<4xf32>
  %1 = stablehlo.multiply %0, %c : tensor<4xf32>
  %2 = stablehlo.add %1, %z : tensor<4xf32>
  %3 = stablehlo.subtract %y, %z : tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}}"""
    rewritten = rewrite_module(text, ScalifyOptions(slack=slack))
    x, y, z = (np.array([1, 2, 3, 4], np.float32) * k for k in (0.25, 1, -3))
    scales = [np.asarray(2.0**k, np.float32) for k in (0, 2, -3)]
    sum_, sum_scale, *_ = run_on_xla(rewritten, [x, scales[0], y, scales[1], z, scales[2]])
    np.testing.assert_allclose(sum_ * sum_scale, factor * np.exp(x) * 4 * y + z / 8, rtol=1e-6)


def test_a_constant_beside_other_values_in_a_barrier() -> None:
    """All results of an optimization_barrier counted as its first operand: 3 i was replaced by 5."""
    check_program("""
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = stablehlo.constant dense<5.0> : tensor<4xf32>
  %d = stablehlo.constant dense<3.0> : tensor<4xf32>
  %i = stablehlo.iota dim = 0 : tensor<4xf32>
  %0 = stablehlo.multiply %i, %d : tensor<4xf32>
  %1:2 = stablehlo.optimization_barrier %c, %0 : tensor<4xf32>, tensor<4xf32>
  %2 = stablehlo.multiply %x, %1#0 : tensor<4xf32>
  %3 = stablehlo.add %2, %1#1 : tensor<4xf32>
  return %3 : tensor<4xf32>
}""")


def test_facts_asked_in_a_discarded_attempt_do_not_cost_a_value_its_scale() -> None:
    """The facts learnt were listed with the scaled forms, and both were forgotten: of values outside the loop, too."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(
            "func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
        )
        (function,) = module.body.operations
        rewriter = Rewriter(function.operation, ScalifyOptions(), FunctionTable(module, ScalifyOptions(), narrow=False))
        x = function.regions[0].blocks[0].arguments[0]
        rewriter.define(x, ScaledValue(x, ONE))
        attempt = rewriter.attempt()
        rewriter.facts_of(x)
        attempt.discard()
        assert x in rewriter.scaled
        assert x not in rewriter.facts.known


def test_a_polynomial_in_f32_that_is_rounded_to_f16_next() -> None:
    """x^2 + c took the scale of its lower term, 1, which f32 does not mind: the square overflowed when rounded."""
    rewritten = Rewritten.of("""
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf16> {
  %c = stablehlo.constant dense<0.9> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %x : tensor<4xf32>
  %1 = stablehlo.add %0, %c : tensor<4xf32>
  %2 = stablehlo.convert %1 : (tensor<4xf32>) -> tensor<4xf16>
  return %2 : tensor<4xf16>
}""")
    for exponent in (9, -9):
        data = np.asarray([1.0, -1.5, 0.75, 1.25], np.float32)
        (result,) = rewritten.run([Split(data, np.asarray(2.0**exponent, np.float32))])
        expected = (data.astype(np.float64) * 2.0**exponent) ** 2 + 0.9
        np.testing.assert_allclose(recombine(result.data, result.scale), expected, rtol=2**-10)


CLIPPED = """
func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %low = stablehlo.constant dense<-448.0> : tensor<8xf32>
  %high = stablehlo.constant dense<448.0> : tensor<8xf32>
  %0 = stablehlo.maximum %x, %low : tensor<8xf32>
  %1 = stablehlo.minimum %high, %0 : tensor<8xf32>
  %2 = stablehlo.convert %1 : (tensor<8xf32>) -> tensor<8xf8E4M3FN>
  %3 = stablehlo.convert %2 : (tensor<8xf8E4M3FN>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}"""


@pytest.mark.parametrize("exponent", [-20, -3, 0, 6])
def test_a_bound_does_not_decide_the_scale_of_what_it_bounds(exponent: int) -> None:
    """max(x, -448) was carried at a scale of 256: data of 2^-8, of which FP8 lost most."""
    data = np.array([1.0, -0.75, 0.5, 1.25, -1.0, 0.875, -2.0, 0.4375], np.float32)
    rewritten = Rewritten.of(CLIPPED)
    (result,) = rewritten.run([Split(data, np.float32(2.0**exponent))])
    assert np.array_equal(recombine(result.data, result.scale), np.clip(data * 2.0**exponent, -448, 448))


def test_bounds_of_values_beyond_them() -> None:
    """Where the scale is larger than the bound, the bound is what is left, exactly."""
    text = CLIPPED.replace("%3 : tensor<8xf32>\n", "%1 : tensor<8xf32>\n")
    data = np.array([1.0, -0.75, 0.5, 1.25, -1.0, np.inf, -np.inf, 0.0], np.float32)
    (result,) = Rewritten.of(text).run([Split(data, np.float32(2.0**100))])
    assert np.array_equal(recombine(result.data, result.scale), np.clip(data * np.float32(2.0**100), -448, 448))


def test_slices_without_elements_of_values_with_shaped_scales() -> None:
    """JAX's associative scans take such slices; their scale was given the shape [0] or [1] in turns."""
    check_program("""
func.func public @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> (tensor<0x3xf32>, tensor<1x3xf32>) {
  %0 = stablehlo.slice %x [0:0, 0:3] : (tensor<2x3xf32>) -> tensor<0x3xf32>
  %1 = stablehlo.slice %y [2:2, 0:3] : (tensor<2x3xf32>) -> tensor<0x3xf32>
  %2 = stablehlo.maximum %0, %1 : tensor<0x3xf32>
  %3 = stablehlo.slice %x [0:1, 0:3] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %4 = stablehlo.concatenate %3, %2, dim = 0 : (tensor<1x3xf32>, tensor<0x3xf32>) -> tensor<1x3xf32>
  return %2, %4 : tensor<0x3xf32>, tensor<1x3xf32>
}""", options=ScalifyOptions(scale_dims="all=0"), scales=[1.0])  # fmt: skip
