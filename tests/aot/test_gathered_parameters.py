"""Functions of parameters that are cut over devices are gathered as the parameters are rounded, to the byte."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec

from scalify_hlo.aot.collectives import collectives
from scalify_hlo.aot.compiler import compile_for
from scalify_hlo.aot.hlo_text import parse
from scalify_hlo.aot.targets import target
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from tests.aot.extra import needs_compiler

WIDTH, BATCH, LENGTH = 1024, 64, 4
MESH = AbstractMesh((8,), ("i",))
ROWS = NamedSharding(MESH, PartitionSpec("i"))


def _place(x: jax.Array) -> jax.Array:
    return jax.lax.with_sharding_constraint(x, ROWS)


def _decay(p: jax.Array, x: jax.Array) -> jax.Array:
    """A state that decays by exp(-exp(p)) in each of the steps of a scan."""

    def advance(state: jax.Array, now: jax.Array) -> tuple[jax.Array, None]:
        return _place(jnp.exp(-jnp.square(now) * jnp.exp(p)) * state + now), None

    over_time = jnp.stack([jnp.roll(x, t, 1) for t in range(LENGTH)])
    return jax.lax.scan(advance, jnp.zeros_like(x), over_time)[0]


def _gate(p: jax.Array, x: jax.Array) -> jax.Array:
    """Channels that a softplus of a parameter weighs."""
    return _place(jax.nn.softplus(p) * jnp.tanh(x))


def _mix(p: jax.Array, x: jax.Array) -> jax.Array:
    """A share of the example before, for each channel, as RWKV has it."""
    return _place(x * jax.nn.sigmoid(p) + jnp.roll(x, 1, 1) * (1 - jax.nn.sigmoid(p)))


def _gathered(function: Callable[..., jax.Array], dtype: Any, precision: str) -> dict[str, int]:
    """Bytes that a step of ZeRO-3 gathers, by type."""

    def step(p: jax.Array, w: jax.Array, x: jax.Array) -> Any:
        def loss(p: jax.Array, w: jax.Array) -> jax.Array:
            y = function(p.astype(dtype), x.astype(dtype) @ w.astype(dtype))
            return jnp.mean(jnp.square(y.astype(jnp.float32)))

        return jax.tree.map(lambda p, g: p - 0.125 * g, (p, w), jax.grad(loss, (0, 1))(p, w))

    p, x = (jax.ShapeDtypeStruct(shape, np.float32, sharding=ROWS) for shape in ((WIDTH,), (BATCH, 128)))
    w = jax.ShapeDtypeStruct((128, WIDTH), np.float32, sharding=NamedSharding(MESH, PartitionSpec()))
    text = jax.jit(step).trace(p, w, x).lower(lowering_platforms=("cuda",)).as_text()
    with make_context():
        module = ir.Module.parse(text)
        if precision:
            precision_pipeline(precision).run(module, [])
        found = collectives(parse(compile_for(module, target("h200")).text))
    sizes: dict[str, int] = {}
    for each in found:
        if each.kind == "all-gather":
            sizes[each.element] = sizes.get(each.element, 0) + each.size * each.times
    return sizes


@needs_compiler
@pytest.mark.parametrize("function", [_decay, _gate, _mix])
def test_what_is_gathered_of_a_parameter_is_narrow_and_gathered_once(function: Callable[..., jax.Array]) -> None:
    gathered = functools.partial(_gathered, function)
    original, narrow = gathered(jnp.float32, ""), gathered(jnp.bfloat16, "")
    assert gathered(jnp.float32, "f32") == original and sum(narrow.values()) * 2 == sum(original.values())
    for precision in ("fp16", "fp8"):
        assert gathered(jnp.float32, precision) == {"f16": WIDTH * 2}
