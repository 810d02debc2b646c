"""What fuzzers have found, each with what was wrong. All were fixed at their causes; see the laws in rewrites/."""

import pathlib

import ml_dtypes
import numpy as np
import pytest

from scalify_hlo.bindings import ir, make_context
from scalify_hlo.execution.inputs import Split
from scalify_hlo.passes.pipeline import parse_pipeline
from tests.fuzz.jax_programs import Argument, Program
from tests.fuzz.judge import Case, judge
from tests.support import Rewritten


def _outcome(line: str, *arguments: Argument, options: str = "", seed: int = 9, scales: str = "rms") -> str:
    x64 = any(a.dtype == "float64" for a in arguments)
    program = Program(arguments, ((("v0",), line),), ("v0",), x64)
    return judge(Case(program, f"on-unsupported=unscale {options}".strip(), seed, scales))


@pytest.mark.parametrize("line", [
    "lax.fori_loop(0, 3, lambda i, z: jnp.exp(-z) + z, a0)",
    "lax.fori_loop(0, 3, lambda i, z: softened(z * z), a0)",
    "lax.scan(lambda z, r: (jnp.cos(z) + z, None), a0, None, length=2)[0]",
    "lax.cond(jnp.all(a0 < 1), lambda z: lax.fori_loop(0, 3, lambda i, z: softened(z), z), lambda z: z, a0)",
])  # fmt: skip
def test_small_f16_state_to_which_large_values_are_added(line: str) -> None:
    """It was held at the scale that it entered with, 2^-22, at which values of 1 are infinite."""
    assert _outcome(line, Argument("a0", (3,), "float16", "subnormal")) == "ok"


@pytest.mark.parametrize("values", ["normal", "zeros"])
@pytest.mark.parametrize("line", [
    "jnp.nan_to_num(a0)", "jnp.maximum(a0, -1e300)", "jnp.where(a0 > 0, a0, -1e300)", "jnp.minimum(a0, 1e300)",
    "lax.reduce_window(a0, jnp.float64(-1e308), lax.max, (2,), (1,), 'SAME')",
])  # fmt: skip
def test_masks_in_f64_beyond_the_range_of_a_scale(line: str, values: str) -> None:
    """The mask's own scale, infinity, became that of all: NaN."""
    assert _outcome(line, Argument("a0", (4,), "float64", values), scales="jitter") == "ok"


@pytest.mark.parametrize("options", ["", "rules=paper"])
@pytest.mark.parametrize("line", [
    "lax.reduce(a0, jnp.float16(-65504), lax.max, (0,))", "lax.reduce(-a0, jnp.float16(65504), lax.min, (0,))",
    "lax.reduce_window(a0, jnp.float16(-65504), lax.max, (2, 1), (1, 1), 'SAME')",
])  # fmt: skip
def test_maxima_that_start_from_the_least_number(line: str, options: str) -> None:
    """The start took part in the choice of the scale, and crushed the data by 2^16."""
    assert _outcome(line, Argument("a0", (4, 5), "float16", "small"), options=options) == "ok"


@pytest.mark.parametrize("line", ["jnp.argmin(a0.astype(jnp.float8_e4m3fn))",
                                  "jnp.argmax(a0.astype(jnp.float8_e4m3fn), axis=0)"])  # fmt: skip
@pytest.mark.parametrize("options", ["", "rules=paper"])
def test_places_in_f8_that_are_compared_with_its_largest_number_first(line: str, options: str) -> None:
    """The start took part in the choice of the scale, and what it crushed was equal: another place was the first."""
    assert _outcome(line, Argument("a0", (5, 4, 5), "float32", "positive"), options=options, seed=1) == "ok"


