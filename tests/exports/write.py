"""Writes programs as the jax that runs this exports them.

    python tests/exports/write.py FOLDER           # step-<version>.bin: training; forward-<version>.bin: attention
    python tests/exports/write.py FOLDER devices   # devices-<version>.bin: the step for eight devices, data parallel

The files beside this one were written so by the versions in their names, from a copy in the working folder.
"""

import os
import pathlib
import sys

if "devices" in sys.argv:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def loss(p, x, y):
    h = jax.nn.relu(x @ p["w1"] + p["b1"])
    return jnp.mean((h @ p["w2"] - y) ** 2)


def step(state, x, y):
    """SGD with momentum."""
    p, m = state
    value, gradient = jax.value_and_grad(loss)(p, x, y)
    m = jax.tree_util.tree_map(lambda a, b: 0.9 * a + b, m, gradient)
    p = jax.tree_util.tree_map(lambda a, b: a - 0.1 * b, p, m)
    return (p, m), value


def attend(w, x):
    """Scores and mixing share an operand, as products of a forward and a backward pass do."""
    h = x @ w["in"]
    return jax.nn.softmax(h @ h.T) @ h @ w["out"]


def main(folder, devices):
    p = {"w1": np.zeros((16, 32), "f"), "b1": np.zeros(32, "f"), "w2": np.zeros((32, 16), "f")}
    x = np.zeros((64, 16), "f")
    where = {}
    if devices:
        mesh = Mesh(np.array(jax.devices()), ("d",))
        whole, cut = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("d"))
        where = {"in_shardings": (whole, cut, cut)}
    programs = {"devices" if devices else "step": export.export(jax.jit(step, **where))((p, p), x, x)}
    if not devices:
        w = {"in": np.zeros((16, 16), "f"), "out": np.zeros((16, 16), "f")}
        programs["forward"] = export.export(jax.jit(attend))(w, x)
    for name, exported in programs.items():
        (pathlib.Path(folder) / f"{name}-{jax.__version__}.bin").write_bytes(exported.serialize())


if __name__ == "__main__":
    main(sys.argv[1], "devices" in sys.argv)
