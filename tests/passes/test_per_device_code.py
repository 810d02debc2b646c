"""What `shard_map` moves itself, in a step that is rewritten: by type, without running it."""

import collections
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

from benchmarks.partitioned.models import decoder, is_shape
from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, make_context
from scalify_hlo.passes.precision_pipeline import precision_pipeline
from scalify_hlo.types import tensor_info

MESH = AbstractMesh((8,), ("i",))
LAYERS, WIDTH, HIDDEN, BATCH, CLASSES = 4, 128, 256, 512, 64


def array(shape: tuple[int, ...], *spec: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, np.float32, sharding=NamedSharding(MESH, P(*spec)))


def moved(step: Callable[..., Any], arguments: tuple[Any, ...], precision: str, *kinds: str) -> dict[str, int]:
    """How many tensors of rank 1 and more are moved by operations of some kinds: by element type and rank."""
    text = jax.jit(step).trace(*arguments).lower(lowering_platforms=("cuda",)).as_text()
    with make_context():
        module = ir.Module.parse(text)
        precision_pipeline(precision).run(module, [])
        infos = [tensor_info(op.operands[0].type) for op in walk(module.operation) if op.name.split(".")[-1] in kinds]
    return dict(collections.Counter(f"{info.element} rank {info.rank}" for info in infos if info.rank))


@pytest.mark.parametrize("is_recomputed", [False, True])
@pytest.mark.parametrize("is_scanned", [False, True])
def test_layers_are_gathered_in_one_type(is_scanned: bool, is_recomputed: bool) -> None:
    """ZeRO-3: a layer that is computed again for its gradient is no head, which stays f16; nor does it where a loop
    saves what is gathered."""

    def layer(x: jax.Array, own: Any) -> tuple[jax.Array, None]:
        up, down = (jax.lax.all_gather(w, "i", axis=0, tiled=True) for w in own)
        normed = x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)
        return x + jax.nn.gelu(normed @ up) @ down, None

    once = jax.checkpoint(layer) if is_recomputed else layer

    def local(w: Any, head: jax.Array, x: jax.Array) -> Any:
        def loss(w: Any) -> jax.Array:
            y = x
            if is_scanned:
                y = jax.lax.scan(once, y, w)[0]
            else:
                for i in range(LAYERS):
                    y = once(y, [a[i] for a in w])[0]
            return jnp.mean(jax.nn.logsumexp(y @ head, -1))

        return jax.tree.map(lambda w, g: w - 0.1 * g, w, jax.grad(loss)(w))

    cut = [P(None, "i"), P(None, "i")]
    step = jax.shard_map(local, mesh=MESH, in_specs=(cut, P(), P("i")), out_specs=cut, check_vma=False)
    w = [array((LAYERS, WIDTH, HIDDEN), None, "i"), array((LAYERS, HIDDEN, WIDTH), None, "i")]
    arguments = w, array((WIDTH, CLASSES)), array((BATCH, WIDTH), "i")
    assert set(moved(step, arguments, "fp8", "all_gather")) == {"f8E4M3FN rank 2"}


@pytest.mark.parametrize(("precision", "element"), [("fp16", "f16"), ("fp16 reductions=f32", "f32"), ("bf16", "bf16")])
@pytest.mark.parametrize("is_cut", [False, True])
def test_gradients_of_vectors_are_summed_in_the_type_of_the_policy(precision: str, element: str, is_cut: bool) -> None:
    """As those of matrices are; a statistic of the batch, which activations are divided by, stays f32."""

    def local(p: Any, x: jax.Array) -> Any:
        def loss(p: Any) -> jax.Array:
            whole = jax.tree.map(lambda w: jax.lax.all_gather(w, "i", tiled=True), p) if is_cut else p
            h = x @ whole["w"]
            h = h * jax.lax.rsqrt(jax.lax.pmean(jnp.mean(h * h, 0), "i") + 1e-5)
            return jnp.mean(jnp.square(jnp.tanh(h * whole["gain"] + whole["bias"])))

        g = jax.grad(loss)(p)
        g = jax.tree.map(lambda g: g / 8, g) if is_cut else jax.lax.pmean(g, "i")
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, g)

    spec = P("i") if is_cut else P()
    step = jax.shard_map(local, mesh=MESH, in_specs=(spec, P("i")), out_specs=spec, check_vma=False)
    shapes = {"w": (WIDTH, HIDDEN), "gain": (HIDDEN,), "bias": (HIDDEN,)}
    p = {name: array(shape, *spec) for name, shape in shapes.items()}
    found = moved(step, (p, array((BATCH, WIDTH), "i")), precision, "all_reduce", "reduce_scatter")
    expected = collections.Counter({f"{element} rank 2": 1, f"{element} rank 1": 2})
    # The statistic, and what its gradient is a sum of.
    statistics = collections.Counter(found) - expected
    assert set(statistics) == {"f32 rank 1"} and not expected - collections.Counter(found), found


@pytest.mark.parametrize(("precision", "count"), [("fp8", 1), ("fp8 rescaling=branches,scores,logits", 7), ("fp16", 1)])
def test_small_collectives_of_a_layer(precision: str, count: int) -> None:
    """Data parallel, two layers: what rescales the logits' gradient, and on request those of the scores of each layer
    and of its two branches, one after the other. The loss, which waits for none, is summed with the last of them."""
    model = decoder(layers=2)

    def local(p: Any, tokens: jax.Array) -> Any:
        value, g = jax.value_and_grad(lambda p: model.loss(p, tokens, lambda x, _: x))(p)
        return jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.lax.pmean(g, "i")), jax.lax.pmean(value, "i")

    step = jax.shard_map(local, mesh=MESH, in_specs=(P(), P("i")), out_specs=P(), check_vma=False)
    p = jax.tree.map(array, model.shapes, is_leaf=is_shape)
    tokens = jax.ShapeDtypeStruct(model.batch.shape, np.int32, sharding=NamedSharding(MESH, P("i")))
    text = jax.jit(step).trace(p, tokens).lower(lowering_platforms=("cuda",)).as_text()
    with make_context():
        module = ir.Module.parse(text)
        precision_pipeline(precision).run(module, [])
        sums = [tensor_info(op.operands[0].type) for op in walk(module.operation) if op.name == "stablehlo.all_reduce"]
    small = [info.size for info in sums if info.size <= 2]
    assert len(small) == count and sum(small) == count + 1, small
