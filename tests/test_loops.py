"""Scales and data stay in range in loops, in deep chains, in long products and at the ends of the range of scales."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import loop_drift
from benchmarks.loops import LOOPS, Loop, Sample, measure, measure_steps
from scalify_hlo.bindings import ir
from scalify_hlo.execution.inputs import Split, recombine, split_by_exponent
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.options import ScalifyOptions
from tests.support import Rewritten, run_on_xla, same_bits

COUNTS = (0, 1, 10, 100, 1_000, 10_000)
_X = np.array([1.0, -1.5, 0.75, 1.25], np.float32)


def by_name(loop: Loop) -> str:
    return loop.name


def check_range(sample: Sample) -> None:
    """Four binades at least from either end of f16, and the values are right."""
    assert sample.log2_largest <= 12.1, sample
    assert sample.log2_rms >= -10, sample
    assert abs(sample.log2_scale) <= 60, sample
    assert sample.error <= 2.0**-8 + 4 * sample.noise, sample


@pytest.mark.parametrize("loop", LOOPS, ids=by_name)
def test_f16_data_stay_in_range(loop: Loop) -> None:
    for sample in measure(loop, [n for n in COUNTS if 0 < n <= loop.iterations]):
        check_range(sample)


@pytest.mark.parametrize("loop", [loop for loop in LOOPS if not loop.drifts_in_steps], ids=by_name)
def test_f16_data_stay_in_range_in_repeated_steps(loop: Loop) -> None:
    """One iteration rewritten by itself, called with its own results."""
    for sample in measure_steps(loop, [n for n in COUNTS if 0 < n <= min(loop.iterations, 1_000)]):
        check_range(sample)


@pytest.mark.parametrize("rules", ["default", "paper"])
@pytest.mark.parametrize("loop", LOOPS, ids=by_name)
def test_f32_loops_have_the_same_bits(loop: Loop, rules: Any) -> None:
    text = loop.text(np.float32)
    rewritten = Rewritten.of(text, ScalifyOptions(rules=rules))
    for count in (0, 1, 2, 30):
        splits = [Split(np.asarray(count, np.int32), None), *loop.splits(np.float32)]
        values = [recombine(s.data, s.scale).astype(s.data.dtype) for s in splits]
        for pair, want in zip(rewritten.run(splits), interpret(text, values), strict=True):
            with np.errstate(over="ignore"):
                got = recombine(pair.data, pair.scale).astype(np.float32)
            assert same_bits(got, want).all(), (count, got, want)


@pytest.mark.parametrize("loop", [loop for loop in LOOPS if not loop.drifts_in_steps], ids=by_name)
def test_f32_scales_do_not_run_away(loop: Loop) -> None:
    """A carried scale that was compared without a factor of 2 took that factor in every iteration."""
    rewritten = Rewritten.of(loop.text(np.float32))
    for pair in rewritten.run([Split(np.asarray(300, np.int32), None), *loop.splits(np.float32)], run_on_xla):
        assert pair.scale is None or 2.0**-60 <= pair.scale <= 2.0**60


# --- long products ----------------------------------------------------------------------------------------------


def _check(function: Callable[..., Any], splits: list[Split], rtol: float = 0.0) -> None:
    """Rewritten on (data, scale) against the original on the values, on the reference interpreter."""
    values = [recombine(s.data, s.scale).astype(s.data.dtype) for s in splits]
    module = jax.jit(function).lower(*values).compiler_ir("stablehlo")
    assert isinstance(module, ir.Module)
    text = str(module)
    expected = interpret(text, values)
    rewritten = Rewritten.of(text)
    for pair, want in zip(rewritten.run(splits), expected, strict=True):
        assert pair.scale is not None
        assert np.isfinite(pair.scale), rewritten.text
        assert pair.scale > 0, rewritten.text
        got = recombine(pair.data, pair.scale)
        least = float(np.abs(want).max(initial=0.0)) * 2.0**-120  # may be lost beside the largest
        np.testing.assert_allclose(got, want, rtol=rtol, atol=least, err_msg=rewritten.text)


def _power_by_multiplying(x: Any) -> Any:
    result = x
    for _ in range(63):
        result = result * x
    return result


def _power_by_squaring(x: Any) -> Any:
    for _ in range(6):
        x = x * x
    return x


def _alternating(x: Any) -> Any:
    """x / x / x ... * x * x: back to x."""
    y = x
    for _ in range(40):
        y = y / x
    for _ in range(40):
        y = y * x
    return y


@pytest.mark.parametrize("exponent", [2, -2, 7])
@pytest.mark.parametrize(
    "function",
    [lambda x: x**64, _power_by_multiplying, _power_by_squaring, lambda x: x**-20, _alternating],
    ids=["power", "multiplied", "squared", "negative_power", "there_and_back"],
)
def test_x_to_the_64(function: Callable[..., Any], exponent: int) -> None:
    _check(function, [split_by_exponent(_X, exponent)], rtol=1e-5)


@pytest.mark.parametrize("size", [128, 5_000])
@pytest.mark.parametrize("exponent", [2, -3])
def test_product_of_many(size: int, exponent: int) -> None:
    """128 ones at scale 4: the scale of the product is no 4^128."""
    values = np.where(np.arange(size) % 2, 1.25, 0.8).astype(np.float32)
    _check(jnp.prod, [split_by_exponent(values, exponent)], rtol=1e-4)


def test_running_product() -> None:
    values = np.where(np.arange(64) % 2, 1.25, 0.8).astype(np.float32)
    _check(lambda x: jax.lax.cumprod(x), [split_by_exponent(values, 5)], rtol=1e-5)


# --- deep chains ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        lambda x, y: x + y,
        lambda x, y: jnp.maximum(x, -x) - 0.5 * y,
        lambda x, y: jnp.tanh(x) * y,
        lambda x, y: (x * y) / (1 + y * y),
        lambda x, y: jnp.where(x > y, x, y) * 0.5 + y,
        lambda x, y: jnp.sqrt(x * x + y * y),
    ],
    ids=["add", "maximum", "tanh", "rational", "select", "norm"],
)
@pytest.mark.parametrize("exponents", [(0, 0), (6, -3)])
def test_deep_chains_have_the_same_bits(step: Callable[..., Any], exponents: tuple[int, int]) -> None:
    def chain(x: Any, y: Any) -> Any:
        for _ in range(100):
            x = step(x, y)
        return x

    _check(chain, [split_by_exponent(_X, exponents[0]), split_by_exponent(np.flip(_X), exponents[1])])


# --- scales that multiply themselves out of sight ---------------------------------------------------------------


def _by_a_call(h: Any, w: Any, b: Any) -> Any:
    affine = jax.jit(lambda h: jnp.maximum(w @ h, -4.0) + b)
    return jax.lax.fori_loop(0, 100, lambda _, h: affine(affine(h)) * 0.25, h)


def _by_a_loop(h: Any, w: Any, b: Any) -> Any:
    def inner(h: Any) -> Any:
        return jax.lax.fori_loop(0, 2, lambda i, h: jnp.where(i == 0, w @ h, h) + b, h)

    return jax.lax.fori_loop(0, 100, lambda _, h: 0.25 * inner(h), h)


def _by_a_branch(h: Any, w: Any, b: Any) -> Any:
    def step(i: Any, h: Any) -> Any:
        return 0.25 * jax.lax.cond(i % 2 == 0, lambda: w @ h + b, lambda: w @ (h - b))

    return jax.lax.fori_loop(0, 100, step, h)


@pytest.mark.parametrize("function", [_by_a_call, _by_a_loop, _by_a_branch])
def test_scales_that_multiply_themselves_in_calls_loops_and_branches(function: Callable[..., Any]) -> None:
    """With weights of RMS 1/4 at scale 2^6 the scale grew by as much in each iteration."""
    w = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0].astype(np.float32) / 2
    for exponent in (0, 6):
        scales = [split_by_exponent(a, e) for a, e in ((_X, 0), (w, exponent), (_X / 4, 1))]
        _check(function, scales, rtol=1e-5)


# --- the ends of the range of scales ----------------------------------------------------------------------------


def _unit(exponent: int) -> Split:
    return Split(_X, np.float32(2.0**exponent))


@pytest.mark.parametrize(
    ("function", "exponents"),
    [
        (lambda x: -x, (126,)),
        (lambda x: -x, (-126,)),
        (lambda x, y: x * y, (126, -126)),
        (lambda x, y: x / y, (126, 126)),
        (lambda x, y: x / y, (-126, -126)),
        (lambda x, y: x * y, (-126, 120)),
        (lambda x, y: x + y, (126, -126)),
        (lambda x, y: x + y, (125, 125)),
        (lambda x, y: x - y, (-125, -126)),
        (lambda x, y: jnp.maximum(x, y), (126, -126)),
        (lambda x, y: x > y, (126, 126)),
        (lambda x: jnp.sqrt(jnp.abs(x)), (126,)),
        (lambda x: jnp.sqrt(jnp.abs(x)), (-125,)),
        (lambda x: jax.lax.rsqrt(jnp.abs(x)), (125,)),
        (lambda x: jax.lax.rsqrt(jnp.abs(x)), (-126,)),
        (lambda x, y: x * x * y * y, (60, -60)),
        (lambda x, y: x @ y, (100, -100)),
        (lambda x: x.mean(), (120,)),
        (lambda x: jnp.where(x > 0, x, 0), (-126,)),
        (lambda x, y: jnp.concatenate([x, y]), (126, 100)),
        (lambda x: jnp.log(jnp.abs(x)), (126,)),
        (jnp.tanh, (126,)),
        (lambda x: jnp.clip(x, -1, 1), (126,)),
    ],
)
def test_scales_at_the_ends_of_their_range(function: Callable[..., Any], exponents: tuple[int, ...]) -> None:
    def as_float(*arguments: Any) -> Any:
        result = function(*arguments)
        return result.astype(jnp.float32) * arguments[0] if result.dtype == bool else result

    _check(as_float, [_unit(e) for e in exponents])


# --- the benchmark ----------------------------------------------------------------------------------------------


def test_drift_benchmark_measures_every_variant(tmp_path: pathlib.Path) -> None:
    out = tmp_path / "drift.json"
    result = CliRunner().invoke(loop_drift.main, ["--loops", "exchange", "--out", str(out)])
    assert result.exit_code == 0, result.output
    record = json.loads(out.read_text())
    assert [row["options"] for row in record["rows"]] == [name for name in loop_drift.VARIANTS for _ in range(2)]
    assert [len(row["samples"]) for row in record["rows"][:2]] == [5, 4]  # as a loop, in steps
    assert result.output.count("| exchange |") == 2 * len(loop_drift.VARIANTS)


def test_drift_benchmark_refuses_unknown_loops() -> None:
    result = CliRunner().invoke(loop_drift.main, ["--loops", "no_such_loop"])
    assert result.exit_code == 2
    assert "no loop is called no_such_loop" in result.output
