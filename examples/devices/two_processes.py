"""ZeRO-3 over two processes of four devices each, as over two machines: every process runs the same program.

On virtual CPU devices the processes talk by gloo; on GPUs nothing but the call of `jax.distributed.initialize` is
needed, which finds the others by itself under SLURM, Open MPI and in clouds.
"""

import json
import os
import socket
import subprocess
import sys

import jax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

from examples.devices import training, transformer

DEVICES = 8


def losses() -> list[float]:
    """The losses on the devices of all processes: the mesh has them all, and arrays are cut over it."""
    mesh = jax.make_mesh((jax.device_count(),), ("data",), axis_types=(AxisType.Auto,))
    cut = NamedSharding(mesh, P("data"))
    return training.train(transformer.block, training.start(transformer.parameters), "fp8", cut, cut)


def work(address: str, count: int, index: int, steps: int) -> list[float]:
    """What each process does. address: of the first one, host:port."""
    training.STEPS = steps
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, num_processes=count, process_id=index)
    return losses()


def main(count: int = 2, steps: int = training.STEPS) -> list[list[float]]:
    """The losses that each of `count` processes sees, started on this machine with eight devices in all."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        address = f"localhost:{free.getsockname()[1]}"
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES // count}"
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    command = [sys.executable, "-m", "examples.devices.two_processes", address, str(count)]
    started = [
        subprocess.Popen(
            [*command, str(index), str(steps)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )
        for index in range(count)
    ]  # fmt: skip
    found: list[list[float]] = []
    try:
        for process in started:
            output, errors = process.communicate(timeout=600)
            if process.returncode:
                raise RuntimeError(f"a process ended with status {process.returncode}:\n{errors[-2000:]}")
            found.append(json.loads(output.splitlines()[-1]))
    finally:
        for process in started:
            process.kill()
            process.communicate()
    return found


if __name__ == "__main__":
    if len(sys.argv) == 5:
        print(json.dumps(work(sys.argv[1], *map(int, sys.argv[2:]))))
    else:
        for index, each in enumerate(main()):
            print(f"process {index}: {' '.join(f'{value:.4f}' for value in each)}")