@pytest.mark.parametrize(("argument", "line"), [
    (Argument("a0", (25, 40), "float16"), "jnp.prod(nn.softmax(a0, 0) * 8 + 0.5, axis=1)"),
    (Argument("a0", (5, 4, 5), "bfloat16", "positive"),
     "(lambda x: jnp.prod(x * lax.rsqrt(jnp.mean(x * x, 0, keepdims=True) + 1e-6)))(a0.astype(jnp.float8_e4m3fn))"),
])  # fmt: skip
def test_products_of_many_elements_whose_scale_is_known_beside_narrow_types(argument: Argument, line: str) -> None:
    """Data are 2 from their values, and so the product of 100 was 2^100 from its own: infinite in f16, NaN in f8."""
    assert _outcome(line, argument, seed=3) == "ok"


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_product_of_no_elements_has_the_scale_of_its_start(dtype: str) -> None:
    """It had that of as many elements as the other dimensions have: 1 was 2^-4."""
    line = "lax.reduce(a0, jnp.asarray(1.0, a0.dtype), lax.mul, tuple(range(a0.ndim)))"
    assert _outcome(line, Argument("a0", (0, 0, 1, 4), dtype), seed=827) == "ok"


def test_a_minimum_in_f8_that_starts_from_its_largest_number() -> None:
    """The type has no infinity, so JAX starts from 448, which took part in the choice of the scale."""
    x = Argument("a0", (5, 5, 2, 5), "float32", "positive")
    line = "jnp.min(a0.astype(jnp.float8_e4m3fn), axis=1).astype(jnp.float32)"
    assert _outcome(line, x, options="rules=paper", scales="jitter") == "ok"


@pytest.mark.parametrize("line", ["jnp.expm1(a0)", "jnp.expm1(jnp.abs(a0)) * 0.5"])
def test_f16_functions_that_grow_faster_than_their_operand(line: str) -> None:
    """At the scale of small operands, 2^-3, the values of the largest were beyond f16; they are not themselves."""
    text = Program((Argument("a0", (4,), "float16"),), ((("v0",), line),), ("v0",)).lowered()
    x = np.asarray([9.25, -3.0, 0.01, 1.0], np.float16)
    (result,) = Rewritten.of(text).run([Split(x / np.float16(0.125), np.float32(0.125))])
    assert np.isfinite(result.data).all(), result


@pytest.mark.parametrize("part", ["(2)2", "(1)3", "(3)2"])
def test_devices_grouped_over_a_part_of_an_axis_that_the_mesh_does_not_have(part: str) -> None:
    """MLIR verifies it; the lookup of the part raised KeyError."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "test/lit/size/device_groups.mlir").read_text()
    damaged = text.replace('"b"=4', '"b"=2').replace("(2)2", part)
    for passes in ("scalify", "scalify-size"):
        module = ir.Module.parse(damaged, context=make_context())
        parse_pipeline(passes).run(module, [])
        assert module.operation.verify()


@pytest.mark.parametrize("scales", ["rms", "jitter", "one"])
@pytest.mark.parametrize("line", ["jnp.fmod(a0, 1e4)", "jnp.fmod(1e4, a0)", "jnp.fmod(a0[::-1] * 1e3, a0)"])
def test_remainders_of_f16_values_of_unlike_size(line: str, scales: str) -> None:
    """The smaller one lost its bits at the larger one's scale, and the remainder all meaning."""
    assert _outcome(line, Argument("a0", (4,), "float16", "small"), scales=scales) == "ok"


@pytest.mark.parametrize("values", ["zeros", "some zeros", "normal"])
@pytest.mark.parametrize("line", [
    "jnp.where(a0 == 0, 1.0, 1.0 / a0)", "jnp.where(a0 == 0, 1.0, 1 / (a0 * a0))",
    "jnp.where(a0 == 0, 1.0, 1 / jnp.sqrt(jnp.abs(a0)))", "jnp.where(a0 == 0, 1.0, 1 / jnp.cbrt(a0))",
    "jnp.stack([1.0 / a0, a0 + 1.0])[1]",
])  # fmt: skip
def test_what_is_divided_by_zeros_in_f16_leaves_what_it_is_beside(line: str, values: str) -> None:
    """1/0 had the scale 2^126, which became that of the selected values: 0 for all of them."""
    assert _outcome(line, Argument("a0", (4,), "float16", values)) == "ok"


