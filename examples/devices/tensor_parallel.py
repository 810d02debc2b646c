"""Tensor and sequence parallel: heads and hidden units are cut over the devices, and between them the sequence is."""

import functools
from typing import Any

import jax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from examples.devices import training, transformer

WEIGHTS = {"q": P(None, "model"), "k": P(None, "model"), "v": P(None, "model"), "o": P("model"),
           "up": P(None, "model"), "down": P("model")}  # fmt: skip
ACTIVATIONS = {"residual": P(None, "model"), "heads": P(None, None, "model"), "hidden": P(None, None, "model")}


def state_shardings(mesh: Mesh) -> dict[str, Any]:
    """Where each parameter and its moments are."""
    specs = {"embedding": P(), "trunk": WEIGHTS, "head": P()}
    here = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs, is_leaf=lambda x: isinstance(x, P))
    return {"params": here, "m": here, "v": here}


def constrained_block(mesh: Mesh, specs: dict[str, P]) -> training.Trunk:
    """The block with its activations in places."""

    def constrain(x: jax.Array, place: str) -> jax.Array:
        return jax.lax.with_sharding_constraint(x, NamedSharding(mesh, specs[place]))

    return functools.partial(transformer.block, constrain=constrain)


def main() -> tuple[list[float], list[float]]:
    """The losses on 8 devices in fp8, and on one in f32."""
    mesh = jax.make_mesh((8,), ("model",), axis_types=(AxisType.Auto,))
    state = training.start(transformer.parameters)
    trunk = constrained_block(mesh, ACTIVATIONS)
    losses = training.train(trunk, state, "fp8", state_shardings(mesh), NamedSharding(mesh, P()))
    return losses, training.train_on_one(transformer.block, state)


if __name__ == "__main__":
    training.show(*main())
