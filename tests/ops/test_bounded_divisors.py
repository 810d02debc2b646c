"""Quotients by what cannot come near 0: elements next to the bound are the largest ones, and fit f16."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from scalify_hlo import ScaledArray, scalify
from scalify_hlo.analysis.intervals import guarded_divisor, interval
from scalify_hlo.bindings import ir
from scalify_hlo.execution.inputs import Split, recombine
from tests.budget_programs import program
from tests.support import Rewritten, parse

# Next to 0 beside numbers of about the scale.
_Z = np.asarray([0.0, 1e-3, 0.4, 1.0, 5.0, 60.0, 128.0, 300.0], np.float64)


def _gradient(function):
    return jax.grad(lambda z: jnp.sum(function(z).astype(jnp.float32)))


@pytest.mark.parametrize("function", [
    lambda z: 1 / (1 + z * z), lambda z: lax.rsqrt(1 + z * z), lambda z: z / (1 + jnp.abs(z)),
    lambda z: 1 / (-0.5 - jnp.square(z)), lambda z: lax.pow(1 + z * z, jnp.full_like(z, -1)),
    _gradient(lambda z: lax.rsqrt(1 + z * z)), _gradient(lambda z: z / (1 + jnp.abs(z))),
    _gradient(lambda z: 1 / (1 + z * z)), lambda z: 1 / jnp.maximum(z, 0.25) ** 2,
])  # fmt: skip
@pytest.mark.parametrize("exponent", [0, 4, 6, 7])
def test_what_is_next_to_the_bound_fits(function, exponent: int) -> None:
    """At the scale of a z of 2^7 the elements at 0 were 2^14, and their products infinite."""
    rewritten = Rewritten.of(program(function, "f16[8]"))
    scale = np.float32(2.0**exponent)
    z = (_Z * 2.0 ** (exponent - 8)).astype(np.float16)
    split = Split((z.astype(np.float64) / scale).astype(np.float16), scale)
    (got,) = rewritten.run([split])
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(function)(recombine(split.data, split.scale).astype(np.float64)))
    value = recombine(got.data, got.scale).astype(np.float64)
    assert np.isfinite(got.data).all()
    np.testing.assert_allclose(value, expected, rtol=0, atol=np.abs(expected).max() * 2.0**-9)


@pytest.mark.parametrize(("function", "low", "high"), [
    (lambda x: 2 + jnp.abs(x), 2.0, np.inf), (lambda x: 3 - jnp.exp(x), -np.inf, 3.0),
    (lambda x: 0.5 + jnp.square(jnp.tanh(x)), 0.5, 1.5), (lambda x: jnp.maximum(x, 0.5) * 4, 2.0, np.inf),
    (lambda x: lax.clamp(-1.0, x, 2.0) * -3, -6.0, 3.0), (lambda x: 1 / (2 + x * x), 0.0, 0.5),
    (lambda x: lax.select(x > 0, jnp.sin(x), jnp.full_like(x, 2.0)), -1.0, 2.0),
    (lambda x: jnp.sqrt(4 + jnp.abs(x)), 2.0, np.inf),
    (lambda x: x * x - 1, -1.0, np.inf), (lambda x: -(1 + lax.logistic(x)), -2.0, -1.0),
    (lambda x: jnp.minimum(jnp.cos(x), 0.25).reshape(2, 4), -1.0, 0.25), (lambda x: x + 1, -np.inf, np.inf),
    (lambda x: jnp.log1p(jnp.exp(x)), 0.0, np.inf), (lambda x: jnp.full_like(x, -3.0), -3.0, -3.0),
    (lambda x: (1 + x) / (1 - jnp.tanh(x)), -np.inf, np.inf), (lambda x: lax.integer_pow(x, 2) ** 2, 0.0, np.inf),
    (lambda x: (jnp.abs(x) + 1) / -(jnp.exp(x) + 2), -np.inf, 0.0),
    (lambda x: lax.clamp(1.0, x, 2.0) / lax.clamp(4.0, x, 8.0), 0.125, 0.5),
    (lambda x: lax.clamp(1.0, x, 2.0) / lax.clamp(-1.0, x, 2.0), -np.inf, np.inf),
    (lambda x: lax.clamp(1.0, x, 2.0) / lax.clamp(0.0, x, 4.0), 0.25, np.inf),
    (lambda x: lax.clamp(-1.0, x, 2.0) * lax.clamp(-3.0, x, 1.0), -6.0, 3.0),
    (lambda x: lax.pow(lax.clamp(-3.0, x, 1.0), jnp.full_like(x, 2)), 0.0, 9.0),
    (lambda x: lax.pow(lax.clamp(-3.0, x, 1.0), jnp.full_like(x, 3)), -np.inf, np.inf),
    (lambda x: lax.pow(x, jnp.full_like(x, 4)), 0.0, np.inf), (lambda x: x - jnp.tanh(x[::-1]), -np.inf, np.inf),
    (lambda x: lax.clamp(1.0, x, 2.0) - lax.clamp(-3.0, x, 1.0), 0.0, 5.0),
    (lambda x: jnp.abs(lax.clamp(-3.0, x, 1.0)), 0.0, 3.0), (lambda x: jnp.abs(lax.clamp(-3.0, x, -1.0)), 1.0, 3.0),
    (lambda x: jnp.sqrt(lax.clamp(4.0, x, 9.0)), 2.0, 3.0), (lambda x: 1 + jnp.sum(x * x), 1.0, np.inf),
    (lambda x: jnp.max(x * x), -np.inf, np.inf), (lambda x: jnp.sum(-jnp.abs(x)) - 2, -np.inf, -2.0),
    (lambda x: lax.select(x > 1e9, jnp.full_like(x, jnp.nan), jnp.abs(x)), 0.0, np.inf), (jnp.sum, -np.inf, np.inf),
])  # fmt: skip
def test_intervals(function, low: float, high: float) -> None:
    """As narrow as constants allow, and no element of values of any size is outside."""
    module = parse(program(function, "f32[8]"))
    block = module.body.operations[0].regions[0].blocks[0]
    *_, terminator = block.operations
    got = interval(ir.Value(terminator.operation.operands[0]))
    assert got == (low, high)
    x = np.random.default_rng(0).standard_normal(8).astype(np.float32)
    for scale in (0.0, 1e-3, 1.0, 30.0):
        value = np.asarray(function(jnp.asarray(x * scale, jnp.float32)), np.float64)
        assert ((value >= got[0]) & (value <= got[1])).all()


@pytest.mark.parametrize(("function", "slope"), [
    (lambda x: 1 / (x + 0.25), 16.0), (lambda x: 1 / ((x + 0.25) * (x + 0.25)), None),
    (lambda x: 1 / lax.square(x + 0.25), 256.0), (lambda x: 1 / (jnp.reshape(x + 0.25, (2, 4))), 16.0),
    (lambda x: lax.rsqrt(x + 0.25), 4.0), (lambda x: 1 / (0.5 + x * x), 4.0),
    (lambda x: 1 / jnp.maximum(x, 0.25), 16.0),
    (lambda x: lax.pow(x + 0.25, jnp.full_like(x, -2)), 128.0), (lambda x: 1 / (x - 0.25), None),
    (lambda x: 1 / x, None), (lambda x: x / 0.25, None), (lambda x: jnp.tanh(x + 0.25), None),
])  # fmt: skip
def test_how_steep_a_guarded_quotient_is(function, slope: float | None) -> None:
    """The most that 1 / p, or its root or power, changes where p is what keeps it from 0 alone."""
    module = parse(program(function, "f32[8]"))
    block = module.body.operations[0].regions[0].blocks[0]
    *_, last, _ = [each.operation for each in block.operations]
    found = guarded_divisor(last)
    assert (None if found is None else found.slope) == slope


def test_an_operation_that_has_a_name_of_its_own_as_an_attribute() -> None:
    """A composite was asked for its name and gave that one."""
    text = program(lambda x: 1 / (2 + lax.composite(lambda y: y * y, "my.square")(x)), "f16[8]")
    assert "stablehlo.composite" in text
    (got,) = Rewritten.of(text).run([Split(np.arange(8, dtype=np.float16), np.float32(1))])
    np.testing.assert_allclose(recombine(got.data, got.scale), 1 / (2 + np.arange(8.0) ** 2), rtol=2e-3)


@pytest.mark.parametrize("function", [
    lambda z: z / (0.25 + jnp.abs(z)), lambda z: z * 2 / (1e-4 + jnp.abs(z)), lambda z: 1 / (1e-4 + jnp.abs(z)),
])  # fmt: skip
def test_a_guard_and_what_vanishes_with_the_divisor_move_no_scale(function) -> None:
    """Bounded by c alone the scale of z / (c + |z|), which is 1 at most, would be 2^7 too large for all."""
    rewritten = Rewritten.of(program(function, "f16[4]"))
    (got,) = rewritten.run([Split(np.asarray([1.0, -2.0, 0.5, 1.5], np.float16), np.float32(16.0))])
    assert got.scale in (2.0, 1.0, 0.0625)


# x / sqrt(v + e) is x * (1 / sqrt(v + e)) to XLA
@pytest.mark.parametrize("function", [
    lambda x: (x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-5),
    lambda x: x / jnp.sqrt(jnp.mean(x * x, 1, keepdims=True) + 1e-6),
    lambda x: x * lax.rsqrt(jnp.mean(x * x, 1, keepdims=True) + 1e-6),
])  # fmt: skip
@pytest.mark.parametrize("exponent", [0, 6, 8, 10])
def test_a_row_of_zeros_is_normalised_to_zeros(function, exponent: int) -> None:
    """Beside rows of 2^8 the inverse of what its root is in f16 was infinite, and 0 * inf NaN."""
    data = np.asarray([[1, -0.5, 0.7, 0.2], [0, 0, 0, 0], [0.01, -0.01, 0.02, 0]], np.float16)
    given = ScaledArray(jnp.asarray(data), jnp.float32(2.0**exponent))
    got = np.asarray(scalify(function)(given).to_array(np.float32))
    with jax.enable_x64(True):
        expected = np.asarray(jax.jit(function)(data.astype(np.float64) * 2.0**exponent))
    np.testing.assert_allclose(got, expected, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize("guard", [1e-5, 1e-4])
@pytest.mark.parametrize("exponent", [0, 2])
def test_an_inverse_root_of_a_guard_is_above_that_of_the_least_normal_number(guard: float, exponent: int) -> None:
    """Its operand was raised as far as a divisor has to be: 1 / sqrt(2^-15) for 1 / sqrt(1e-5)."""
    rewritten = Rewritten.of(program(lambda x: lax.rsqrt(x * x + guard), "f16[4]"))
    data = np.asarray([0.0, 1e-3, 0.5, 1.0], np.float16)
    (got,) = rewritten.run([Split(data, np.float32(2.0**exponent))])
    expected = 1 / np.sqrt((data.astype(np.float64) * 2.0**exponent) ** 2 + guard)
    np.testing.assert_allclose(recombine(got.data, got.scale).astype(np.float64), expected, rtol=0.03)
