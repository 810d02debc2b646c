"""Exact numbers of kernels on an H200, of small training steps before and after: what costs one more is seen here."""

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.gpu_cost import model_text
from benchmarks.models.catalogue import MODELS
from scalify_hlo import as_scaled_array, rewrite_module, scalify
from scalify_hlo.aot.compiler import compile_for
from scalify_hlo.aot.cost import Cost, measure_cost
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.held_sums import HoldSums
from scalify_hlo.passes.joined_carries import JoinCarried
from scalify_hlo.passes.pipeline import Pipeline
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.passes.samples import Samples
from scalify_hlo.precision import Preset
from tests.aot.extra import needs_compiler
from tests.support import by_passes
from tests.test_packed_scales import APART, momentum_step, training_step

Step = Callable[[Any, Any], Any]


def _momentum(loss: Callable[[Any, Any], jax.Array]) -> Step:
    def step(state: Any, batch: Any) -> Any:
        w, m = state
        m = jax.tree.map(lambda m, g: 0.875 * m + g, m, jax.grad(loss)(w, batch))
        return jax.tree.map(lambda w, m: w - 0.125 * m, w, m), m

    return step


def _softmax(w: Any, batch: Any) -> jax.Array:
    x, labels = batch
    logits = x @ w["a"]
    chosen = jnp.take_along_axis(logits, labels[:, None], axis=-1)
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - chosen[:, 0])


def _normalised(w: Any, batch: Any) -> jax.Array:
    x = batch @ w["a"]
    x = (x - jnp.mean(x, -1, keepdims=True)) * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + 1e-5)
    return jnp.mean((jax.nn.gelu(x * w["gain"]) @ w["b"]) ** 2)


