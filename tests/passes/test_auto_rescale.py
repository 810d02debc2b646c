"""`scalify-auto-rescale`: where gradients are rescaled, and that values stay."""

import collections
import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import scalify_hlo
from scalify_hlo import budget
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.engine.selection import SATURATES
from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution import xla
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.interpreter import interpret
from scalify_hlo.execution.signature import entry_signature
from scalify_hlo.in_place import scalify_in_place
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes import samples
from scalify_hlo.passes.auto_rescale import OF_VALUES, AutoRescale
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.precision_pipeline import passes_around_scalify
from scalify_hlo.precision import PRESETS
from scalify_hlo.rewrite import rewrite_module
from tests.training_programs import Style, forward_text, train_step_text

EVERYWHERE = AutoRescale(places=("branches", "logits", "gradients"))
PARAMETERS = 18
# XLA may leave out conversions to f16 and back.
ROUNDED = {"xla_allow_excess_precision": False}


def rescale(text: str, options: AutoRescale | None = None) -> tuple[str, list[Diagnostic]]:
    remarks: list[Diagnostic] = []
    with make_context():
        module = ir.Module.parse(text)
        (options or AutoRescale()).apply(module, remarks)
        module.operation.verify()
        return module.operation.get_asm(enable_debug_info=True), remarks


def places(remarks: list[Diagnostic]) -> collections.Counter[str]:
    return collections.Counter(r.message.split(", tensor")[0] for r in remarks if r.message.startswith("rescaled"))


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize(("style", "branches"), [("unrolled", 4), ("remat", 4), ("scan", 2)])
def test_twice_per_layer_once_at_the_logits_and_every_parameter(style: Style, branches: int, names: bool) -> None:
    text, remarks = rescale(train_step_text(style, names=names), EVERYWHERE)
    assert places(remarks) == {
        "rescaled: gradient that enters a residual branch": branches,
        "rescaled: gradient of the logits": 1,
        "rescaled: gradient that enters the optimiser": PARAMETERS,
    }
    assert text.count('"scalify.set_scaling"') == branches + 1 + PARAMETERS
    assert remarks[-1].message.endswith(f"({branches} branches, 1 logits, {PARAMETERS} gradients)")


@pytest.mark.parametrize("names", [True, False])
@pytest.mark.parametrize(("style", "layers"), [("unrolled", 2), ("scan", 1)])
def test_gradients_of_attention_scores_once_a_layer(style: Style, layers: int, names: bool) -> None:
    text, remarks = rescale(train_step_text(style, names=names), AutoRescale(places=("scores",)))
    assert places(remarks) == {"rescaled: gradient of attention scores": layers}
    # The scores of the sequence against itself, not the products with the values.
    assert set(re.findall(r'composite "scalify.set_scaling".* -> tensor<(.*?)>', text)) == {"4x16x16xf32"}


def test_by_default_gradients_of_parameters_are_left() -> None:
    _, remarks = rescale(train_step_text())
    assert sum(places(remarks).values()) == 5


# A layer whose gradient no static rule can foresee: the exponential makes it about 2^-10.
STEP = """
func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x16xf32>, %m: tensor<32x16xf32>)
    -> (tensor<32x16xf32>, tensor<32x16xf32>) {
  %decay = stablehlo.constant dense<0.9> : tensor<32x16xf32>
  %rate = stablehlo.constant dense<0.001> : tensor<32x16xf32>
  %far = stablehlo.constant dense<-7.0> : tensor<64x16xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %shifted = stablehlo.add %y, %far : tensor<64x16xf32>
  %g = stablehlo.exponential %shifted : tensor<64x16xf32>
  %dw = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
     : (tensor<64x32xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %md = stablehlo.multiply %m, %decay : tensor<32x16xf32>
  %m2 = stablehlo.add %md, %dw : tensor<32x16xf32>
  %step = stablehlo.multiply %m2, %rate : tensor<32x16xf32>
  %w2 = stablehlo.subtract %w, %step : tensor<32x16xf32>
  return %w2, %m2 : tensor<32x16xf32>, tensor<32x16xf32>
}"""


def arrays() -> list[np.ndarray[Any, Any]]:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(64, 32)).astype(np.float32)
    w = (generator.normal(size=(32, 16)) / 6).astype(np.float32)
    return [x, w, np.zeros((32, 16), np.float32)]