@pytest.mark.parametrize("scales", ["rms", "jitter"])
@pytest.mark.parametrize("line", [
    "jnp.nan_to_num((0.0 - nn.softmax(a0, axis=0)).astype(jnp.float8_e4m3fn))",
    "jnp.nan_to_num((a0 * 0.01).astype(jnp.float8_e4m3fn))", "jnp.nan_to_num((a0 + 0.25).astype(jnp.float8_e5m2))",
])  # fmt: skip
def test_the_largest_f8_number_beside_small_ones(line: str, scales: str) -> None:
    """What is selected where there is an infinity had a scale of 2^9, at which probabilities are 0."""
    assert _outcome(line, Argument("a0", (3, 3), "float32"), scales=scales) == "ok"


@pytest.mark.parametrize("scales", ["rms", "jitter"])
@pytest.mark.parametrize("values", ["small", "normal", "large"])
@pytest.mark.parametrize("line", [
    "lax.fori_loop(0, a0.shape[0], lambda i, m: jnp.maximum(m, a0[i]), jnp.full((5,), -60000, a0.dtype))",
    "lax.scan(lambda m, x: (jnp.minimum(x, m), None), jnp.full((5,), 60000, a0.dtype), a0)[0]",
    "lax.scan(lambda m, x: (jnp.maximum(x, m), jnp.exp(m - jnp.maximum(x, m))), jnp.full((5,), -6e4, a0.dtype), a0)[1]",
])  # fmt: skip
def test_a_running_maximum_of_f16_from_a_far_constant(line: str, values: str, scales: str) -> None:
    """The constant's scale, 2^16, was carried along, and crushed data that are smaller."""
    assert _outcome(line, Argument("a0", (4, 5), "float16", values), scales=scales) == "ok"


@pytest.mark.parametrize("line", [
    "lax.fori_loop(0, 3, lambda i, m: jnp.minimum(m - jnp.abs(a0), m), jnp.full((4,), 5000, a0.dtype))",
    "lax.fori_loop(0, 3, lambda i, m: jnp.maximum(m * 0.5, a0), jnp.full((4,), 5000, a0.dtype))",
    "lax.scan(lambda m, x: (jnp.maximum(x, m), m * 0.5), jnp.float16(-6e4), a0)[1]",
])  # fmt: skip
def test_a_far_constant_that_a_loop_computes_with_is_no_mask(line: str) -> None:
    """Only what a maximum alone is taken with is one: here every digit counts."""
    assert _outcome(line, Argument("a0", (4,), "float16", "small")) == "ok"


@pytest.mark.parametrize("line", [
    "lax.fori_loop(0, 8, lambda i, c: c * 0.5 + jnp.tanh(c), a0 * a1)",
    "lax.scan(lambda c, x: (c / 2 + jnp.sin(x + c), None), a0 * a1, jnp.stack([a0] * 8))[0]",
    "lax.fori_loop(0, 8, lambda i, c: c * 0.25 + nn.sigmoid(c), a0 * a1)",
])  # fmt: skip
def test_the_scale_of_f16_state_to_which_an_iteration_adds_is_not_halved(line: str) -> None:
    """It was halved by each iteration, by what multiplies the state, and data left f16 in what is computed of them."""
    arguments = Argument("a0", (4,), "float16"), Argument("a1", (4,), "float16")
    text = Program(arguments, ((("v0",), line),), ("v0",)).lowered()
    (result,) = Rewritten.of(text).run([Split(a.array(0), np.float32(1)) for a in arguments])
    assert np.abs(result.data).max() < 8


def test_halving_by_a_constant_alone_is_followed() -> None:
    """All digits of f16 are left after 8 halvings of its smallest normal number."""
    arguments = Argument("a0", (4,), "float16"), Argument("a1", (4,), "float16")
    line = "lax.fori_loop(0, 8, lambda i, c: -c * 0.5, a0 * a1)"
    text = Program(arguments, ((("v0",), line),), ("v0",)).lowered()
    data = np.asarray([1.5, -1.25, 1.0, 1.75], np.float16) * np.float16(2.0**-14)
    (result,) = Rewritten.of(text).run([Split(x, np.float32(1)) for x in (data, np.ones(4, np.float16))])
    assert result.scale == 2.0**-8
    np.testing.assert_array_equal(result.data, data)