def _convolution(w: Any, batch: Any) -> jax.Array:
    x = jax.lax.conv_general_dilated(batch, w["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jnp.mean((jnp.mean(jax.nn.relu(x), (1, 2)) @ w["head"]) ** 2)


def _recurrence(w: Any, batch: Any) -> jax.Array:
    def cell(h: jax.Array, x: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh(x @ w["in"] + h @ w["hidden"]), None

    return jnp.mean(jax.lax.scan(cell, jnp.zeros((8, 16)), batch)[0] ** 2)


def _embedding(w: Any, batch: Any) -> jax.Array:
    return jnp.mean((w["table"][batch] @ w["a"]) ** 2)


def _zeros(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}


PROGRAMS: dict[str, tuple[Any, Any, Any]] = {
    "softmax": (_softmax, _zeros(a=(32, 64)), (np.zeros((16, 32), np.float32), np.zeros(16, np.int32))),
    "normalised": (_normalised, _zeros(a=(32, 64), gain=(64,), b=(64, 16)), np.zeros((16, 32), np.float32)),
    "convolution": (_convolution, _zeros(kernel=(3, 3, 8, 16), head=(16, 8)), np.zeros((2, 8, 8, 8), np.float32)),
    "recurrence": (_recurrence, _zeros(**{"in": (16, 16), "hidden": (16, 16)}), np.zeros((10, 8, 16), np.float32)),
    "embedding": (_embedding, _zeros(table=(64, 32), a=(32, 16)), np.zeros((4, 8), np.int32)),
}
# (kernels, scalar kernels and copies), original and rewritten, in f32.
COUNTS = {
    "softmax": ((8, 0), (8, 1)),
    "normalised": ((13, 0), (13, 1)),
    "convolution": ((11, 0), (12, 1)),
    "recurrence": ((178, 42), (192, 45)),
    "embedding": ((9, 0), (9, 1)),
}


def counts(cost: Cost) -> tuple[int, int]:
    return cost.kernels, cost.scalar_kernels + cost.copies


def text_of(name: str) -> str:
    loss, w, batch = PROGRAMS[name]
    return jax.export.export(jax.jit(_momentum(loss)))((w, w), batch).mlir_module()


def measured(text: str) -> Cost:
    with make_context():
        return measure_cost(ir.Module.parse(text), "h200").cost


@needs_compiler
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_kernels_of_a_step_before_and_after(name: str) -> None:
    text = text_of(name)
    assert (counts(measured(text)), counts(measured(rewrite_module(text)))) == COUNTS[name]


# (kernels, scalar kernels and copies, FP8 products, bytes) by precision.
NARROW_COUNTS = {"fp16": (23, 1, 0, 185572), "fp8": (22, 1, 2, 162928)}


@needs_compiler
@pytest.mark.parametrize("precision", list(NARROW_COUNTS))
def test_kernels_of_a_step_in_narrow_types(precision: str) -> None:
    """FP8 products write f16. No argument's scale has a kernel of its own; that of the logits' gradient has."""
    with make_context():
        module = ir.Module.parse(text_of("normalised"))
        elements = precision_pipeline(precision).elements
        given = (dataclasses.replace(each, given=True) if isinstance(each, FP8Dots) else each for each in elements)
        Pipeline(tuple(given)).run(module, [])
        found = measure_cost(module, "h200")
    assert (*counts(found.cost), found.cost.fp8_gemms, found.cost.bytes_accessed) == NARROW_COUNTS[precision]


@needs_compiler
def test_scalar_kernels_do_not_grow_with_the_number_of_tensors() -> None:
    """Twenty tensors of state: apart, a kernel for the new scale of each weight; together, none."""
    text = training_step()
    found = [counts(measured(each)) for each in (text, rewrite_module(text, APART), rewrite_module(text))]
    assert found == [(33, 0), (48, 15), (27, 0)]


@needs_compiler
def test_kernels_of_equal_layers_are_equal() -> None:
    """Each reads numbers of its own, not elements of one vector at its places: of 258 kernels 171 were unlike."""
    with make_context():
        program = compile_for(ir.Module.parse(rewrite_module(model_text(MODELS["llama"](4)))), target("h200"))
    bodies = re.findall(r"(?ms)^%(fused_[\w.]+) \([^\n]*\{\n(.*?)^\}", program.text)
    unlike = {_renamed(body) for _, body in bodies}
    assert (len(bodies), len(unlike)) == (139, 83)


def _renamed(body: str) -> str:
    """The text of a computation without its metadata, its values numbered in their order."""
    names: dict[str, str] = {}
    body = re.sub(r", (metadata|backend_config|sharding)=[^\n]*", "", body)
    return re.sub(r"%[\w.\-]+", lambda found: names.setdefault(found[0], str(len(names))), body)


@needs_compiler
@pytest.mark.parametrize(("layers", "kernels"), [(15, [(103, 0), (82, 0)]), (100, [(698, 0), (698, 8)])])
def test_more_scales_than_one_reduction_takes_are_few_kernels(layers: int, kernels: list[tuple[int, int]]) -> None:
    """Sixty tensors of state, and four hundred: some that fill a vector and some that take it apart."""
    text = training_step(layers=layers)
    assert [counts(measured(each)) for each in (text, rewrite_module(text))] == kernels


@needs_compiler
def test_a_step_under_the_decorator_has_the_kernels_of_the_exported_one() -> None:
    """Its arguments may have scales of zero: one operation keeps a vector of them above, (284, 121) one by one.

    The original has 208 kernels, the step exported and rewritten 163.
    """
    step, arguments = momentum_step(layers=30)
    traced = jax.jit(scalify(step)).trace(*as_scaled_array(arguments))
    assert counts(measured(traced.lower(lowering_platforms=("cuda",)).as_text())) == (161, 0)


def _stream(w: Any, x: Any) -> jax.Array:
    h = x @ w[0]
    for each in w[1:]:
        h = h + jnp.tanh(h / jnp.sqrt(jnp.mean(h**2, -1, keepdims=True) + 1e-3) @ each)
    return jnp.mean(h**2)


def stream_cost(width: int, precision: Preset | None, *dropped: type) -> tuple[int, int]:
    """Kernels and bytes of a step of a network of four blocks, without one of the passes."""
    w = [np.zeros((width, width), np.float32)] * 5
    exported = jax.export.export(jax.jit(_momentum(_stream)))((w, w), np.zeros((64, width), np.float32))
    cost = measure_cost(by_passes(exported.mlir_module(), precision, *dropped), "h200").cost
    return cost.kernels, cost.bytes_accessed


@needs_compiler
def test_a_residual_stream_is_written_once() -> None:
    """Without barriers each reader of the stream and of its gradient computes it again from all products.

    The original has 41 kernels and 943,104 bytes.
    """
    assert [stream_cost(32, None), stream_cost(32, None, HoldSums)] == [(42, 891512), (35, 968404)]


@needs_compiler
def test_a_parameter_is_measured_without_another_pass_over_it() -> None:
    """Computed from the new parameters, the statistic makes a kernel write them, which another one rounds."""
    assert [stream_cost(128, "fp8"), stream_cost(128, "fp8", Samples)] == [(56, 3321384), (57, 3779128)]


def loop_cost(*dropped: type) -> tuple[int, int]:
    """Kernels, and scalar kernels and copies, of the gradients of three batches, summed in a loop, in FP8."""
    w = [np.zeros((64, 64), np.float32)] * 4

    def step(w: Any, xs: Any) -> Any:
        def add(total: Any, x: Any) -> tuple[Any, None]:
            return jax.tree.map(jnp.add, total, jax.grad(_stream)(w, x)), None

        gradients = jax.lax.scan(add, [jnp.zeros_like(each) for each in w], xs)[0]
        return [a - 0.125 * b for a, b in zip(w, gradients, strict=True)]

    exported = jax.export.export(jax.jit(step))(w, np.zeros((3, 64, 64), np.float32))
    return counts(measure_cost(by_passes(exported.mlir_module(), "fp8", *dropped), "h200").cost)


@needs_compiler
def test_scales_that_a_loop_changes_are_one_kernel_and_no_copies() -> None:
    """Apart, each sum of gradients has a kernel and a copy of its scale in each of the three iterations."""
    assert [loop_cost(), loop_cost(JoinCarried)] == [(132, 10), (174, 35)]
