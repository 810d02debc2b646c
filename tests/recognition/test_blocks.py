"""Blocks and their gradients are found however they are written, get the size that they have, and keep their values."""

import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from scalify_hlo import rewrite_module
from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir
from scalify_hlo.engine.normal_form import to_normal_form
from scalify_hlo.engine.rewriter import Attempt
from scalify_hlo.engine.signature import public_function
from scalify_hlo.execution import xla
from scalify_hlo.execution.inputs import rewritten_arguments, split_by_exponent
from scalify_hlo.execution.modules import as_module, operations
from scalify_hlo.execution.signature import pair_arguments
from scalify_hlo.module.chlo_composites import COMPOSITE, is_chlo_function, to_operations
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.recognition import find_laws
from scalify_hlo.recognition.blocks import find_blocks
from scalify_hlo.recognition.graph import Graph

Function = Callable[[Any], Any]
SHAPE = (16, 64)


def _layer_norm(x: Any) -> Any:
    centred = x - jnp.mean(x, -1, keepdims=True)
    return centred * jax.lax.rsqrt(jnp.mean(jnp.square(centred), -1, keepdims=True) + 1e-5)


def _layer_norm_by_var(x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)


def _rms_norm(x: Any) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def _batch_norm(x: Any) -> Any:
    centred = x - jnp.mean(x, 0)
    return centred / jnp.sqrt(jnp.mean(centred * centred, 0) + 1e-5)


def _causal_softmax(x: Any) -> Any:
    visible = jnp.tril(jnp.ones((x.shape[0], x.shape[1]), bool), k=x.shape[1] - x.shape[0])
    return jax.nn.softmax(jnp.where(visible, x, -jnp.inf))


def _softmax_by_reciprocal(x: Any) -> Any:
    e = jnp.exp(x - jax.lax.stop_gradient(x.max(-1, keepdims=True)))
    return e * (1 / e.sum(-1, keepdims=True))


BLOCKS: dict[str, tuple[str, Function]] = {
    "softmax": ("softmax", jax.nn.softmax),
    "causal": ("softmax", _causal_softmax),
    "by reciprocal": ("softmax", _softmax_by_reciprocal),
    "over rows": ("softmax", lambda x: jax.nn.softmax(x, axis=0)),
    "logsumexp": ("logsumexp", lambda x: jax.nn.logsumexp(x, axis=-1)),
    "log_softmax": ("logsumexp", jax.nn.log_softmax),
    "layer norm": ("normalisation", _layer_norm),
    "layer norm by var": ("normalisation", _layer_norm_by_var),
    "standardize": ("normalisation", jax.nn.standardize),
    "rms norm": ("normalisation", _rms_norm),
    "batch norm": ("normalisation", _batch_norm),
    "gelu": ("gelu", jax.nn.gelu),
    "gelu by erf": ("gelu", lambda x: jax.nn.gelu(x, approximate=False)),
    "silu": ("silu", jax.nn.silu),
    "silu, inline": ("silu", lambda x: x * (1 / (1 + jnp.exp(-x)))),
}
OTHERS: dict[str, Function] = {
    "x tanh(x)": lambda x: x * jnp.tanh(x),
    "mish": lambda x: x * jnp.tanh(jnp.log1p(jnp.exp(x))),
    "sigmoid(2 x)": lambda x: x * jax.nn.sigmoid(2 * x),
    "e / sum(e^2)": lambda x: jnp.exp(x) / jnp.sum(jnp.exp(x) * jnp.exp(x), -1, keepdims=True),
    "e / sum of others": lambda x: jnp.exp(x) / jnp.sum(jnp.exp(2 * x), -1, keepdims=True),
    "x / largest": lambda x: x / jnp.max(jnp.abs(x), -1, keepdims=True),
    "x / sum of squares": lambda x: x / jnp.sum(x * x, -1, keepdims=True),
    "another tensor's deviation": lambda x: jnp.sin(x) * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6),
}


def test_a_sum_of_exponentials_is_no_softmax() -> None:
    ops, _module = _main(_text(lambda x: jnp.sum(jnp.exp(x), -1)))
    assert find_laws(ops) == {}


def test_beside_a_logsumexp_other_gradients_of_exponentials_are_none() -> None:
    def both(x: Any) -> Any:
        e = jnp.exp(x)
        return jnp.log(jnp.sum(e, -1)) + jnp.sum(e * 3, -1)

    ops, _module = _main(_text(both))
    names = [law.block for law in find_laws(ops).values()]
    assert names.count("gradient of logsumexp") <= 1


def test_what_divides_by_a_cotangent_is_no_gradient() -> None:
    """A gradient is linear in it: a quantised activation is divided by the step."""

    def quantised(x: Any) -> Any:
        y = jax.nn.gelu(x)
        return y / (jnp.max(jnp.abs(y)) / 127)

    x = jax.ShapeDtypeStruct(SHAPE, np.float32)
    ops, _module = _main(jax.jit(quantised).lower(x).as_text())
    assert {law.block for law in find_laws(ops).values()} == {"gelu"}


