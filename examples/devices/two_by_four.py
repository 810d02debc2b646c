"""Two axes: the batch is cut in 2, and heads and hidden units in 4."""

import jax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from examples.devices import training, transformer
from examples.devices.tensor_parallel import constrained_block, state_shardings

ACTIVATIONS = {"residual": P("data"), "heads": P("data", None, "model"), "hidden": P("data", None, "model")}


def main() -> tuple[list[float], list[float]]:
    """The losses on 8 devices in fp8, and on one in f32."""
    mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(AxisType.Auto, AxisType.Auto))
    state = training.start(transformer.parameters)
    trunk = constrained_block(mesh, ACTIVATIONS)
    losses = training.train(trunk, state, "fp8", state_shardings(mesh), NamedSharding(mesh, P("data")))
    return losses, training.train_on_one(transformer.block, state)


if __name__ == "__main__":
    training.show(*main())
