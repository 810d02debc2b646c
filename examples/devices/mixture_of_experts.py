"""Mixture of experts: each device has one expert and a part of the batch; tokens go to their experts and come back."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from examples.devices import training
from examples.devices.training import HIDDEN, WIDTH, norm, normal

EXPERTS = 8


def parameters(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The router, and the weights of all experts, stacked."""
    return {
        "router": normal(rng, WIDTH, EXPERTS),
        "up": normal(rng, EXPERTS, WIDTH, HIDDEN),
        "down": normal(rng, EXPERTS, HIDDEN, WIDTH),
    }


def mixture(p: Any, x: jax.Array, exchange: Any = lambda slots, way: slots) -> jax.Array:  # noqa: ARG005
    """Each token's most probable expert, weighted by its probability, in a residual branch. x: (batch, length, width).

    exchange: brings (experts, tokens, width) from "tokens" to "experts", where only own experts are left, and back.
    Each expert has room for all tokens: none is dropped.
    """
    tokens = norm(x).reshape(-1, WIDTH)
    probabilities = jax.nn.softmax(tokens @ p["router"])
    chosen = jax.nn.one_hot(jnp.argmax(probabilities, -1), EXPERTS)
    slots = exchange(jnp.einsum("te,tw->etw", chosen, tokens), "to experts")
    done = jax.nn.gelu(jnp.einsum("etw,ewh->eth", slots, p["up"]))
    back = exchange(jnp.einsum("eth,ehw->etw", done, p["down"]), "to tokens")
    return x + jnp.einsum("te,etw->tw", chosen * probabilities, back).reshape(x.shape)


def over_devices(slots: jax.Array, way: str) -> jax.Array:
    """One expert's tokens of all devices, or all experts' of one. In shard_map over "expert"."""
    cut, joined = (0, 1) if way == "to experts" else (1, 0)
    return jax.lax.all_to_all(slots, "expert", cut, joined, tiled=True)


def expert_parallel(mesh: Mesh) -> training.Trunk:
    """The experts on the devices of a mesh."""
    weights = {"router": P(), "up": P("expert"), "down": P("expert")}
    local = functools.partial(mixture, exchange=over_devices)
    return jax.shard_map(local, mesh=mesh, in_specs=(weights, P("expert")), out_specs=P("expert"))


def main() -> tuple[list[float], list[float]]:
    """The losses on 8 devices in fp8, and on one in f32."""
    mesh = jax.make_mesh((EXPERTS,), ("expert",), axis_types=(AxisType.Auto,))
    state = training.start(parameters)
    whole, cut = NamedSharding(mesh, P()), NamedSharding(mesh, P("expert"))
    params = {"embedding": whole, "trunk": {"router": whole, "up": cut, "down": cut}, "head": whole}
    losses = training.train(expert_parallel(mesh), state, "fp8", {"params": params, "m": params, "v": params}, cut)
    return losses, training.train_on_one(mixture, state)


if __name__ == "__main__":
    training.show(*main())