def test_without_scales_nothing_changes() -> None:
    text, _ = rescale(STEP, EVERYWHERE)
    for a, b in zip(xla.compile(STEP)(arrays()), xla.compile(text)(arrays()), strict=True):
        np.testing.assert_array_equal(a, b)


def moment_data(places: tuple[str, ...], statistic: Any = "l2") -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Data of the first moment in f16 after one step from zero, and its value."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(STEP)
        if places:
            AutoRescale(places=places, statistic=statistic).apply(module, [])
        Cast(precision="fp16-state", moments="f16").apply(module, [])
        scalify_in_place(module, ScalifyOptions())
        module.operation.verify()
        specs = entry_signature(module).arguments
        values: list[np.ndarray[Any, Any]] = []
        for i, scale in enumerate((1.0, 2.0**-3, 2.0**-126)):
            values += [(arrays()[i] / np.float32(scale)).astype(specs[2 * i].dtype), np.asarray(scale, np.float32)]
        results = xla.compile(module)(values)
    data = results[2].astype(np.float64)
    return data, data * float(results[3])


@pytest.mark.parametrize("statistic", ["l2", "max"])
def test_a_gradient_that_drifted_is_stored_at_unit_size(statistic: Any) -> None:
    exact = xla.compile(STEP)(arrays())[1].astype(np.float64)
    drifted, _ = moment_data(())
    assert np.sqrt(np.mean(drifted**2)) < 2.0**-7
    data, value = moment_data(("gradients",), statistic)
    size = np.sqrt(np.mean(data**2)) if statistic == "l2" else np.abs(data).max()
    assert 2.0**-5 < size < 2.0**2
    assert np.linalg.norm(value - exact) < 2e-3 * np.linalg.norm(exact)


@pytest.mark.parametrize(("places", "headroom"), [(("branches",), True), (("logits",), True), (("gradients",), False)])
def test_there_is_room_for_tails_where_the_backward_pass_is_to_be_in_f16(
    places: tuple[str, ...], headroom: bool
) -> None:
    """Presets rescale in f32, before the cast; the optimiser stays in f32."""
    sixteen = re.compile(r"constant dense<1\.600000e\+01> : tensor<f32>")
    own, _ = rescale(train_step_text(), AutoRescale(places=places))
    cast, _ = rescale(train_step_text(), AutoRescale(places=places, compute="f16"))
    assert "scalify.set_scaling" in own and not sixteen.search(own)
    assert bool(sixteen.search(cast)) is headroom


def test_a_large_gradient_is_measured_by_some_of_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "_LARGE", 0)
    monkeypatch.setattr(samples, "_FEWEST_ROWS", 0)
    monkeypatch.setattr(samples, "_ROW_STRIDES", range(8, 1, -1))
    places = ("scores", "logits", "branches")
    text, _ = rescale(train_step_text(), AutoRescale(places=places, compute="f16"))
    measured = re.findall(r"stablehlo.slice .*:\d+\].* : \(tensor<(\S+)xf32>\)", text)
    assert measured and text.count(SATURATES) == len(measured) < text.count('"scalify.set_scaling"')
    # In f32 nothing is beyond the type.
    assert SATURATES not in rescale(train_step_text(), AutoRescale(places=places))[0]


@pytest.mark.parametrize(("rows", "first", "last"), [(1024, 0, 1023), (197, 0, 196), (2048, 0, 2047)])
def test_the_first_and_the_last_row_are_measured(rows: int, first: int, last: int) -> None:
    """Losses of one token, a classifier's first or a decoder's last, have gradients there only."""
    sampled = _sampled_rows(rows)
    assert sampled is not None
    start, limit, stride = sampled
    found = list(range(start, limit, stride))
    assert found[0] == first and found[-1] == last and 8 <= stride <= 32


def test_all_rows_are_measured_where_they_are_few_or_none_divides_them() -> None:
    assert _sampled_rows(128) is None  # 127 is a prime number
    assert _sampled_rows(1024, others=1) is None
    assert _sampled_rows(1024, width=4) is None