def _with_gradient(function: Function) -> Callable[[Any, Any], Any]:
    def both(x: Any, cotangent: Any) -> Any:
        result, pull = jax.vjp(function, x)
        return result, pull(cotangent)[0]

    return both


@functools.cache
def _text(function: Function, dtype: Any = np.float32) -> str:
    x = jax.ShapeDtypeStruct(SHAPE, dtype)
    cotangent = jax.eval_shape(function, x)
    return jax.export.export(jax.jit(_with_gradient(function)))(x, cotangent).mlir_module()


@functools.cache
def _rewritten(function: Function, mode: Literal["all", "expansions"]) -> str:
    return rewrite_module(_text(function), ScalifyOptions(recognise=mode))


def _main(text: str) -> tuple[list[ir.Operation], ir.Module]:
    module = as_module(text)
    with module.context:
        to_operations(op for op in walk(module.operation) if op.name == COMPOSITE and is_chlo_function(op))
        to_normal_form(module)
    return [op.operation for op in public_function(module).regions[0].blocks[0].operations], module


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_and_their_gradients_are_found(name: str, dtype: str) -> None:
    expected, function = BLOCKS[name]
    ops, _module = _main(_text(function, dtype))
    assert [block.name for block in find_blocks(ops, Graph())] == [expected]
    found = {law.block for law in find_laws(ops).values()}
    assert found == {f"gradient of {expected}"} | ({expected} if expected != "logsumexp" else set())


# What the centred tensor is divided by or multiplied with, from the variance.
INVERSE_ROOTS: dict[str, Callable[[Any, Any], Any]] = {
    "c / sqrt(v)": lambda c, v: c / jnp.sqrt(v),
    "c (1 / sqrt(v))": lambda c, v: c * (1 / jnp.sqrt(v)),
    "c v**-0.5": lambda c, v: c * v**-0.5,
    "c / v**0.5": lambda c, v: c / v**0.5,
}


def _norm_by(inverse_root: Callable[[Any, Any], Any]) -> Function:
    def norm(x: Any) -> Any:
        centred = x - jnp.mean(x, -1, keepdims=True)
        return inverse_root(centred, jnp.mean(centred * centred, -1, keepdims=True) + 1e-5)

    return norm


@pytest.mark.parametrize("spelling", INVERSE_ROOTS)
def test_every_spelling_of_a_normalisation_has_as_many_blocks(spelling: str) -> None:
    found = _names_of_blocks(_norm_by(INVERSE_ROOTS[spelling]))
    assert found == _names_of_blocks(_norm_by(lambda c, v: c * jax.lax.rsqrt(v)))
    assert len(found) > 1


def _names_of_blocks(function: Function) -> list[str]:
    ops, _module = _main(_text(lambda x: x + 3 * function(x)))
    return sorted(law.block for law in find_laws(ops).values())


@pytest.mark.parametrize("name", OTHERS)
def test_what_only_looks_like_one_is_not(name: str) -> None:
    ops, _module = _main(_text(OTHERS[name]))
    assert find_laws(ops) == {}


@pytest.mark.parametrize("norm", [_rms_norm, _layer_norm])
def test_what_a_normalisation_takes_off_its_cotangent_is_smaller_by_the_root_of_its_length(norm: Function) -> None:
    """As large as the cotangent, it made gradients of a Llama twice as large, as estimated, in every block."""
    ops, _module = _main(_text(lambda x: x + 3 * norm(x)))  # the stream's sum takes the terms one by one
    laws = [law for law in find_laws(ops).values() if law.block == "gradient of normalisation"]
    assert {law.moments.rms for law in laws if law.moments is not None} == {1.0, SHAPE[-1] ** -0.5}


def _rms(x: Any) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(x, np.float64)))))


@pytest.mark.parametrize("name", BLOCKS)
def test_sizes_are_those_of_the_blocks(name: str) -> None:
    """Of a unit Gaussian, and a cotangent of one: the gradient of causal rows is furthest from its estimate."""
    _, function = BLOCKS[name]
    rng = np.random.default_rng(0)
    x = rng.normal(size=SHAPE).astype(np.float32)
    cotangent = rng.normal(size=jax.eval_shape(function, x).shape).astype(np.float32)
    result, gradient = jax.jit(_with_gradient(function))(x, cotangent)
    text = _text(function)
    rewritten = rewrite_module(text, ScalifyOptions(slack=0))
    program, original = xla.compile(rewritten), xla.compile(text)
    inputs = rewritten_arguments(
        [split_by_exponent(value, 0) for value in (x, cotangent)],
        pair_arguments(original.signature, program.signature),
        program.signature,
    )
    data, scale, gradient_data, gradient_scale = program(inputs)
    np.testing.assert_allclose(data * scale, result, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient_data * gradient_scale, gradient, rtol=1e-4, atol=1e-6)
    assert abs(np.log2(_rms(gradient_data))) <= 5, _rms(gradient_data)
    assert name in ("logsumexp", "log_softmax") or abs(np.log2(_rms(data))) <= 2.5, _rms(data)