_SHIFT = "(jnp.eye(16, k=1, dtype=a0.dtype) + jnp.eye(16, k=-15, dtype=a0.dtype)) + a1 * 0"


@pytest.mark.parametrize("line", [
    f"(lambda q: lax.fori_loop(0, 60, lambda i, s: (s[1] @ q, s[0] @ q), (jnp.sin(a0), a0 * a1))[0])({_SHIFT})",
    "lax.fori_loop(0, 60, lambda i, s: (s[1] * (jnp.abs(a1) + 3) / 3, s[0] / jnp.sqrt(3 + jnp.abs(a1))),"
    " (jnp.sin(a0), a0 * a1))[0]",
])  # fmt: skip
def test_scales_that_multiply_each_other_in_turns(line: str) -> None:
    """s <- t r, r <- u s: each was followed, as none multiplied itself, and data left f16 below."""
    arguments = Argument("a0", (16, 16), "float16"), Argument("a1", (16, 16), "float16")
    assert _outcome(line, *arguments, seed=700) == "ok"


def test_scales_of_a_continued_fraction() -> None:
    """The same in f64, through selects: 2^6 times as large with each iteration, beyond f32 after twenty."""
    arguments = Argument("a0", (3, 4), "float64", "some zeros"), Argument("a1", (3, 4), "float64", "special")
    line = "lax.igammac(jnp.abs(a0) + 0.5, jnp.abs(a1))"
    assert _outcome(line, *arguments, seed=1541, scales="jitter") == "ok"


def test_a_quotient_by_infinity() -> None:
    """The bound of a divisor that is infinite in f16 has no power of two: OverflowError."""
    assert _outcome("1 / (a0 * a0 + jnp.float16(jnp.inf)) + a0", Argument("a0", (4,), "float16")) == "ok"


@pytest.mark.parametrize("line", ["jnp.maximum(a0, 1e4)", "jnp.maximum(1e4, -a0)", "jnp.minimum(a0, -1e4)"])
def test_a_far_bound_that_is_reached_is_no_mask(line: str) -> None:
    """A bound took the scale of what it bounds, as masks do, and 2^-8 was left of it: it is the result."""
    assert _outcome(line, Argument("a0", (2, 2), "float16", "zeros")) == "ok"


@pytest.mark.parametrize("line", ["jnp.prod(a0).astype(jnp.float8_e4m3fn)", "(a0 ** 3).astype(jnp.float8_e5m2)"])
def test_f8_results_are_rounded_as_values(line: str) -> None:
    """The data were rounded, where they are far from 1 to the largest number of the type, and multiplied then."""
    assert _outcome(line, Argument("a0", (3,), "float32", "mixed"), seed=505, scales="jitter") == "ok"


@pytest.mark.parametrize("made", [
    "lax.sort((a0, a0 * -2), num_keys=1)", "lax.fori_loop(0, 3, lambda i, s: (s[0] * 2, s[1] + a0), (a0, -a0))",
    "lax.cond(a0[0] > 0, lambda x: (x, x * 2), lambda x: (x * 3, -x), a0)", "lax.optimization_barrier((-a0, a0 * 2))",
])  # fmt: skip
@pytest.mark.parametrize("function", ["jnp.hypot(x, x)", "lax.erf_inv(jnp.tanh(x))", "lax.digamma(x)"])
def test_a_function_that_is_written_out_of_a_second_result(made: str, function: str) -> None:
    """It was computed of the data: the first result was taken for what it is a function of."""
    for line in (f"(lambda x: {function})({made}[1])", f"(lambda x: {function})({made}[0])"):
        assert _outcome(line, Argument("a0", (4,), "float32"), seed=2784, scales="jitter") == "ok"


