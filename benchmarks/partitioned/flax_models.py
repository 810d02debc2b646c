"""Steps of models that are written in flax, partitioned as its guides say: metadata of parameters name their axes."""

# flax is annotated in part only.
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Any

import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from benchmarks.partitioned.models import BATCH, HEADS, HIDDEN, LENGTH, VOCABULARY, WIDTH
from benchmarks.partitioned.named import adam_step, array, lowered, state_of

_GRID = AbstractMesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
# Logical axes, and where they lie: tensor parallel beside ZeRO-3, as MaxText's default is.
_RULES = (
    ("batch", "data"), ("embed", "data"), ("mlp", "model"), ("heads", "model"), ("vocab", None), ("activation", None),
)  # fmt: skip


def _initial(*names: str | None) -> Any:
    return linen.with_logical_partitioning(linen.initializers.lecun_normal(), names)


class LinenBlock(linen.Module):
    """Attention and MLP with logical names."""

    @linen.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """x: (batch, length, width)."""
        h = linen.LayerNorm(use_bias=False, dtype=x.dtype)(x)
        q, k, v = (
            linen.Dense(WIDTH, use_bias=False, dtype=x.dtype, kernel_init=_initial("embed", "heads"))(h)
            .reshape(*x.shape[:2], HEADS, -1) for _ in range(3)
        )  # fmt: skip
        mixed = linen.dot_product_attention(q, k, v, dtype=x.dtype).reshape(x.shape)
        o = linen.Dense(WIDTH, use_bias=False, dtype=x.dtype, kernel_init=_initial("heads", "embed"))
        x = linen.with_logical_constraint(x + o(mixed), ("batch", None, "activation"))
        h = linen.LayerNorm(use_bias=False, dtype=x.dtype)(x)
        h = linen.Dense(HIDDEN, dtype=x.dtype, kernel_init=_initial("embed", "mlp"))(h)
        h = linen.with_logical_constraint(linen.gelu(h), ("batch", None, "mlp"))
        down = linen.Dense(WIDTH, use_bias=False, dtype=x.dtype, kernel_init=_initial("mlp", "embed"))
        return linen.with_logical_constraint(x + down(h), ("batch", None, "activation"))


class LinenDecoder(linen.Module):
    """A language model of one block."""

    dtype: Any

    @linen.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        """tokens: i32[batch, length]."""
        embedding = linen.Embed(VOCABULARY, WIDTH, dtype=self.dtype, embedding_init=_initial("vocab", "embed"))
        x = linen.with_logical_constraint(embedding(tokens), ("batch", None, "activation"))
        x = LinenBlock()(x)
        return linen.Dense(VOCABULARY, use_bias=False, dtype=self.dtype, kernel_init=_initial("embed", "vocab"))(x)


def _loss(logits: jax.Array, tokens: jax.Array) -> jax.Array:
    log_p = jax.nn.log_softmax(logits[:, :-1].astype(jnp.float32), -1)
    return -jnp.mean(jnp.take_along_axis(log_p, tokens[:, 1:, None], -1))


def _text(shapes: Any, specs: Any, loss: Any, dtype: Any) -> str:
    tokens = array(_GRID, (BATCH, LENGTH), np.int32, P("data"))
    leaves = jax.tree.map(lambda x, spec: array(_GRID, x.shape, x.dtype, spec), shapes, specs)
    state = state_of(leaves, leaves)
    out = jax.tree.map(lambda x: x.sharding, state), NamedSharding(_GRID, P())
    return lowered(adam_step(loss, dtype), state, tokens, out=out)


def logical_linen(dtype: Any) -> str:
    """`linen.with_logical_partitioning` and `with_logical_constraint`."""
    model = LinenDecoder(dtype)
    tokens = jax.ShapeDtypeStruct((BATCH, LENGTH), np.int32)
    variables = jax.eval_shape(model.init, jax.random.key(0), tokens)
    specs = linen.logical_to_mesh(linen.get_partition_spec(variables), _RULES)
    shapes = linen.unbox(variables)

    def loss(p: Any, tokens: jax.Array) -> jax.Array:
        with jax.sharding.use_abstract_mesh(_GRID), linen.logical_axis_rules(_RULES):
            return _loss(model.apply(p, tokens), tokens)

    return _text(shapes, specs, loss, dtype)


class NnxDecoder(nnx.Module):
    """A language model of one MLP block, whose parameters name axes of the mesh."""

    def __init__(self, rngs: nnx.Rngs, dtype: Any):
        def initial(*names: str | None) -> Any:
            return nnx.with_partitioning(nnx.initializers.lecun_normal(), names)

        bias = nnx.with_partitioning(nnx.initializers.zeros_init(), ("model",))
        self.embedding = nnx.Embed(
            VOCABULARY, WIDTH, dtype=dtype, embedding_init=initial(None, "data"), rngs=rngs
        )  # fmt: skip
        self.norm = nnx.LayerNorm(WIDTH, use_bias=False, dtype=dtype, rngs=rngs)
        self.up = nnx.Linear(
            WIDTH, HIDDEN, dtype=dtype, kernel_init=initial("data", "model"), bias_init=bias, rngs=rngs
        )
        self.down = nnx.Linear(
            HIDDEN, WIDTH, use_bias=False, dtype=dtype, kernel_init=initial("model", "data"), rngs=rngs
        )
        self.head = nnx.Linear(
            WIDTH, VOCABULARY, use_bias=False, dtype=dtype, kernel_init=initial("data", None), rngs=rngs
        )

    def __call__(self, tokens: jax.Array) -> jax.Array:
        """tokens: i32[batch, length]."""
        rows, cut = (NamedSharding(_GRID, spec) for spec in (P("data"), P("data", None, "model")))
        x = jax.lax.with_sharding_constraint(self.embedding(tokens), rows)
        hidden = jax.lax.with_sharding_constraint(nnx.gelu(self.up(self.norm(x))), cut)
        return self.head(jax.lax.with_sharding_constraint(x + self.down(hidden), rows))


def partitioned_nnx(dtype: Any) -> str:
    """`nnx.with_partitioning`."""
    with jax.sharding.use_abstract_mesh(_GRID):
        definition, shapes = nnx.split(nnx.eval_shape(lambda: NnxDecoder(nnx.Rngs(0), dtype)))
    specs = nnx.to_pure_dict(nnx.get_partition_spec(shapes))
    plain = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), nnx.to_pure_dict(shapes))

    def loss(p: Any, tokens: jax.Array) -> jax.Array:
        state = jax.tree.map(lambda leaf: leaf, shapes)
        nnx.replace_by_pure_dict(state, p)
        return _loss(nnx.merge(definition, state)(tokens), tokens)

    specs = jax.tree.map(lambda _, spec: spec if isinstance(spec, P) else P(), plain, specs)
    return _text(plain, specs, loss, dtype)
