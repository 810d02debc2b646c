"""ZeRO-3 (FSDP): batch, weights and moments are cut over the devices; XLA gathers a weight where it is used, in FP8."""

import jax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from examples.devices import training, transformer


def main() -> tuple[list[float], list[float]]:
    """The losses on 8 devices in fp8, and on one in f32."""
    mesh = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Auto,))
    state = training.start(transformer.parameters)
    cut = NamedSharding(mesh, P("data"))  # the first dimension: of the batch, and of every weight
    losses = training.train(transformer.block, state, "fp8", cut, cut)
    return losses, training.train_on_one(transformer.block, state)


if __name__ == "__main__":
    training.show(*main())
