"""Compiling a StableHLO module for a GPU on a machine that has none.

XLA's GPU compiler is in the package `jax-cuda12-pjrt`, and it assembles with `ptxas` from
`nvidia-cuda-nvcc-cu12`; both come with the extra `[aot]`. Neither CUDA nor a driver is needed. The executable
cannot run here: it is there to be read.
"""

import contextlib
import dataclasses
import functools
import importlib.metadata
import logging
import os
import sys
import time
from collections.abc import Generator
from typing import Any, Literal

import numpy as np

from scalify_hlo.aot.targets import Target
from scalify_hlo.bindings import gpu_compile_only_devices, ir, xla_client
from scalify_hlo.engine.preconditions import mesh_errors
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.memory import Memory

_PACKAGES = ("jax-cuda12-pjrt", "nvidia-cuda-nvcc-cu12")
# Who multiplies matrices: NVIDIA's library, or kernels that XLA generates. Without a GPU there is no autotuner to
# choose between them: "triton" means that nearly every product goes to Triton with a dummy tile.
Gemm = Literal["cublas", "triton"]

_CONFIG = """
gpu_device_info {{
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152
  shared_memory_per_core: {gpu.shared_memory_per_core} threads_per_core_limit: {gpu.threads_per_core}
  core_count: {gpu.cores} fpus_per_core: {gpu.fpus_per_core}
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: {gpu.memory_bandwidth} l2_cache_size: {gpu.l2_cache} clock_rate_ghz: {gpu.clock}
  device_memory_size: {gpu.memory} shared_memory_per_block_optin: {gpu.shared_memory_per_block}
  cuda_compute_capability {{ major: {gpu.compute_capability[0]} minor: {gpu.compute_capability[1]} }}
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 }}
runtime_version {{ major: 12 minor: 8 patch: 0 }}
device_description_str: "{gpu.description}"
"""


@dataclasses.dataclass(frozen=True)
class CompiledProgram:
    """Optimised HLO text for a target, with its memory and the compiler's wall-clock seconds."""

    target: Target
    text: str
    memory: Memory
    seconds: float


def compile_for(module: ir.Module, target: Target, *, gemm: Gemm = "cublas") -> CompiledProgram:
    """Compile `module` (left unchanged) for a GPU of kind `target`, or as many as it is partitioned over.

    Raises ScalifyError where the extra is missing, the target cannot be compiled for, the module wants several
    replicas or has a mesh of another size, or XLA refuses it.
    """
    if not target.can_compile:
        raise ScalifyError(f"there is no ahead-of-time compiler for {target.description}: XLA's plugin is NVIDIA's")
    count = _partitions(module)
    if errors := mesh_errors(module):
        raise ScalifyError(errors)
    devices = tuple(_devices(target, count))
    client = xla_client()
    options = client.CompileOptions()
    options.env_option_overrides = [("xla_gpu_enable_triton_gemm", gemm == "triton")]
    if count > 1:
        options.num_replicas, options.num_partitions = 1, count
        build = options.executable_build_options
        build.num_replicas, build.num_partitions = 1, count
        build.use_spmd_partitioning = build.use_shardy_partitioner = True
        build.device_assignment = client.DeviceAssignment.create(np.arange(count).reshape(1, count))
    start = time.perf_counter()
    try:
        executable = devices[0].client.compile(module, client.DeviceList(devices), options)
    except Exception as error:  # jaxlib raises RuntimeError subclasses that differ between versions
        reason = str(error).splitlines()[0]
        raise ScalifyError(f"XLA does not compile the module for {target.description}: {reason}") from error
    seconds = time.perf_counter() - start
    memory = Memory.of(executable)
    text = "\n".join(hlo.to_string() for hlo in executable.hlo_modules())
    return CompiledProgram(target, text, memory, seconds)


def _partitions(module: ir.Module) -> int:
    """How many devices a module is partitioned over."""
    attributes = module.operation.attributes
    count = {
        name: ir.IntegerAttr(attributes[f"mhlo.num_{name}"]).value if f"mhlo.num_{name}" in attributes else 1
        for name in ("partitions", "replicas")
    }
    if count["replicas"] > 1:
        raise ScalifyError(
            f"the module wants {count['replicas']} replicas (mhlo.num_replicas); partitions are supported"
        )
    return max(count["partitions"], 1)


def check_available() -> None:
    """Raises ScalifyError, one line, where the extra `[aot]` is missing or does not fit jaxlib."""
    jaxlib = importlib.metadata.version("jaxlib")
    for package in _PACKAGES:
        try:
            found = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            raise ScalifyError(
                f"compiling for a GPU needs the package {package}: "
                f"pip install 'scalify_hlo[aot]' 'jax-cuda12-pjrt=={jaxlib}'"
            ) from None
        if package == "jax-cuda12-pjrt" and found != jaxlib:
            raise ScalifyError(
                f"jax-cuda12-pjrt {found} does not fit jaxlib {jaxlib}: pip install 'jax-cuda12-pjrt=={jaxlib}'"
            )


@functools.cache
def _devices(target: Target, count: int) -> Any:
    check_available()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # JAX must not look for a GPU
    try:
        with _silence():
            return gpu_compile_only_devices(_CONFIG.format(gpu=target), f"1x1x{count}")
    except Exception as error:
        raise ScalifyError(f"XLA's GPU compiler cannot be set up for {target.description}: {error}") from error


@contextlib.contextmanager
def _silence() -> Generator[None]:
    """Drops what JAX and the plugin say while they load: that there is no driver, that CUDA is not installed."""
    loggers = [logging.getLogger(name) for name in ("jax._src.xla_bridge", "jax_plugins.xla_cuda12")]
    levels = [logger.level for logger in loggers]
    sys.stderr.flush()
    saved, sink = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        os.dup2(sink, 2)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        sys.stderr.flush()
        os.dup2(saved, 2)
        os.close(saved)
        os.close(sink)
