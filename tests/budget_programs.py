# ruff: noqa: B023 - what is defined in a loop is traced in it
"""For each constant of `scalify_hlo.budget` programs that are rewritten differently when it moves by a factor of 4.

Most come in two: one that is just within the constant and one that is just beyond, of which the one would be beyond
and the other within if it were four times smaller or larger.
"""

import functools
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from scalify_hlo import ScalifyOptions, rewrite_module
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.auto_rescale import AutoRescale
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.passes.size import Sizes

Function = Callable[..., Any]
# What is made of a module's text.
Rewriting = Callable[[str], str]


def program(function: Function, *types: str) -> str:
    """The StableHLO of a function of arguments of the given types, as "f32[4,8]"."""
    specs: list[Any] = []
    for each in types:
        element, shape = each.rstrip("]").split("[")
        dtype = {"f32": jnp.float32, "f16": jnp.float16, "bf16": jnp.bfloat16, "i32": jnp.int32}[element]
        specs.append(jax.ShapeDtypeStruct([int(n) for n in shape.split(",") if n], dtype))
    return jax.export.export(jax.jit(function, keep_unused=True))(*specs).mlir_module()


def _run(pipeline: Callable[[], Pipeline], text: str) -> str:
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        pipeline().run(module, [])
        return module.operation.get_asm(enable_debug_info=False)


def scalified(**options: Any) -> Rewriting:
    return lambda text: rewrite_module(text, ScalifyOptions(vector_scales=False, **options))


def in_precision(precision: str) -> Rewriting:
    return functools.partial(_run, functools.partial(precision_pipeline, precision))


def rescaled(text: str) -> str:
    return _run(lambda: Pipeline((AutoRescale(places=("gradients",)),)), text)


def products_rescaled(text: str) -> str:
    return _run(lambda: Pipeline((AutoRescale(places=("products",)),)), text)


def chains_rescaled(text: str) -> str:
    return _run(lambda: Pipeline((AutoRescale(places=("chains",)),)), text)


def sizes(text: str) -> str:
    return _run(lambda: Pipeline((Sizes(),)), text)


def aliased(text: str, *pairs: tuple[int, int]) -> str:
    """The text with results that take the place of arguments: (argument, result)."""
    for argument, result in pairs:
        text = re.sub(
            rf"(%arg{argument}: tensor<[^>]*>)( \{{[^}}]*\}})?",
            rf"\1 {{tf.aliasing_output = {result} : i32}}",
            text,
            count=1,
        )
    return text


Case = tuple[str, Rewriting]
_default = scalified()


def case(function: Function, *types: str, by: Rewriting = _default) -> Case:
    return program(function, *types), by


def _product(count: int) -> Function:
    def function(*xs: jax.Array) -> jax.Array:
        result = xs[0] * 0.2
        for x in xs[1:count]:
            result = result * (x * 0.2)
        return result

    return function


def _dots(count: int) -> Function:
    def function(x: jax.Array) -> jax.Array:
        for _ in range(count):
            x = x @ x
        return x

    return function


