"""In f16, sums and what is computed of them row by row are in f32: data may be far from unit scaling."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo import rewrite_module
from scalify_hlo.bindings import ir
from scalify_hlo.engine.normal_form import to_normal_form
from scalify_hlo.engine.statistics_in_f32 import widen_statistics
from scalify_hlo.execution import xla
from scalify_hlo.execution.modules import as_module, operations
from scalify_hlo.execution.promote import promote_to_f64
from scalify_hlo.options import ScalifyOptions

SHAPE = (8, 64)


def _layer_norm(x: jax.Array) -> jax.Array:
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(jnp.square(centred), axis=-1, keepdims=True) + 1e-5)


def _rms_norm(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), axis=-1, keepdims=True) + 1e-5)


def _softmax(x: jax.Array) -> jax.Array:
    return jax.nn.softmax(x, axis=-1)


def _variance_norm(x: jax.Array) -> jax.Array:
    """jnp.var is a function of its own, with another in it, which returns NaN where no element is left."""
    return (x - jnp.mean(x, axis=-1, keepdims=True)) * jax.lax.rsqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-5)


def _deviation_norm(x: jax.Array) -> jax.Array:
    return (x - jnp.mean(x, axis=-1, keepdims=True)) / (jnp.std(x, axis=-1, keepdims=True) + 1e-3)


def _mapped_norm(x: jax.Array) -> jax.Array:
    """The NaN comes from outside the loop."""
    return jax.lax.map(_variance_norm, x)


FUNCTIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "softmax": _softmax,
    "variance_norm": _variance_norm,
    "deviation_norm": _deviation_norm,
    "mapped_norm": _mapped_norm,
}


def _gradient(name: str, dtype: str = "float16") -> str:
    def loss(x: jax.Array, weights: jax.Array) -> jax.Array:
        return jnp.sum(FUNCTIONS[name](x) * weights)

    spec = jax.ShapeDtypeStruct(SHAPE, dtype)
    return jax.export.export(jax.jit(jax.grad(loss)))(spec, spec).mlir_module()


def _inputs() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return generator.normal(size=SHAPE).astype(np.float16), generator.normal(size=SHAPE).astype(np.float16)


def _error(text: str, exponent: int, options: ScalifyOptions) -> float:
    """Of the gradient, relative and norm-wise, with data of x 2^exponent away from unit scaling, and x not."""
    x, weights = _inputs()
    data = np.ldexp(x, exponent)
    result, scale = xla.compile(rewrite_module(text, options))(
        [data, np.float32(2.0**-exponent), weights, np.float32(1)]
    )
    exact = np.ldexp(data.astype(np.float64), -exponent)
    (true,) = xla.compile(promote_to_f64(as_module(text)))([exact, weights.astype(np.float64)])
    with np.errstate(invalid="ignore"):
        difference = result.astype(np.float64) * scale - true
    return float(np.linalg.norm(difference) / np.linalg.norm(true))


@pytest.mark.parametrize("name", ["layer_norm", "rms_norm", "variance_norm"])
@pytest.mark.parametrize("exponent", [-10, -6, 0, 5])
def test_gradients_of_norms_bear_data_far_from_unit_scaling(name: str, exponent: int) -> None:
    assert _error(_gradient(name), exponent, ScalifyOptions()) < 2e-3


@pytest.mark.parametrize(
    ("name", "exponent"),
    [
        ("deviation_norm", -6),  # g / v is a full-size tensor in f16
        ("deviation_norm", 5),
        ("mapped_norm", -4),  # the forward loop stores v^(-3/2) in f16 for the backward one
        ("mapped_norm", 5),
    ],
)
def test_gradients_of_norms_that_keep_statistics_in_f16(name: str, exponent: int) -> None:
    assert _error(_gradient(name), exponent, ScalifyOptions()) < 2e-3


@pytest.mark.parametrize("name", ["layer_norm", "variance_norm", "deviation_norm"])
def test_it_is_needed(name: str) -> None:
    assert not _error(_gradient(name), -9, ScalifyOptions(statistics="own")) < 1


def test_statistics_that_functions_return_are_in_f32_at_every_call() -> None:
    def loss(x: jax.Array) -> jax.Array:
        return jnp.sum(x * jnp.var(x, axis=-1, keepdims=True) + jnp.tanh(x) * jnp.var(2 * x, axis=-1, keepdims=True))

    module = as_module(jax.export.export(jax.jit(loss))(jax.ShapeDtypeStruct(SHAPE, "float16")).mlir_module())
    functions = [ir.StringAttr(op.attributes["sym_name"]).value for op in module.body.operations]
    assert any(name.startswith("_var") for name in functions)
    with module.context, ir.Location.unknown(module.context):
        to_normal_form(module)
        widen_statistics(module)
    assert module.operation.verify()
    type_ = f"tensor<{SHAPE[0]}x1xf16>"
    variances = [op for op in operations(module) if [str(result.type) for result in op.results] == [type_]]
    assert not any(op.name in ("stablehlo.divide", "stablehlo.select") for op in variances)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_changes_in_exact_arithmetic(name: str) -> None:
    module, widened = (as_module(_gradient(name)) for _ in range(2))
    with widened.context, ir.Location.unknown(widened.context):
        widen_statistics(widened)
    widened.operation.verify()
    assert len(operations(widened)) != len(operations(module))
    arguments = [array.astype(np.float64) for array in _inputs()]
    results = [xla.compile(promote_to_f64(m))(arguments)[0] for m in (module, widened)]
    np.testing.assert_allclose(*results, rtol=1e-12)


def test_f32_programs_stay_as_they_are() -> None:
    module = as_module(_gradient("layer_norm", "float32"))
    before = str(module)
    with module.context, ir.Location.unknown(module.context):
        widen_statistics(module)
    assert str(module) == before


def test_full_size_tensors_stay_narrow() -> None:
    module = as_module(_gradient("layer_norm"))

    def wide_and_large() -> list[Any]:
        return [
            op for op in operations(module)
            if op.name in ("stablehlo.add", "stablehlo.subtract") and str(op.results[0].type) == "tensor<8x64xf32>"
        ]  # fmt: skip

    before = len(wide_and_large())
    with module.context, ir.Location.unknown(module.context):
        widen_statistics(module)
    assert len(wide_and_large()) == before


def test_squares_stay_squares() -> None:
    """A sum of squares grows like N: its rule has to see that both factors are one value."""
    module = as_module(_gradient("rms_norm"))
    with module.context, ir.Location.unknown(module.context):
        widen_statistics(module)
    squares = [
        op for op in operations(module)
        if op.name == "stablehlo.multiply" and op.operands[0] == op.operands[1] and "64xf32" in str(op.results[0].type)
    ]  # fmt: skip
    assert len(squares) == 1


# --- the optimiser ------------------------------------------------------------------------------------------------


def _adam_step() -> str:
    def step(w: jax.Array, m: jax.Array, v: jax.Array, x: jax.Array) -> Any:
        weights = jnp.asarray([2.0**-14] + 7 * [1.0], jnp.float16)
        g = jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) * weights))(w)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        return w - 0.5 * m / (jnp.sqrt(v) + 2.0**-24), m, v

    w, x = (jax.ShapeDtypeStruct(shape, "float16") for shape in ((16, 8), (4, 16)))
    return jax.export.export(jax.jit(step))(w, w, w, x).mlir_module()


def test_the_optimiser_is_in_f32_and_rounded_once() -> None:
    module = as_module(_adam_step())
    with module.context, ir.Location.unknown():
        widen_statistics(module)
        assert module.operation.verify()
    names = [op.name for op in operations(module) if len(op.results) and "f16" in str(op.results[0].type)]
    assert "stablehlo.tanh" in names and "stablehlo.convert" in names
    assert not {"stablehlo.sqrt", "stablehlo.divide"} & set(names)


def test_an_update_does_not_divide_by_a_second_moment_that_vanishes_in_f16() -> None:
    """g is 2^-14 of the others in one column, 0.001 g^2 zero in f16: the step would be m / 2^-24."""
    w, x = np.zeros((16, 8), np.float16), np.ones((4, 16), np.float16)
    one, zero, smallest = np.float32(1), np.zeros((16, 8), np.float16), np.float32(2.0**-126)
    sizes: list[float] = []
    for statistics in ("f32", "own"):
        program = xla.compile(rewrite_module(_adam_step(), ScalifyOptions(statistics=statistics)))
        new, scale, *_ = program([w, one, zero, smallest, zero, smallest, x, one])
        step = w - new.astype(np.float32) * scale
        # m / sqrt(v) = 0.1 g / sqrt(0.001 g^2), whatever g is
        np.testing.assert_allclose(step[:, 1:], 0.5 * 0.1 / np.sqrt(0.001), rtol=1e-2)
        sizes.append(float(np.abs(step[:, 0]).max()))
    assert sizes[0] == pytest.approx(0.5 * 0.1 / np.sqrt(0.001), rel=5e-2)  # and 2^-24
    assert sizes[1] > 10


@pytest.mark.parametrize("attributes", ["", ' {mhlo.frontend_attributes = {inlineable = "false"}}'])
def test_a_call_of_which_something_is_asked_stays(attributes: str) -> None:
    text = f"""
    func.func public @main(%x: tensor<4x8xf16>) -> tensor<4xf16> {{
      %0 = call @sums(%x){attributes} : (tensor<4x8xf16>) -> tensor<4xf16>
      return %0 : tensor<4xf16>
    }}
    func.func private @sums(%x: tensor<4x8xf16>) -> tensor<4xf16> {{
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.convert %x : (tensor<4x8xf16>) -> tensor<4x8xf32>
      %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1]
          : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
      %2 = stablehlo.convert %1 : (tensor<4xf32>) -> tensor<4xf16>
      return %2 : tensor<4xf16>
    }}"""
    assert ("call @sums" in rewrite_module(text)) == bool(attributes)


def test_a_loop_body_of_which_something_is_asked_stays() -> None:
    text = """
    func.func public @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
      %0 = stablehlo.while(%y = %x) : tensor<4xf32>
      cond {
        %c = stablehlo.constant dense<0> : tensor<i32>
        %1 = stablehlo.compare GT, %n, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      } do {
        %1 = func.call @body(%y) {mhlo.frontend_attributes = {_xla_compute_type = "host"}}
            : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %1 : tensor<4xf32>
      }
      return %0 : tensor<4xf32>
    }
    func.func private @body(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.sine %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }"""
    assert "_xla_compute_type" in rewrite_module(text)