@pytest.mark.parametrize("body", ["z + a0 - 1.5", "z - 0.5 * a0 + 2", "(z + a0) + (a0 - 3)"])
@pytest.mark.parametrize("end", ["nn.log_sigmoid({})", "{}", "jnp.tanh({})"])
def test_zeros_that_zeros_and_a_constant_are_added_to(body: str, end: str) -> None:
    """z + 0 was held at the scale of zeros, 2^-126, as something else, and z + 0 - 1.5 was infinite in f32."""
    line = end.format(f"lax.fori_loop(0, 4, lambda i, z: {body}, a0)")
    assert _outcome(line, Argument("a0", (4,), "float32", "zeros"), seed=2638, scales="jitter") == "ok"
    scanned = end.format(f"lax.scan(lambda z, r: ({body}, jnp.sum(r)), a0, a0)[0]")
    assert _outcome(scanned, Argument("a0", (4,), "float32", "zeros"), seed=2638, scales="jitter") == "ok"


@pytest.mark.parametrize("target", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("mask", ["-1e9", "1000.0", "-jnp.inf", "448.0"])
@pytest.mark.parametrize("predicate", ["jnp.tri(5) > 0", "a0 > 0"])
def test_a_mask_that_is_cast_to_f8_is_the_largest_number_there(target: str, mask: str, predicate: str) -> None:
    """The cast of a constant was no number, and so no mask: of what -1e9 is chosen beside its scale left zeros."""
    line = f"jnp.where({predicate}, a0.astype(jnp.{target}), {mask})"
    program = Program((Argument("a0", (5, 5), "float16"),), ((("v0",), line),), ("v0",))
    x = program.arguments[0].array(2)
    chosen = np.tri(5) > 0 if "tri" in predicate else x > 0
    plain = x.astype(getattr(ml_dtypes, target)).astype(np.float32)
    largest = np.float32(ml_dtypes.finfo(getattr(ml_dtypes, target)).max)
    saturated = np.clip(np.float32(float(mask.removeprefix("-jnp.").replace("inf", "-inf"))), -largest, largest)
    for scale in (0.25, 1, 4):
        split = Split((x.astype(np.float32) / scale).astype(np.float16), np.float32(scale))
        (result,) = Rewritten.of(program.lowered()).run([split])
        got = result.data.astype(np.float32)
        np.testing.assert_array_equal(got[chosen], plain[chosen])
        left = got[~chosen] / saturated.astype(getattr(ml_dtypes, target)).astype(np.float32)
        # docs/contract.md: 2^-8 of a mask at least.
        assert (left >= 2.0**-8).all() and (left <= 1).all()


@pytest.mark.parametrize("exponent", [8, 20])
@pytest.mark.parametrize("line", [
    "a0 / (jnp.abs(a0) + 1e-6)", "a0 / jnp.maximum(jnp.abs(a0), 1e-6)", "a0 / (jnp.sqrt(jnp.sum(a0 * a0)) + 1e-6)",
    "a0 / (-1e-6 - jnp.abs(a0))", "a0 * lax.rsqrt(a0 * a0 + 1e-6)", "a0 * (jnp.abs(a0) + 1e-6) ** -1",
    "a0 * (1 / (jnp.abs(a0) + 1))", "nn.soft_sign(a0)", "a0 / jnp.sqrt(1 + a0 * a0)", "jnp.log(jnp.abs(a0) + 1e-6)",
])  # fmt: skip
def test_what_keeps_a_divisor_from_zeros_in_f16(line: str, exponent: int) -> None:
    """At the scale of what it was added to nothing was left of it: 0 / 0, and the logarithm of 0."""
    program = Program((Argument("a0", (3,), "float16", "zeros"),), ((("v0",), line),), ("v0",))
    (result,) = Rewritten.of(program.lowered()).run([Split(np.zeros(3, np.float16), np.float32(2.0**exponent))])
    expected = np.full(3, np.log(1e-6) if "log" in line else 0.0)
    got = result.data.astype(np.float64) * (1.0 if result.scale is None else result.scale)
    np.testing.assert_allclose(got, expected, rtol=2.0**-9)


@pytest.mark.parametrize("exponent", [-20, -10, 0, 20, 30])
@pytest.mark.parametrize("line", [
    "(lambda n: a0 / jnp.where(n > 0, n, 1))(jnp.abs(a0))", "(lambda n: a0 / jnp.where(n <= 1e-7, 1, n))(jnp.abs(a0))",
    "(lambda n: a0 / jnp.where(0 == n, 0.5, n))(jnp.max(jnp.abs(a0), -1, keepdims=True))",
    "a0 / jnp.where(a0 == 0, 1, a0)",
])  # fmt: skip
def test_a_number_that_stands_in_for_zeros(line: str, exponent: int) -> None:
    """At its scale small tensors were nearly lost, and what is divided by them infinite; at theirs it was 0."""
    program = Program((Argument("a0", (2, 3), "float16"),), ((("v0",), line),), ("v0",))
    x = np.asarray([[1, -2, 0.5], [0, 0, 0]])
    (result,) = Rewritten.of(program.lowered()).run([Split(x.astype(np.float16), np.float32(2.0**exponent))])
    size = 2.0 if "max" in line else x[0] if line.endswith("a0)") else np.abs(x[0])
    expected = np.asarray([x[0] / size, np.zeros(3)])
    got = result.data.astype(np.float64) * (1.0 if result.scale is None else result.scale)
    np.testing.assert_allclose(got, expected, rtol=2.0**-9)


def test_a_number_that_stands_in_for_zeros_keeps_its_digits() -> None:
    """What is divided by it where the dividend is no zero."""
    arguments = Argument("a0", (3,), "float16"), Argument("a1", (3,), "float16")
    text = Program(arguments, ((("v0",), "a1 / jnp.where(a0 == 0, 3, a0)"),), ("v0",)).lowered()
    y = np.float16([1.5, -0.75, 1])
    for exponent in (-126, -20, 0, 8):
        splits = [Split(np.zeros(3, np.float16), np.float32(2.0**exponent)), Split(y, np.float32(1))]
        (result,) = Rewritten.of(text).run(splits)
        got = result.data.astype(np.float64) * (1.0 if result.scale is None else result.scale)
        np.testing.assert_allclose(got, y.astype(np.float64) / 3, rtol=2.0**-9)


@pytest.mark.parametrize("number", ["1e30", "-1e30", "1e9", "-1e9", "jnp.finfo(jnp.float32).min"])
@pytest.mark.parametrize("line", ["jnp.where(a0 > 0, a0, {})", "nn.softmax(jnp.where(a0 > -9, a0, {}))"])
def test_masks_that_f16_does_not_hold(line: str, number: str) -> None:
    """-1e30 was to be -4e27 at least: the scale for it left nothing of what it stood beside, and softmax was even."""
    assert _outcome(line.format(number), Argument("a0", (3, 5), "float16", "positive")) == "ok"


@pytest.mark.parametrize("values", ["normal", "zeros", "some zeros"])
@pytest.mark.parametrize("line", [
    "jnp.where(a0 > 0, a0, jnp.inf)", "jax.jvp(lambda z: jnp.where(z > 0, z, jnp.inf), (a0,), (jnp.ones_like(a0),))[1]",
    "jnp.minimum(jnp.where(a0 != 0, a0, 1e30), 1.0)",
])  # fmt: skip
def test_what_stands_for_zeros_and_is_no_divisor(line: str, values: str) -> None:
    """Infinity ended the process, and 1e30 in f32 had its own scale: the others were 0 where they became f16."""
    assert _outcome(line, Argument("a0", (3, 5), "float16", values)) == "ok"
    if "1e30" in line:
        narrowed = line.replace("a0", "a0.astype(jnp.float32)") + ".astype(jnp.float16)"
        assert _outcome(narrowed, Argument("a0", (3, 5), "float16", "normal")) == "ok"
