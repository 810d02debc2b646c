"""Ring attention: the sequence is cut over the devices, and keys and values go around while queries stay."""

import functools

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from examples.devices import training, transformer

MASK = -1e4  # finite in f16 as well: a device may see no key that it may attend to, and -inf - -inf is NaN


def ring(count: int, q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    """Causal attention of one device's queries; (batch, length / count, heads, size) each. In shard_map over "ring"."""
    length, own = q.shape[1], jax.lax.axis_index("ring")
    rows = own * length + jnp.arange(length)
    onward = [(device, (device + 1) % count) for device in range(count)]

    def hop(hops: int, keys: jax.Array, values: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        columns = (own - hops) % count * length + jnp.arange(length)
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, keys) / q.shape[-1] ** 0.5
        scores = jnp.where(rows[:, None] >= columns, scores, MASK)
        largest = jnp.max(scores, -1, keepdims=True)
        weights = jnp.exp(scores - largest)
        return largest, jnp.sum(weights, -1, keepdims=True), jnp.einsum("bhqk,bkhd->bhqd", weights, values)

    largest, total, mixed = hop(0, k, v)
    for hops in range(1, count):
        k, v = (jax.lax.ppermute(x, "ring", onward) for x in (k, v))
        new, more, added = hop(hops, k, v)
        both = jnp.maximum(largest, new)
        old_share, new_share = jnp.exp(largest - both), jnp.exp(new - both)
        largest, total = both, total * old_share + more * new_share
        mixed = mixed * old_share + added * new_share
    return jnp.swapaxes(mixed / total, 1, 2)


def ring_block(mesh: Mesh) -> training.Trunk:
    """The block with attention in a ring."""
    cut = P(None, "ring")
    attend = jax.shard_map(functools.partial(ring, mesh.size), mesh=mesh, in_specs=(cut, cut, cut), out_specs=cut)
    return functools.partial(transformer.block, attend=attend)


def main() -> tuple[list[float], list[float]]:
    """The losses on 8 devices in fp8, and on one in f32."""
    mesh = jax.make_mesh((8,), ("ring",), axis_types=(AxisType.Auto,))
    state = training.start(transformer.parameters)
    whole = NamedSharding(mesh, P())
    losses = training.train(ring_block(mesh), state, "fp8", whole, whole)
    return losses, training.train_on_one(transformer.block, state)


if __name__ == "__main__":
    training.show(*main())
