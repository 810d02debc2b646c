"""What jax-scalify, the paper's own implementation, gets wrong, and is right here.

Measured on jax-scalify f9aa9af with jax 0.4.33; the numbers in the names are those of the list of its wrong results.
Programs come from JAX as users write them, and are run on XLA:CPU.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo.bindings import ir
from scalify_hlo.execution.inputs import Split, recombine, split_by_exponent
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.options import ScalifyOptions
from tests.support import Rewritten, check_program, run_on_xla

SMALLEST = 2.0**-126
X = np.array([[0.5, -1.25, 3.0], [2.0, 0.75, -0.5]], np.float32)


def text_of(function: Callable[..., Any], *arguments: Any) -> str:
    """The StableHLO that JAX makes of a function."""
    lowered = jax.jit(function, keep_unused=True).lower(*arguments)
    module = lowered.compiler_ir("stablehlo")
    assert isinstance(module, ir.Module)
    return str(module)


def run(
    function: Callable[..., Any], splits: list[Split], options: ScalifyOptions = ScalifyOptions()
) -> list[np.ndarray]:
    """Results of the rewritten function, recombined in f64."""
    text = text_of(function, *(split.data for split in splits))
    return [recombine(r.data, r.scale) for r in Rewritten.of(text, options).run(splits, run_on_xla)]


def scaled(data: Any, exponent: float, dtype: Any = np.float32) -> Split:
    """(data, 2^exponent)."""
    return Split(np.asarray(data, dtype), np.float32(2.0**exponent))


# --- 1. NaN, because -inf was not seen to be indifferent to scale -----------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        jax.nn.softmax,
        jax.nn.log_softmax,
        lambda x: jax.nn.logsumexp(x, axis=1),
        lambda x: jnp.where(x > 0, x, -jnp.inf),
        lambda x: jax.nn.softmax(jnp.where(x > 0, x, -jnp.inf)),
        jnp.var,
        jnp.std,
        lambda x: jnp.where(x > 0, 0 * x, 0),
    ],
    ids=["softmax", "log_softmax", "logsumexp", "where_inf", "masked_softmax", "var", "std", "where_zeros"],
)
def test_1_infinities_and_zeros_make_no_nan(function: Callable[..., Any]) -> None:
    for exponent in (0, 3, -5):
        (got,) = run(function, [split_by_exponent(X, exponent)])
        np.testing.assert_allclose(got, np.asarray(function(X)), rtol=2e-6)


# --- 2. exp was listed as preserving zeros ----------------------------------------------------------------------


def test_2_exp_of_zeros_is_one() -> None:
    (got,) = run(lambda x: x + jnp.exp(jnp.zeros_like(x)), [split_by_exponent(X, 2)])
    np.testing.assert_array_equal(got, X + 1)
    (got,) = run(lambda x: x + jnp.exp(0 * x), [split_by_exponent(X, 2)])
    np.testing.assert_array_equal(got, X + 1)


# --- 3. conversion to integers took the data --------------------------------------------------------------------


def test_3_conversion_to_integers_takes_the_value() -> None:
    (got,) = run(lambda x: x.astype(jnp.int32), [scaled([0.25, 0.5, 0.75], 2)])
    np.testing.assert_array_equal(got, [1, 2, 3])


# --- 4. concatenate raised; plain and scaled could not meet -----------------------------------------------------


def test_4_concatenate() -> None:
    splits = [split_by_exponent(X, 3), split_by_exponent(X[:1], -4)]
    (got,) = run(lambda x, y: jnp.concatenate([x, y]), splits)
    np.testing.assert_array_equal(got, np.concatenate([X, X[:1]]))


@pytest.mark.parametrize("op", ["add", "divide", "maximum", "greater", "dot"])
@pytest.mark.parametrize("plain", [0, 1])
def test_4_a_plain_array_meets_a_scaled_one(op: str, plain: int) -> None:
    function = {"dot": lambda x, y: x @ y.T}.get(op, getattr(jnp, op))
    y = np.abs(X) + 1
    check_program(text_of(function, X, y), [X, y], options=ScalifyOptions(args=str(1 - plain)))


# --- 5. scales drifted with depth -------------------------------------------------------------------------------


def _network(parameters: list[jax.Array], x: jax.Array) -> jax.Array:
    """Blocks of layer norm, softmax attention over positions and an MLP: what made scales reach 2^123 at 6 layers."""
    for w in parameters:
        centred = x - x.mean(-1, keepdims=True)
        normed = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        x = x + jax.nn.softmax(normed @ normed.T / 4.0) @ normed
        x = x + jax.nn.gelu(x @ w) @ w.T
    return (x**2).mean()


def _gradients(layers: int, dtype: Any, exponent: int) -> tuple[list[Split], list[np.ndarray]]:
    """Gradients by weights of RMS 1/4, given as data * 2^exponent, from the rewritten program, and in f32."""
    generator = np.random.default_rng(0)
    width = 16
    size = width**-0.5 * 2.0**-exponent
    weights = [(generator.standard_normal((width, width)) * size).astype(dtype) for _ in range(layers)]
    splits = [Split(w, np.float32(2.0**exponent)) for w in weights]
    splits.append(Split(generator.standard_normal((8, width)).astype(dtype), np.float32(1)))
    gradient = jax.grad(lambda *a: _network(list(a[:-1]), a[-1]), argnums=tuple(range(layers)))
    pairs = Rewritten.of(text_of(gradient, *(s.data for s in splits))).run(splits, run_on_xla)
    values = [recombine(s.data, s.scale).astype(np.float32) for s in splits]
    return pairs, run_on_xla(text_of(gradient, *values), values)


def _check_gradients(layers: int, dtype: Any, exponent: int, largest_scale: float, tolerance: float) -> None:
    for pair, want in zip(*_gradients(layers, dtype, exponent), strict=True):
        assert pair.scale is not None
        assert np.isfinite(pair.data).all()
        assert 1 / largest_scale <= pair.scale <= largest_scale
        assert np.abs(recombine(pair.data, pair.scale) - want).max() < tolerance * np.abs(want).max()


@pytest.mark.parametrize("layers", [2, 4, 6, 12, 24])
@pytest.mark.parametrize("exponent", [0, -2], ids=["scales_1", "scales_of_the_weights"])
def test_5_gradients_do_not_drift_with_depth(layers: int, exponent: int) -> None:
    """With all scales 1 they reached 2^43, 2^83 and 2^123 at 2, 4 and 6 layers, and infinity at 8."""
    _check_gradients(layers, np.float32, exponent, 2.0**8, 1e-6)


_DRIFTS = pytest.mark.xfail(reason="f16: the stream grows by 2^5, which its scale does not follow, and gelu cubes it")


@pytest.mark.parametrize("layers", [2, 4, 6, pytest.param(12, marks=_DRIFTS)])
def test_5_gradients_in_f16_do_not_drift_with_depth(layers: int) -> None:
    _check_gradients(layers, np.float16, -2, 2.0**40, 0.05)


def test_5_gradients_in_f16_with_all_scales_1() -> None:
    """They were NaN at 2 layers."""
    _check_gradients(2, np.float16, 0, 2.0**40, 0.05)


# --- 6. zeros with scale 1 dominated every sum ------------------------------------------------------------------


def _adam(m: Any, v: Any, g: Any) -> Any:
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return m, v, (m / 0.1) / (jnp.sqrt(v / 0.001) + 1e-8)


@pytest.mark.parametrize(("zeros_exponent", "exponent"), [(-126, -17), (-126, 0), (-20, -7)])
def test_6_adam_in_f16_starts_from_zeros(zeros_exponent: int, exponent: int) -> None:
    """The squares of gradients of 2^-17 are no f16 numbers. The first step's update is the gradient's sign."""
    gradients = np.random.default_rng(0).standard_normal(256).astype(np.float16)
    zeros = scaled(np.zeros(256), zeros_exponent, np.float16)
    update = run(_adam, [zeros, zeros, scaled(gradients, exponent, np.float16)])[2]
    # 1e-8 is no f16 number: JAX exports a zero.
    assert np.mean(np.abs(update - np.sign(gradients)) > 0.1) < 0.02


def test_6_zeros_lose_every_maximum() -> None:
    small = np.array([1.0, -0.5, 0.25], np.float16)
    zeros = Split(np.zeros(3, np.float16), np.float32(SMALLEST))
    for function in (lambda x, y: x + y, jnp.maximum, lambda x, y: jnp.concatenate([x, y])):
        for splits in ([Split(small, np.float32(2.0**-40)), zeros], [zeros, Split(small, np.float32(2.0**-40))]):
            values = [recombine(s.data, s.scale) for s in splits]
            (got,) = run(function, splits)
            np.testing.assert_array_equal(got, np.asarray(function(*map(np.asarray, values)), np.float64))


# --- 7. products, powers, roots, logarithms ---------------------------------------------------------------------


def test_7_product_of_128_ones_at_scale_4() -> None:
    (got,) = run(jnp.prod, [scaled(np.full(128, 0.25), 2)])
    assert got == 1


@pytest.mark.parametrize("power", [2, 3, 8, 64, -3])
@pytest.mark.parametrize("exponent", [2, -2, 5])
def test_7_integer_powers_do_not_overflow_the_scale(power: int, exponent: int) -> None:
    x = np.array([1.0, -1.0, 0.75, 1.25], np.float32)
    (got,) = run(lambda x: x**power, [split_by_exponent(x, exponent)])
    np.testing.assert_allclose(got, x.astype(np.float64) ** power, rtol=2e-5)


def test_7_roots_make_powers_of_two() -> None:
    x = np.array([0.5, 2.0, 3.0], np.float32)
    for exponent in (1, 3, -5):
        for function in (jnp.sqrt, jax.lax.rsqrt, jnp.cbrt):
            splits = [split_by_exponent(x, exponent)]
            text = text_of(function, x)
            (pair,) = Rewritten.of(text).run(splits, interpret)
            assert pair.scale is not None
            assert np.frexp(pair.scale)[0] == 0.5


def test_7_logarithm_near_one_at_a_large_scale_in_f16() -> None:
    """The value 1.0007 is data 1.0007 * 2^-10 at scale 2^10: its logarithm is not 0."""
    x = np.array([1.0, 1.0009765625, 1.25, 3.0], np.float16)
    splits = [Split(x * np.float16(2.0**-10), np.float32(2.0**10))]
    (got,) = run(jnp.log, splits)
    np.testing.assert_allclose(got, np.log(x.astype(np.float64)), rtol=2.0**-10)


# --- 8. what surrounds the computation was dropped --------------------------------------------------------------


def test_8_matmuls_work() -> None:
    """Its tests stay green while every matmul is broken: none sends a dot through the transform."""
    y = X.T.copy()
    check_program(text_of(lambda x, y: x @ y, X, y), [X, y])
    check_program(text_of(lambda x, y: jnp.einsum("bij,bjk->bik", x, y), X[None], y[None]), [X[None], y[None]])


def test_8_donation_follows_the_results() -> None:
    """An argument donated to the second result goes with the data of that result."""
    function = jax.jit(lambda x, y: (x + y, x * 2), donate_argnums=0)
    text = str(function.lower(X, X).compiler_ir("stablehlo"))
    assert "tf.aliasing_output = 0" in text
    rewritten = Rewritten.of(text.replace("tf.aliasing_output = 0", "tf.aliasing_output = 1")).text
    assert "tf.aliasing_output = 2" in rewritten  # results: data 0, scale 0, data 1, scale 1


def test_8_custom_derivatives_are_kept() -> None:
    @jax.custom_vjp
    def clipped(x: jax.Array) -> jax.Array:
        return x

    clipped.defvjp(lambda x: (x, None), lambda _, g: (jnp.clip(g, -0.5, 0.5),))
    (got,) = run(jax.grad(lambda x: (3 * clipped(x)).sum()), [split_by_exponent(X, 2)])
    np.testing.assert_array_equal(got, np.full_like(X, 0.5))


def test_8_keyword_arguments() -> None:
    text = str(jax.jit(lambda x, *, gain: x * gain).lower(X, gain=X[0]).compiler_ir("stablehlo"))
    check_program(text, [X, X[0]])


def test_8_shardings_follow_their_data() -> None:
    """Arguments and results keep theirs; a scale is replicated."""
    text = """
func.func public @main(%x: tensor<4x2xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"})
    -> (tensor<4x2xf32> {mhlo.sharding = "{devices=[1,2]<=[2]}"}) {
  %0 = stablehlo.negate %x : tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}"""
    arguments, _, results = Rewritten.of(text).text.partition("->")
    for part, sharding in ((arguments, "{devices=[2,1]<=[2]}"), (results.partition(") {")[0], "{devices=[1,2]<=[2]}")):
        data, _, scale = part.partition('scalify.role = "data"')
        assert sharding in data
        assert "{replicated}" in scale and sharding not in scale


def test_8_custom_forward_derivatives_are_kept() -> None:
    @jax.custom_jvp
    def stepped(x: jax.Array) -> jax.Array:
        return jnp.round(x)

    stepped.defjvp(lambda primals, tangents: (stepped(*primals), 2.0 * tangents[0]))
    (got,) = run(jax.grad(lambda x: (3 * stepped(x)).sum()), [split_by_exponent(X, 2)])
    np.testing.assert_array_equal(got, np.full_like(X, 6.0))