def _sampled_rows(rows: int, others: int = 512, width: int = 1024) -> tuple[int, int, int] | None:
    """(start, limit, stride) of the rows of a tensor<others x rows x width> that are measured; None: all."""
    with make_context():
        module = ir.Module.parse(f"func.func @main(%x: tensor<{others}x{rows}x{width}xf32>) {{ return }}")
        block = module.body.operations[0].regions[0].blocks[0]
        with ir.InsertionPoint(block.operations[0]), ir.Location.unknown():
            sample = samples.sample_of_rows(block.arguments[0])
        if sample == block.arguments[0]:
            return None
        ends = ("start_indices", "limit_indices", "strides")
        start, limit, stride = (list(ir.DenseI64ArrayAttr(sample.owner.attributes[name])) for name in ends)
        assert (start[0], limit[0], stride[0], start[2], limit[2], stride[2]) == (0, others, 1, 0, width, 1)
        return start[1], limit[1], stride[1]


@pytest.mark.parametrize("largest", [1.0, 2.0**30, np.nan])
def test_what_a_sample_does_not_show_saturates(largest: float) -> None:
    """Rows that are measured are small, and another has an element that is beyond f16 at their scale."""
    text = """func.func @main(%x: tensor<4x4xf32>, %s: tensor<f32>) -> tensor<4x4xf16> {
  %0 = stablehlo.convert %x : (tensor<4x4xf32>) -> tensor<4x4xf16>
  %1 = stablehlo.composite "scalify.set_scaling" %0, %s {composite_attributes = {scalify.saturates},
    decomposition = @identity} : (tensor<4x4xf16>, tensor<f32>) -> tensor<4x4xf16>
  return %1 : tensor<4x4xf16>
}
func.func private @identity(%x: tensor<4x4xf16>, %s: tensor<f32>) -> tensor<4x4xf16> {
  return %x : tensor<4x4xf16>
}"""
    x = np.full((4, 4), 2.0**-6, np.float32)
    x[2, 3] = largest
    rewritten = rewrite_module(text, ScalifyOptions(args="0"))
    # x is given as (data, scale), s as a number: the scale that x is brought to.
    data, scale = interpret(rewritten, [x, np.float32(1), np.float32(2.0**-4)])
    assert scale == 2.0**-4
    expected = np.where(np.isnan(x), x, np.minimum(x * 2.0**4, 65504))
    np.testing.assert_array_equal(data.astype(np.float32), expected)


LEAVES = np.random.default_rng(0).integers(0, 4, (4, 8, 64))


def _likelihood(weights: Any, prior: Any, rates: Any) -> Any:
    """Probabilities of a tree's leaves, [4, 64], from what a layer gives: products of eight."""
    share = jnp.exp(-jnp.exp(rates @ weights / 5 - 2.5))[..., None, None]
    prior = jax.nn.softmax(prior)
    states = share * jnp.eye(4) + (1 - share) * prior  # [4, 14, 4, 4]
    found, first = jax.nn.one_hot(LEAVES, 4), 0
    while found.shape[1] > 1:
        count = found.shape[1]
        pairs = jnp.einsum("bnij,bnsj->bnsi", states[:, first : first + count], found)
        first, found = first + count, pairs[:, 0::2] * pairs[:, 1::2]
    return found[:, 0] @ prior


# d log(p q) = q dp / (p q): 1 / (p q) is as far below its estimate as q is above it
def test_what_cancels_the_error_of_a_size_is_not_measured() -> None:
    generator = np.random.default_rng(1)
    arguments = [np.float32(generator.normal(size=shape)) for shape in ((28, 14), (4,), (4, 28))]

    def gradients(*x: Any) -> Any:
        return jax.grad(lambda *x: -jnp.mean(jnp.log(_likelihood(*x))), (0, 1))(*x)

    remarks = rescale(jax.export.export(jax.jit(gradients))(*arguments).mlir_module(), AutoRescale(("logits",)))[1]
    assert not places(remarks)
    policy = dataclasses.replace(PRESETS["fp16"], rescaling=("logits",))
    scaled = jax.jit(scalify_hlo.scalify(gradients, precision=policy), compiler_options=ROUNDED)
    got = scaled(*scalify_hlo.as_scaled_array(arguments))
    for a, b in zip(got, jax.jit(gradients)(*arguments), strict=True):
        assert np.linalg.norm(np.asarray(a).astype(np.float64) - b) < 2e-3 * np.linalg.norm(b)


def test_the_presets_leave_it() -> None:
    before, _ = passes_around_scalify("fp8")
    assert before[1] == AutoRescale(places=("logits", *OF_VALUES), compute="f16")
    before, _ = passes_around_scalify("fp16")
    assert before[1] == AutoRescale(places=("logits", *OF_VALUES), logits_in_loops=False, compute="f16")
    before, _ = passes_around_scalify("bf16 rescaling=branches")
    assert before[1] == AutoRescale(places=("branches",), logits_in_loops=False)


