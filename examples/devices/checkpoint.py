"""A checkpoint by orbax of FP8 training under ZeRO-3 on 8 devices, restored on 8, 4 and 1."""

import functools
import pathlib
import tempfile
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import scalify_hlo as sc
from examples.devices import training, transformer


@functools.cache
def on(count: int) -> tuple[Any, NamedSharding]:
    """The step on some number of devices, and how its batch and state are cut."""
    mesh = jax.make_mesh((count,), ("data",), axis_types=(AxisType.Auto,), devices=jax.devices()[:count])
    cut = NamedSharding(mesh, P("data"))
    one_step = functools.partial(training.train_step, transformer.block)
    return sc.scalify(one_step, precision="fp8", in_shardings=(cut, cut), out_shardings=(cut, None)), cut


def main() -> dict[int, list[float]]:
    """The losses of three steps after the checkpoint, by the number of devices that they run on."""
    step, cut = on(8)
    state, _ = step.stored(sc.as_scaled_array(training.start(transformer.parameters)), training.batch(0))
    state = jax.device_put(state, sc.scaled_shardings(cut, state))
    for index in range(3):
        state, _ = step(state, jax.device_put(training.batch(index), cut))
    found: dict[int, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, ocp.StandardCheckpointer() as checkpoints:
        checkpoints.save(pathlib.Path(folder) / "state", state)
        checkpoints.wait_until_finished()
        for count in (8, 4, 1):
            step, cut = on(count)
            # Data and scale are leaves like others: each is restored to where it is to be.
            wanted = jax.tree.map(
                lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
                state, sc.scaled_shardings(cut, state),
            )  # fmt: skip
            restored = checkpoints.restore(pathlib.Path(folder) / "state", wanted)
            found[count] = []
            for index in range(3, 6):
                restored, loss = step(restored, jax.device_put(training.batch(index), cut))
                found[count].append(float(np.asarray(loss)))
    return found


if __name__ == "__main__":
    for devices, losses in main().items():
        print(f"{devices} devices: {losses}")