def _fixed_point(tolerance: float) -> Function:
    def function(x: jax.Array) -> jax.Array:
        def again(carried: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            return carried[1], jnp.tanh(0.5 * carried[1] + x)

        return lax.while_loop(lambda z: jnp.max(abs(z[1] - z[0])) > tolerance, again, (x, 0 * x))[1]

    return function


def _read_again(x: jax.Array) -> jax.Array:
    """What lies in memory: a product reads it, and what comes behind that."""
    return (x @ x) * x


def _chain(count: int) -> Function:
    def function(x: jax.Array, w: jax.Array) -> jax.Array:
        for _ in range(count):
            x = x @ w
        return x

    return function


def _layers(count: int) -> Function:
    def function(x: jax.Array, w: jax.Array) -> jax.Array:
        for _ in range(count):
            x = jnp.tanh(x @ w)
        return x

    return function


def _gradient_of_factors(count: int) -> Function:
    def loss(w: jax.Array, x: jax.Array, a: jax.Array) -> jax.Array:
        y = jnp.tanh(x @ w) @ w
        for i in range(count):
            y = y * (a + i)
        return jnp.mean(jnp.sin(y))

    def function(w: jax.Array, x: jax.Array, a: jax.Array) -> jax.Array:
        return w - 0.1 * jax.grad(loss)(w, x, a)

    return function


def _difference(power: int) -> Function:
    def function(x: jax.Array, y: jax.Array) -> jax.Array:
        d = jnp.sum(abs(x), 0) - jnp.sum(abs(x.T.reshape(x.shape)), 0)
        result = d * y
        for _ in range(power - 1):
            result = result * d
        return result

    return function


def _scan(body: Function, length: int = 8) -> Function:
    def function(x: jax.Array, y: jax.Array) -> jax.Array:
        return lax.scan(lambda carry, _: (body(carry, y), None), x, None, length=length)[0]

    return function


def _step(keep: float, enter: float, *types: str) -> Case:
    text = program(lambda m, g: m * keep + g * enter, *types)
    return aliased(text, (0, 0)), _default


def _schedule(total: float) -> Case:
    text = program(lambda m, g, b: m * b + g * (total - b), "f32[8]", "f32[8]", "f32[]")
    return aliased(text, (0, 0)), _default


def _shared_product(*xs: jax.Array) -> tuple[jax.Array, ...]:
    product = functools.reduce(lambda a, b: a * b, xs[2:])
    return product * xs[0] + xs[1], product * xs[1] + xs[0]


def _guarded_average(epsilon: float) -> Function:
    def function(m: jax.Array, g: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
        average = m * 0.9 + g * w * 0.1
        return average, average * average + epsilon

    return function


def _averages(factor: float) -> Function:
    def function(m: jax.Array, v: jax.Array, g: jax.Array) -> tuple[jax.Array, jax.Array]:
        g = jnp.reshape(jnp.reshape(g, (2, 4)), 8)
        return m * 0.9 + g * 0.1, v * 0.9 + (g * g) * factor * 0.1

    return function


# m' = 0.9 m + x^T tanh(x w), w' = w - m'
_MOMENTUM = """
func.func @main(%x: tensor<32x64xf16>, %w: tensor<64x16xf16>, %m: tensor<64x16xf16>)
    -> (tensor<64x16xf16>, tensor<64x16xf16>) {
  %decay = stablehlo.constant dense<0.9> : tensor<64x16xf16>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
     : (tensor<32x64xf16>, tensor<64x16xf16>) -> tensor<32x16xf16>
  %g = stablehlo.tanh %y : tensor<32x16xf16>
  %dw = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0]
     : (tensor<32x64xf16>, tensor<32x16xf16>) -> tensor<64x16xf16>
  %md = stablehlo.multiply %m, %decay : tensor<64x16xf16>
  %m2 = stablehlo.add %md, %dw : tensor<64x16xf16>
  %w2 = stablehlo.subtract %w, %m2 : tensor<64x16xf16>
  return %w2, %m2 : tensor<64x16xf16>, tensor<64x16xf16>
}
"""


def _stored_squares(v: jax.Array, g: jax.Array) -> jax.Array:
    return (v.astype(jnp.float32) * 0.999 + g * g * 0.001).astype(jnp.float16)


@functools.cache
def _training_step() -> Case:
    def step(w: Any, m: Any, x: Any, y: Any) -> Any:
        gradient = jax.grad(lambda w: jnp.mean(jnp.square(jnp.tanh(x @ w[0]) @ w[1] - y)))(w)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, gradient)
        return jax.tree.map(lambda w, m: w - 0.1 * m, w, m), m

    spec = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((8, 16), (16, 4))]
    batch = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((32, 8), (32, 4))]
    return jax.export.export(jax.jit(step))(spec, spec, *batch).mlir_module(), in_precision("fp8-fp16-state")


def _other_state(update: Function) -> Case:
    """A step of gradient descent with one more tensor of state; `update` gives the rate and its next value."""

    def step(w: Any, s: Any, c: Any, x: Any, y: Any) -> Any:
        g = jax.grad(lambda w: jnp.mean(jnp.square(jnp.tanh(x @ w) - y)))(w)
        rate, s = update(SimpleNamespace(s=s, w=w, g=g, c=c))
        return w - rate * g, s

    shapes = ((8, 16), (8, 16), (8, 16), (32, 8), (32, 16))
    specs = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    text = jax.export.export(jax.jit(step, keep_unused=True))(*specs).mlir_module()
    return aliased(text, (0, 0), (1, 1)), in_precision("fp8-fp16-state")