def test_the_pass_reports_where() -> None:
    _, remarks = rescale(train_step_text())
    located = [r.location for r in remarks if "branch" in r.message and r.location]
    assert located and all(re.search(r"training_programs.py:\d+", where) for where in located)


def test_a_program_without_a_backward_pass_stays_as_it_is() -> None:
    text, remarks = rescale(forward_text(), AutoRescale(places=("branches", "scores", "logits", "gradients")))
    assert "scalify" not in text
    assert "nothing is rescaled: the module has no gradient" in remarks[0].message


@pytest.mark.parametrize(
    ("options", "text", "message"),
    [
        (
            AutoRescale(places=("layers",)),
            STEP,
            "unknown place 'layers'; known are branches, scores, logits, gradients",
        ),
        (AutoRescale(statistic="l3"), STEP, "unknown statistic 'l3'; known are l2, max"),  # type: ignore[arg-type]
    ],
)
def test_mistakes_get_one_line(options: AutoRescale, text: str, message: str) -> None:
    with pytest.raises(ScalifyError) as error:
        rescale(text, options)
    assert message in str(error.value) and "\n" not in str(error.value)


def _layers(count: int, gated: bool) -> Callable[..., Any]:
    """Products without a normalisation, with weights that add up."""

    def function(x: jax.Array, w: jax.Array) -> jax.Array:
        for _ in range(count):
            y = x @ w
            x = y * y if gated else y
        return x

    return function


@pytest.mark.parametrize(("count", "gated", "measured"), [(7, False, 0), (8, False, 1), (16, False, 2), (4, True, 2)])
def test_operands_of_products_of_more_estimates_than_f16_bears(count: int, gated: bool, measured: int) -> None:
    x, w = np.ones((4, 16), np.float32), np.full((16, 16), 1 / 4, np.float32)
    text = jax.export.export(jax.jit(_layers(count, gated)))(x, w).mlir_module()
    _, remarks = rescale(text, AutoRescale(places=("products",)))
    assert sum(places(remarks).values()) == measured
    assert not [r for r in remarks if "nothing is rescaled" in r.message]


