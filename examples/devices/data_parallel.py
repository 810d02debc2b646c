"""Data parallel: the batch is cut over the devices, each has all of the state."""

import jax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from examples.devices import training, transformer


def main() -> tuple[list[float], list[float]]:
    """The losses on 8 devices in fp8, and on one in f32."""
    mesh = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Auto,))
    state = training.start(transformer.parameters)
    whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
    losses = training.train(transformer.block, state, "fp8", whole, rows)
    return losses, training.train_on_one(transformer.block, state)


if __name__ == "__main__":
    training.show(*main())
