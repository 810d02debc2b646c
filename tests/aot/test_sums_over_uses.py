"""Gradients of weights that are used several times are summed over their uses before devices sum them, to the byte."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from scalify_hlo.aot.collectives import collectives
from scalify_hlo.aot.compiler import compile_for
from scalify_hlo.aot.hlo_text import parse
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from tests.aot.extra import needs_compiler

WIDTH, BATCH = 64, 128
ROWS = PartitionSpec("i")


def _layers(w: jax.Array, x: jax.Array) -> jax.Array:
    """Two layers of one weight, as in a universal transformer."""
    for _ in range(2):
        x = x + jnp.tanh(x @ w)
    return jnp.mean(jnp.square(x.astype(jnp.float32)))


def _recurrence(w: jax.Array, x: jax.Array) -> jax.Array:
    """Four steps of a recurrence that is written out."""
    h = jnp.zeros_like(x)
    for t in range(4):
        h = jnp.tanh(h @ w + jnp.roll(x, t, 1))
    return jnp.mean(jnp.square(h.astype(jnp.float32)))


def _twins(w: jax.Array, x: jax.Array) -> jax.Array:
    """Two views of an example, encoded by one weight."""
    left, right = jnp.tanh(x @ w), jnp.tanh(jnp.flip(x, 1) @ w)
    return jnp.mean(jnp.square((left - right).astype(jnp.float32)))


def _moved(loss: Callable[[jax.Array, jax.Array], jax.Array], kind: AxisType, dtype: Any, precision: str) -> int:
    """Bytes of tensors that a step of data parallel training sums over devices."""
    mesh = AbstractMesh((8,), ("i",), axis_types=(kind,))

    def step(w: jax.Array, x: jax.Array) -> jax.Array:
        return w - 0.125 * jax.grad(lambda w: loss(w.astype(dtype), x.astype(dtype)))(w)

    with jax.sharding.use_abstract_mesh(mesh):
        w = jax.ShapeDtypeStruct((WIDTH, WIDTH), np.float32, sharding=NamedSharding(mesh, PartitionSpec()))
        x = jax.ShapeDtypeStruct((BATCH, WIDTH), np.float32, sharding=NamedSharding(mesh, ROWS))
        text = jax.jit(step).trace(w, x).lower(lowering_platforms=("cuda",)).as_text()
    with make_context():
        module = ir.Module.parse(text)
        if precision:
            precision_pipeline(precision).run(module, [])
        found = collectives(parse(compile_for(module, target("h200")).text))
    assert {each.kind for each in found} == {"all-reduce"}
    return sum(each.size * each.times for each in found if each.size > 1024)


@needs_compiler
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize("loss", [_layers, _recurrence, _twins])
def test_a_weight_is_summed_over_devices_once(loss: Callable[..., jax.Array], kind: AxisType) -> None:
    moved = functools.partial(_moved, loss, kind)
    assert moved(jnp.bfloat16, "") == WIDTH * WIDTH * 2
    assert [moved(jnp.float32, precision) for precision in ("fp16", "fp8")] == [WIDTH * WIDTH * 2] * 2