@pytest.mark.parametrize("name", BLOCKS)
def test_values_stay_the_same(name: str) -> None:
    """Recognition changes which power of two a scale has; where a sum is formed on values, that is its rounding."""
    _, function = BLOCKS[name]
    text = _text(function)
    rng = np.random.default_rng(1)
    original = xla.compile(text)
    results: list[list[Any]] = []
    for mode in ("all", "expansions"):
        program = xla.compile(_rewritten(function, mode))
        rng = np.random.default_rng(1)
        shapes = [argument.shape for argument in jax.eval_shape(lambda: _arguments(function))]
        inputs = rewritten_arguments(
            [
                split_by_exponent(rng.normal(size=shape).astype(np.float32), k)
                for shape, k in zip(shapes, (3, -5), strict=True)
            ],
            pair_arguments(original.signature, program.signature),
            program.signature,
        )
        data, scale, gradient_data, gradient_scale = program(inputs)
        results.append([data * scale, gradient_data * gradient_scale])
    for recognised, as_written in zip(*results, strict=True):
        np.testing.assert_allclose(recognised, as_written, rtol=4e-6, atol=1e-7)


def _arguments(function: Function) -> list[Any]:
    x = jnp.zeros(SHAPE, jnp.float32)
    return [x, function(x)]


def test_it_adds_no_operation() -> None:
    for _, function in BLOCKS.values():
        counts = [sum(1 for _ in operations(as_module(_rewritten(function, mode)))) for mode in ("all", "expansions")]
        assert counts[0] <= counts[1] + 2, counts


@pytest.mark.parametrize("length", [64, 512])
def test_gradients_of_causal_attention_are_at_unit_size(length: int) -> None:
    """Rows with a large reciprocal sum have few elements, which moments of single operations do not know (2^4 off)."""

    def scores_to_values(scores: Any, values: Any) -> Any:
        visible = jnp.tril(jnp.ones((length, length), bool))
        return jax.nn.softmax(jnp.where(visible, scores, -jnp.inf)) @ values

    def gradient(scores: Any, values: Any, cotangent: Any) -> Any:
        return jax.vjp(scores_to_values, scores, values)[1](cotangent)[0]

    shapes = [(length, length), (length, 32), (length, 32)]
    specs = [jax.ShapeDtypeStruct(shape, np.float16) for shape in shapes]
    text = jax.export.export(jax.jit(gradient))(*specs).mlir_module()
    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=shape).astype(np.float16) for shape in shapes]
    sizes: dict[str, float] = {}
    for mode in ("all", "none"):
        program, original = xla.compile(rewrite_module(text, ScalifyOptions(recognise=mode))), xla.compile(text)  # type: ignore[arg-type]
        pairs = pair_arguments(original.signature, program.signature)
        data, scale = program(
            rewritten_arguments([split_by_exponent(a, 0) for a in arguments], pairs, program.signature)
        )
        sizes[mode] = float(np.log2(_rms(data)))
        assert np.isfinite(np.asarray(data, np.float32)).all() and scale > 0
    # Narrow data are not scaled up by the last 2^6 that an estimate would allow.
    assert abs(sizes["all"]) <= 6 and abs(sizes["all"]) <= abs(sizes["none"]) - 1, sizes


def test_what_was_found_in_a_discarded_attempt_at_a_loop_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its operations are erased; new ones may come to lie where they were, and would have had their sizes."""
    forgotten: list[int] = []
    discard = Attempt.discard

    def checked(attempt: Attempt) -> None:
        rewriter = attempt.rewriter
        inside = [value for value in attempt.journal if value in rewriter.laws]
        discard(attempt)
        assert not any(value in rewriter.laws for value in inside)
        forgotten.append(len(inside))

    def scan(x: Any) -> Any:
        # The first attempt takes the state to be zeros.
        return jax.lax.scan(lambda c, _: (c + 3 * _rms_norm(c + x), None), jnp.zeros_like(x), length=3)[0]

    monkeypatch.setattr(Attempt, "discard", checked)
    rewrite_module(jax.export.export(jax.jit(scan))(jax.ShapeDtypeStruct(SHAPE, np.float32)).mlir_module())
    assert any(forgotten)


def test_a_long_chain_of_reshapes_is_followed() -> None:
    """Longer than Python's limit on recursion."""
    shapes, value, lines = ("tensor<4x2xf32>", "tensor<2x4xf32>"), "%x", list[str]()
    for i in range(2000):
        lines.append(f"%r{i} = stablehlo.reshape {value} : ({shapes[i % 2]}) -> {shapes[(i + 1) % 2]}")
        value = f"%r{i}"
    lines.append(f"%e = stablehlo.exponential {value} : {shapes[0]}\nreturn %e : {shapes[0]}")
    body = "\n".join(lines)
    assert "exponential" in rewrite_module(f"func.func @main(%x: {shapes[0]}) -> {shapes[0]} {{\n{body}\n}}")