@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
@pytest.mark.parametrize(("width", "negative", "count", "gated"), [(8, 0, 12, False), (16, 3, 5, True)])
def test_products_of_many_wrong_estimates_stay_within_the_range_of_f16(
    precision: str, width: int, negative: int, count: int, gated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes are 2^1.5, or 2^1.3, times what is estimated for each product: 2^18 and 2^82 in the end."""
    x, w = np.ones((4, width), np.float32), np.full((width, width), width**-0.5, np.float32)
    w[:negative] *= -1
    function = _layers(count, gated)
    exact = np.asarray(jax.jit(function)(x, w), np.float64)

    def run() -> Array:
        anew = functools.partial(function)  # a function is compiled once
        step = jax.jit(scalify_hlo.scalify(anew, precision=precision), compiler_options=ROUNDED)
        scaled = step(*map(scalify_hlo.as_scaled_array, (x, w)))
        return np.asarray(scaled.data, np.float64) * np.asarray(scaled.scale, np.float64)

    got = run()
    assert np.isfinite(got).all() and np.linalg.norm(got - exact) < 0.01 * np.linalg.norm(exact)
    monkeypatch.setattr(budget, "ERRORS_IN_F16", 10**6)
    monkeypatch.setattr(budget, "HIGHEST_DEGREE_IN_F16", 10**6)
    assert not np.isfinite(run()).all()


@pytest.mark.parametrize("precision", ["fp16", "fp16-state", "fp8"])
@pytest.mark.parametrize(
    "pooled",
    [
        lambda h: jnp.mean(h**4, axis=0, keepdims=True),  # a generalised mean
        lambda h: h * h * (1 + h) * h,
        lambda h: jnp.prod(jnp.stack([h, h + 1, h, h]), axis=0),
    ],
)
def test_powers_of_a_wrong_estimate_stay_within_the_range_of_f16(
    precision: str, pooled: Callable[[Array], Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Features that agree are 2^5 times what is estimated of them: the fourth power is 2^20."""
    x, w = np.ones((4, 1024), np.float32), np.full((1024, 1024), 1024**-0.5, np.float32)
    w[:, ::3] = 0

    def function(x: Array, w: Array) -> Array:
        return pooled(x @ w) @ w

    exact = np.asarray(jax.jit(function)(x, w), np.float64)

    def run() -> Array:
        anew = functools.partial(function)  # a function is compiled once
        scaled = scalify_hlo.scalify(anew, precision=precision)(*map(scalify_hlo.as_scaled_array, (x, w)))
        return np.asarray(scaled.data, np.float64) * np.asarray(scaled.scale, np.float64)

    got = run()
    assert np.isfinite(got).all() and np.linalg.norm(got - exact) < 0.06 * np.linalg.norm(exact)
    monkeypatch.setattr(budget, "HIGHEST_DEGREE_IN_F16", 10**6)
    assert not np.isfinite(run()).all()


@pytest.mark.parametrize("precision", ["fp16", "fp16-state"])
def test_iterations_of_products_towards_an_inverse_root_are_measured(precision: str) -> None:
    """P <- (3 P - P^3 S) / 2 cubes what is wrong of P, and S is the covariance over its trace, of variances alone."""
    x = np.random.default_rng(0).normal(size=(96, 24)).astype(np.float32)
    y = np.random.default_rng(1).normal(size=(96, 24)).astype(np.float32)

    def loss(x: jax.Array) -> jax.Array:
        covariance = x.T @ x / len(x)
        trace = jnp.trace(covariance)
        root = jnp.eye(24)
        for _ in range(5):
            root = 1.5 * root - 0.5 * root @ root @ root @ (covariance / trace)
        return jnp.mean(y * (x @ root) / jnp.sqrt(trace))

    exact = np.asarray(jax.jit(jax.grad(loss))(x), np.float64)
    step = jax.jit(scalify_hlo.scalify(jax.grad(loss), precision=precision), compiler_options=ROUNDED)
    scaled = step(scalify_hlo.as_scaled_array(x))
    got = np.asarray(scaled.data, np.float64) * np.asarray(scaled.scale, np.float64)
    assert np.linalg.norm(got - exact) < 0.01 * np.linalg.norm(exact)


@pytest.mark.parametrize(("powers", "measured"), [((3, 3), 1), ((2, 2), 0), ((3, 1), 1), ((1, 3), 0), ((4, 3), 1)])
def test_powers_that_cancel_in_a_quotient_are_measured(powers: tuple[int, int], measured: int) -> None:
    """Those of degree more than 2 on both sides, and of a dividend, for the divisor is 1 where they are small."""
    x, w = np.ones((4, 16), np.float32), np.ones((16, 16), np.float32)

    def function(x: Array, w: Array) -> Any:
        h = x @ w
        dividend, divisor = (jnp.prod(jnp.stack([h] * power), axis=0) for power in powers)
        return (dividend / (1 + divisor)) @ w

    text = jax.export.export(jax.jit(function))(x, w).mlir_module()
    _, remarks = rescale(text, AutoRescale(places=("products",)))
    assert sum(places(remarks).values()) == measured


def test_transformers_have_no_product_of_many_estimates() -> None:
    for text in (train_step_text(), forward_text()):
        _, remarks = rescale(text, AutoRescale(places=("products",)))
        assert not remarks


def test_of_what_is_spread_the_number_is_measured():
    """Coefficients that are arguments, as of optax's Muon: a broadcast of each was squared and summed, 32 x 32."""

    def step(w: jax.Array, c: jax.Array, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        g = jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) @ w - y) ** 2))(w)
        g = g / (jnp.linalg.norm(g) + 1e-8)
        for _ in range(2):
            a = g @ g.T
            g = c[0] * g + (c[1] * a + c[2] * (a @ a)) @ g
        return w - 0.1 * g, c

    rng = np.random.default_rng(0)
    w, x, y = (np.float32(rng.standard_normal(shape) / 5.7) for shape in ((32, 32), (16, 32), (16, 32)))
    arguments = scalify_hlo.as_scaled_array((w, np.float32([3.4, -4.8, 2.0]), x, y))
    scaled = scalify_hlo.scalify(step, precision="fp16")
    text = scaled.lower(*arguments).as_text()
    # Of the two iterations' matrices, and of one before them.
    assert len(re.findall(r"stablehlo\.abs %\w+ : tensor<32x32xf32>", text)) == 3
    np.testing.assert_allclose(
        np.asarray(scaled(*arguments)[0]), step(w, np.float32([3.4, -4.8, 2.0]), x, y)[0], atol=1e-2
    )
