"""Steps of Adam that say themselves what goes between devices, by `shard_map`, and one in explicit sharding mode."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from benchmarks.partitioned.models import BATCH, HIDDEN, LENGTH, WIDTH, decoder, is_shape
from benchmarks.partitioned.named import DEVICES, LEARNING_RATE, Text, adam_step, array, cast, lowered, state_of
from examples.devices import mixture_of_experts, pipeline, ring_attention, training, transformer

_LINE = AbstractMesh((DEVICES,), ("d",), axis_types=(AxisType.Auto,))


def _adam(state: Any, g: Any) -> Any:
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], g)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, state["v"], g)
    params = jax.tree.map(lambda p, m, v: p - LEARNING_RATE * m / (jnp.sqrt(v) + 1e-8), state["params"], m, v)
    return state_of(params, m) | {"v": v}


def _leaves(shapes: Any, mesh: AbstractMesh, spec: Any) -> Any:
    """Abstract arrays for a tree of shapes. spec: for each of them, or for all."""
    specs = jax.tree.map(lambda _: spec, shapes, is_leaf=is_shape) if isinstance(spec, P) else spec
    return jax.tree.map(lambda shape, own: array(mesh, shape, np.float32, own), shapes, specs, is_leaf=is_shape)


def data_parallel(dtype: Any) -> str:
    """The gradients of each device's examples are averaged by `pmean`."""
    model = decoder()

    def local(state: Any, tokens: jax.Array) -> Any:
        def loss(p: Any) -> jax.Array:
            return model.loss(p, tokens, lambda x, _: x)

        # Gradients in the type of the parameters that the loss takes: that is what is summed.
        value, g = jax.value_and_grad(loss)(cast(state["params"], dtype))
        return _adam(state, cast(jax.lax.pmean(g, "d"), jnp.float32)), jax.lax.pmean(value, "d")

    step = jax.shard_map(local, mesh=_LINE, in_specs=(P(), P("d")), out_specs=P(), check_vma=False)
    leaves = _leaves(model.shapes, _LINE, P())
    return lowered(step, state_of(leaves, leaves), array(_LINE, model.batch.shape, np.int32, P("d")))


def gathered_weights(dtype: Any) -> str:
    """ZeRO-3: `all_gather` of each weight where it is used, whose gradient is a `psum_scatter`."""
    model = decoder()
    specs = jax.tree.map(lambda _: P("d"), model.shapes, is_leaf=is_shape)

    def local(state: Any, tokens: jax.Array) -> Any:
        def loss(p: Any) -> jax.Array:
            whole = jax.tree.map(lambda w: jax.lax.all_gather(w, "d", axis=0, tiled=True), cast(p, dtype))
            return model.loss(whole, tokens, lambda x, _: x)

        value, g = jax.value_and_grad(loss)(state["params"])
        return _adam(state, jax.tree.map(lambda g: g / DEVICES, g)), jax.lax.pmean(value, "d")

    state = state_of(specs, specs)
    step = jax.shard_map(local, mesh=_LINE, in_specs=(state, P("d")), out_specs=(state, P()), check_vma=False)
    leaves = _leaves(model.shapes, _LINE, specs)
    return lowered(step, state_of(leaves, leaves), array(_LINE, model.batch.shape, np.int32, P("d")))


def _trunk(
    parameters: Callable[[np.random.Generator], Any],
    trunk: Callable[[AbstractMesh], Any],
    axis: str,
    weights: Callable[[str], P],
    batch: P,
) -> Text:
    """A step of an example of `examples.devices`."""
    mesh = AbstractMesh((DEVICES,), (axis,), axis_types=(AxisType.Auto,))
    params = training.start(parameters)["params"]
    leaves = jax.tree_util.tree_map_with_path(
        lambda path, x: array(mesh, x.shape, np.float32, weights(str(path[-1].key))), params
    )
    tokens = array(mesh, (training.BATCH, training.LENGTH + 1), np.int32, batch)

    def text(dtype: Any) -> str:
        def loss(p: Any, tokens: jax.Array) -> jax.Array:
            return training.loss(trunk(mesh), p, tokens).astype(jnp.float32)

        state = state_of(leaves, leaves)
        out = jax.tree.map(lambda x: x.sharding, state), NamedSharding(mesh, P())
        return lowered(adam_step(loss, dtype), state, tokens, out=out)

    return text


def _stacked(axis: str) -> Callable[[str], P]:
    return lambda name: P(axis) if name in ("up", "down") else P()


staged: Text = _trunk(pipeline.parameters, pipeline.pipeline, "stage", _stacked("stage"), P())  # type: ignore[arg-type]
ring: Text = _trunk(transformer.parameters, ring_attention.ring_block, "ring", lambda _: P(), P())  # type: ignore[arg-type]
experts: Text = _trunk(
    mixture_of_experts.parameters, mixture_of_experts.expert_parallel, "expert", _stacked("expert"), P("expert")  # type: ignore[arg-type]
)  # fmt: skip


def explicit(dtype: Any) -> str:
    """Data parallel in explicit mode, where every type says how its array is cut."""
    mesh = AbstractMesh((DEVICES,), ("d",), axis_types=(AxisType.Explicit,))
    shapes = {"up": (WIDTH, HIDDEN), "up_bias": (HIDDEN,), "down": (HIDDEN, WIDTH), "gain": (WIDTH,)}

    def loss(p: Any, x: jax.Array) -> jax.Array:
        y = x.astype(p["up"].dtype)
        for _ in range(2):
            h = y * jax.lax.rsqrt(jnp.mean(jnp.square(y), -1, keepdims=True) + 1e-5) * p["gain"]
            y = y + jax.nn.gelu(h @ p["up"] + p["up_bias"]) @ p["down"]
        return jnp.mean(jnp.square(y.astype(jnp.float32)))

    with jax.sharding.use_abstract_mesh(mesh):
        leaves = _leaves(shapes, mesh, P())
        x = array(mesh, (BATCH * LENGTH, WIDTH), np.float32, P("d"))
        return lowered(functools.partial(adam_step(loss, dtype)), state_of(leaves, leaves), x)