def _weights_of_terms(count: int) -> Case:
    """A step of gradient descent that carries weights of its terms, which it multiplies."""

    def step(w: Any, terms: Any, x: Any) -> Any:
        g = jax.grad(lambda w: jnp.mean(jnp.square(jnp.tanh(x @ w))))(w)
        return w - 0.1 * g, jnp.maximum(terms, terms * jnp.sum(jnp.abs(g)))

    return program(step, "f32[8,16]", f"f32[{count}]", "f32[32,8]"), scalified()


def _average_of_squares(forgets: float) -> Function:
    return lambda of: (0.1, (1 - forgets) * of.s + forgets * (of.g * of.g))


def _average_of_weights(forgets: float) -> Function:
    return lambda of: (0.1, (1 - forgets) * of.s + forgets * of.w)


def _distance(share: float) -> Function:
    """The distance of the weights from something that is state by the given share, and given anew by the rest."""
    return lambda of: (jnp.sqrt(jnp.sum(jnp.square(of.w - share * of.s - (1 - share) * of.c))), of.s)


def _factor_of_f64(exponent: int) -> str:
    return f"""
func.func @main(%x: tensor<8xf64>) -> tensor<8xf64> {{
  %c = stablehlo.constant dense<{2.0**exponent!r}> : tensor<8xf64>
  %0 = stablehlo.multiply %x, %c : tensor<8xf64>
  return %0 : tensor<8xf64>
}}
"""


