"""Pipeline (GPipe): each device has one layer, and micro-batches go from one to the next."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from examples.devices import training
from examples.devices.training import HIDDEN, WIDTH, norm, normal

LAYERS, MICRO_BATCHES = 8, 4


def parameters(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The weights of all layers, stacked; together their branches are as large as one."""
    down = normal(rng, LAYERS, HIDDEN, WIDTH) / np.float32(LAYERS**0.5)
    return {"up": normal(rng, LAYERS, WIDTH, HIDDEN), "down": down}


def layer(p: Any, x: jax.Array) -> jax.Array:
    """An MLP in a residual branch."""
    return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]


def all_layers(p: Any, x: jax.Array) -> jax.Array:
    """One layer after the other."""
    return jax.lax.scan(lambda x, own: (layer(own, x), None), x, p)[0]


def staged(p: Any, x: jax.Array) -> jax.Array:
    """The same with a layer on each device. In shard_map over "stage". x: (batch, length, width), on every device."""
    own = jax.tree.map(lambda w: w[0], p)
    stage, last = jax.lax.axis_index("stage"), LAYERS - 1
    micro = x.reshape(MICRO_BATCHES, -1, *x.shape[1:])
    onward = [(device, device + 1) for device in range(last)]
    passed, done = jnp.zeros_like(micro[0]), []
    for time in range(MICRO_BATCHES + last):
        y = layer(own, jnp.where(stage == 0, micro[min(time, MICRO_BATCHES - 1)], passed))
        done.append(y)
        passed = jax.lax.ppermute(y, "stage", onward)
    return jax.lax.psum(jnp.where(stage == last, jnp.stack(done[last:]), 0.0), "stage").reshape(x.shape)


def pipeline(mesh: Mesh) -> training.Trunk:
    """The layers as stages of a mesh."""
    return jax.shard_map(staged, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P())


def main() -> tuple[list[float], list[float]]:
    """The losses on 8 devices in fp8, and on one in f32."""
    mesh = jax.make_mesh((LAYERS,), ("stage",), axis_types=(AxisType.Auto,))
    state = training.start(parameters)
    whole, staged_ = NamedSharding(mesh, P()), NamedSharding(mesh, P("stage"))
    params = {"embedding": whole, "trunk": staged_, "head": whole}
    losses = training.train(pipeline(mesh), state, "fp8", {"params": params, "m": params, "v": params}, whole)
    return losses, training.train_on_one(all_layers, state)


if __name__ == "__main__":
    training.show(*main())
