"""The GPUs a module can be compiled or checked for, by name.

The numbers are those that XLA's cost model and code generation ask for (`GpuTargetConfigProto`), from NVIDIA's
data sheets and the CUDA programming guide's table of compute capabilities; clocks are boost clocks.
"""

import dataclasses
from typing import Literal

from scalify_hlo.errors import ScalifyError

Formats = Literal["ocp", "fnuz"]


@dataclasses.dataclass(frozen=True)
class Target:
    """One GPU.

    compute_capability: CUDA's (major, minor). fp8: the FP8 formats of its matrix units, None without any.
    memory_bandwidth and memory in bytes (per second), l2_cache in bytes, clock in GHz,
    shared_memory_per_block and per_core in bytes.
    """

    name: str
    description: str
    compute_capability: tuple[int, int]
    fp8: Formats | None
    cores: int
    clock: float
    memory: int
    memory_bandwidth: int
    l2_cache: int
    shared_memory_per_core: int
    shared_memory_per_block: int
    fpus_per_core: int = 128
    threads_per_core: int = 2048
    vendor: Literal["nvidia", "amd"] = "nvidia"

    @property
    def can_compile(self) -> bool:
        """Whether `scalify_hlo.aot` can compile for it; for the others only the formats are known."""
        return self.vendor == "nvidia"


_GIB = 1 << 30
_MIB = 1 << 20

TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target("h100", "NVIDIA H100 80GB HBM3", (9, 0), "ocp", 132, 1.98, 80 * _GIB, 3_352_320_000_000, 50 * _MIB,
               233472, 232448),
        Target("h200", "NVIDIA H200", (9, 0), "ocp", 132, 1.98, 141 * _GIB, 4_800_000_000_000, 50 * _MIB,
               233472, 232448),
        Target("l40s", "NVIDIA L40S", (8, 9), "ocp", 142, 2.52, 48 * _GIB, 864_000_000_000, 96 * _MIB,
               102400, 101376, threads_per_core=1536),
        Target("b200", "NVIDIA B200", (10, 0), "ocp", 148, 1.965, 180 * _GIB, 8_000_000_000_000, 126 * _MIB,
               233472, 232448),
        Target("a100", "NVIDIA A100-SXM4-80GB", (8, 0), None, 108, 1.41, 80 * _GIB, 2_039_000_000_000, 40 * _MIB,
               167936, 166912, fpus_per_core=64),
        Target("mi300x", "AMD Instinct MI300X", (9, 4), "fnuz", 304, 2.1, 192 * _GIB, 5_300_000_000_000, 256 * _MIB,
               65536, 65536, vendor="amd"),
    )
}  # fmt: skip


def target(name: str) -> Target:
    """The GPU called `name`. Raises ScalifyError for an unknown one."""
    found = TARGETS.get(name.lower())
    if found is None:
        raise ScalifyError(f"unknown GPU '{name}'; known are {', '.join(TARGETS)}")
    return found