@functools.cache
def cases() -> dict[str, list[Case]]:
    """Constant -> programs."""
    f8, h8 = "f32[8]", "f16[8]"
    return {
        "SLACK_NARROW": [case(lambda x, y: (x * a) * (y * 1.5), h8, h8) for a in (5, 7)],
        "SLACK_BESIDE_NARROW": [
            case(lambda x, y: (x @ y, x.astype(jnp.float16)), f"f32[4,{k}]", f"f32[{k},4]") for k in (32, 128)
        ],
        "ELEMENTWISE": [
            case(lambda x, y, z: (x @ y) * (y.T @ z), f"f32[4,{k}]", f"f32[{k},4]", f"f32[{k},4]") for k in (64, 256)
        ],
        "NEAR_UNIT": [
            case(lambda x: jnp.sum(abs(x) * 0.6), "f32[1024]"),
            case(lambda x: jnp.sum(x), "f32[16384]"),
        ],
        "HEADROOM": [case(_product(n), *[h8] * 4) for n in (3, 4)],
        "NARROWED": [case(lambda x: (x * a).astype(jnp.float16), f8) for a in (0.7, 3.0)],
        "FAR_PLAIN": [case(lambda x: jnp.arange(n, dtype=jnp.float32) * x, f"f32[{n}]") for n in (16, 128)],
        "FOLLOWS": [_other_state(_average_of_squares(forgets)) for forgets in (2.0**-12, 2.0**-10)],
        "FOLLOWS_STATE": [_other_state(_average_of_weights(forgets)) for forgets in (2.0**-6, 2.0**-4)],
        "MOST": [_other_state(_distance(share)) for share in (1.0, 0.25)],
        "FEW_NUMBERS": [_weights_of_terms(count) for count in (16, 17)],
        "FURTHEST_CONSTANT": [case(lambda x: x / a, f8) for a in (1e15, 1e30)],
        "FURTHEST_CONSTANT_SCALE": [case(lambda x: jnp.exp(x) * a, f8) for a in (1e18, 1e30)],
        "LARGEST_TERM": [case(lambda x: jnp.exp(x) + a, f8) for a in (5, 100)],
        "FACTOR_NARROW": [case(lambda x: x * a, h8) for a in (5, 20)],
        "GUARD": [case(lambda x: x * x + a, f8) for a in (1e-3, 4e-3)],
        "NEXT_TO_0": [
            case(lambda x: _read_again(1 / (a - jnp.tanh(x))), "f32[8,8]", by=in_precision("fp16"))
            for a in (1.004, 1.05)
        ],
        "BELOW_EPSILON": [case(lambda x: x * x + 1e-5, f8)],
        "FAR_EPSILON": [case(_guarded_average(a), f8, f8, f8) for a in (1e-15, 1e-5)],
        "MASK": [case(lambda x: jnp.where(x > 0, x, a), f8) for a in (-5000.0, -2000.0)],
        "MASK_LOSS": [case(lambda x: jnp.where(x > 0, x, -3e4), h8)],
        "MASK_ROOM": [case(lambda x: jnp.where(x > 0, x, -1e9), f8)],
        "COMPARED_BELOW": [case(lambda x: jnp.exp(x) * 2.0**20 > a, f8) for a in (2.0**12, 2.0**8)],
        "COMPARED_ABOVE": [case(lambda x: jnp.exp(x) * 2.0**20 > a, f8) for a in (2.0**33, 2.0**36)],
        "UNLIKE": [
            case(lambda x, c=c: x[:, 1:] * (x * np.float32([1, c]))[:, :1], "f32[8,2]", by=in_precision("fp16"))
            for c in (12, 24)
        ],
        "STEEP": [case(jnp.expm1, h8)],
        "LARGEST_POWER": [case(lambda x: lax.pow(x, jnp.full(8, a, jnp.float32)), f8) for a in (3, 6)],
        "SCALE_OF_F64": [(_factor_of_f64(exponent), _default) for exponent in (40, 100)],
        "NEXT_TO_NOTHING": [case(lambda x: jnp.abs(x) + a, f8) for a in (2.0**-97, 2.0**-95)],
        "FURTHEST_HIGH_POWER": [case(lambda x: lax.pow(x, jnp.full(8, 6, jnp.float16)), h8)],
        "HIGH_POWER_ERROR": [case(lambda x: lax.pow(x, jnp.full(8, 6, jnp.float16)), h8)],
        "LARGEST_PRODUCT": [case(lambda x: jnp.prod(jnp.exp(x) * 1024), f"f32[{n}]") for n in (8, 20)],
        "HIGHEST_POWER": [case(_dots(n), "f32[4,4]") for n in (3, 4, 5)],
        "FURTHEST_EXPONENT": [case(lambda x, y: (x * 2.0**a) * 1.5 + y, f8, f8) for a in (40, 60)],
        "MOST_FACTORS": [case(_shared_product, *[f8] * n) for n in (6, 11)],
        "SUMMED_SQUARES": [
            case(lambda x: jnp.sum(x * x, 0, dtype=jnp.float16), "f16[8,8]", by=scalified(statistics="own"))
        ],
        "ALIGNMENT": [case(lambda x, y: x @ y, "f16[4,256]", "f16[256,4]")],
        "FEW_TERMS": [case(lambda x, y: x @ y, f"f16[4,{n}]", f"f16[{n},4]") for n in (8, 16)],
        "CANCELLATION": [case(_difference(n), "f32[1024,8]", f8) for n in (2, 3)],
        "STAND_IN": [case(lambda x: jnp.where(x == 0, jnp.float16(1), x), h8)],
        "ABOVE_BOUND": [case(lambda x: 1 / (1 + jnp.abs(x)), h8)],
        "ABOVE_BOUND_OF_F32": [case(lambda x: (1 / (1 + jnp.abs(x))).astype(jnp.float16), f8)],
        "BELOW_DIVISOR": [case(lambda x: 1 / (1 + jnp.abs(x)), h8)],
        "LEAST_DIVISOR": [case(lambda x, y, z: ((x + y) / 3, z * z), f8, f8, h8)],
        "FLOOR": [case(lambda m, g, w: m * 0.9 + g * w * 0.1, f8, f8, f8)],
        "ZEROS": [_step(1, 0.1, f8, f8)],
        "LOOP_ZEROS": [case(lambda y: _scan(lambda c, y: c + y)(jnp.zeros(8), y), f8)],
        "HOLDS": [_step(1 - a, 0.1, f8, f8) for a in (2.5e-4, 1e-3)],
        "STATE_LEFT": [case(lambda m, g: m * a + jnp.tanh(g) * (1 - a), f8, f8) for a in (0.7, 0.4)],
        "ADDS_UP": [_schedule(a) for a in (1.0005, 1.002)],
        "ADDS_UP_RELATIVE": [
            case(lambda m, g: jnp.reshape(m * 0.9 + jnp.tanh(g) * a, (2, 4)), f8, f8) for a in (0.105, 0.12)
        ],
        "AVERAGE_GROWTH": [_step(0.99, 0.01, h8, h8)],
        "BLOCK": [case(lambda g, w, u: jnp.reshape(g + (g @ w) / u, (16, 2)), "f32[4,8]", "f32[8,8]", "f32[4,8]")],
        "LOOP_SLACK": [
            case(lambda x, y: _scan(lambda c, y: x @ y + c * 0)(jnp.zeros((4, 4)), y), f"f32[4,{k}]", f"f32[{k},4]")
            for k in (32, 1024)
        ],
        "LOOP_WINDOW": [case(lambda x, y: _scan(lambda c, _: c * 2)(x * y, y), h8, h8)],
        "AGREEING": [case(lambda y: _scan(lambda c, y: c + y, 256)(jnp.zeros(8), y).astype(jnp.float16), f8)],
        "FIRST_UPDATE": [_step(1, -0.1, "f16[4,8]", "f16[4,8]")],
        "UPDATE": [(_step(1, -0.1, "f32[4,8]", "f32[4,8]")[0], scalified(scale_dims="0=0"))],
        "AVERAGE_BELOW": [case(_averages(2.0**-a), f8, f8, f8) for a in (5, 10)],
        "AVERAGE_ABOVE": [case(_averages(2.0**a), f8, f8, f8) for a in (8, 14)],
        "AVERAGE_OF_SQUARES": [case(_stored_squares, h8, f8)],
        "SETTLED": [case(_scan(lambda c, y: c * a + y), f8, f8, by=sizes) for a in (0.7, 0.9)],
        "GROWING": [case(_scan(lambda c, y: c * a + y), f8, f8, by=sizes) for a in (1.05, 1.2)],
        "STEADY": [case(_scan(lambda c, y: c * a + y, 256), f8, f8, by=sizes) for a in (0.9997, 0.9985)],
        "SPARSE": [
            case(lambda i, x: (i[:, None] == jnp.arange(4)).astype(jnp.float16).T @ x, "i32[256]", "f16[256,8]"),
            case(lambda i, x: (i > 3).astype(jnp.float16).T @ x, "i32[1024,4]", "f16[1024,8]"),
        ],
        "EXTREME": [
            case(
                lambda x, y: _scan(lambda c, y: jnp.maximum(c, x @ y) * 0.9)(jnp.full((16, 16), -a), y) @ x,
                "f32[16,8]",
                "f32[8,16]",
                by=in_precision("fp16"),
            )
            for a in (200.0, 1000.0)
        ],
        "STATISTIC": [
            case(
                lambda x, w: jnp.sum(x @ w, -1, keepdims=True) * w,
                f"f32[{n},{n}]",
                f"f32[{n},{n}]",
                by=in_precision("fp16"),
            )
            for n in (16, 6)
        ],
        "RESCALE_HEADROOM_F16": [(_MOMENTUM, rescaled)],
        "ERRORS_OF_SMALL": [(program(_chain(n), "f32[3,3]", "f32[3,3]"), products_rescaled) for n in (2, 3)],
        "ERRORS_IN_F16": [(program(_chain(n), "f32[8,8]", "f32[8,8]"), products_rescaled) for n in (5, 8)],
        "PRODUCTS_IN_F16": [(program(_layers(n), "f32[8,8]", "f32[8,8]"), chains_rescaled) for n in (6, 12)],
        "FACTORS_IN_F16": [
            (program(_gradient_of_factors(n), "f32[8,8]", "f32[8,8]", "f32[8,8]"), products_rescaled) for n in (12, 24)
        ],
        "HIGHEST_DEGREE_IN_F16": [
            (program(lambda x, w, n=n: ((x @ w) ** n) @ w, "f32[8,8]", "f32[8,8]"), products_rescaled) for n in (2, 3)
        ],
        "TOLERANCE": [(program(_fixed_point(t), "f32[8,8]"), in_precision("fp16")) for t in (0.06, 0.02)],
        "MOMENTS_BELOW": [_training_step()],
        "STATE_NEAR": [_training_step()],
        "MASK_SHARE": [case(lambda x: jnp.sum((x > 0).astype(jnp.float32) * x), "f32[16384]")],
    }
