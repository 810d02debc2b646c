"""How long one execution takes on a GPU that is not there, and what that estimate assumes.

Each kernel takes its launch, and then the longer of moving its bytes and multiplying its matrices:

    seconds = sum over launches of (launch + max(bytes / bandwidth, flops / rate))

Nothing else is in it: no latency of memory, no tail of a wave, no overlap of kernels. It ranks programs, and shows
what a program spends its time on; it does not replace a measurement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

from scalify_hlo.aot.targets import target as gpu

if TYPE_CHECKING:
    from scalify_hlo.aot.cost import Kernel

# Dense matrix units in TFLOP/s, from NVIDIA's data sheets: 16-bit floats, FP8, FP4, and f32 as JAX multiplies (TF32).
_MATRIX_UNITS: dict[str, dict[str, float]] = {
    "h100": {"f16": 989, "f8": 1979, "f32": 494},
    "h200": {"f16": 989, "f8": 1979, "f32": 494},
    "b200": {"f16": 2250, "f8": 4500, "f4": 9000, "f32": 1125},
    "a100": {"f16": 312, "f32": 156},
    "l40s": {"f16": 362, "f8": 733, "f32": 183},
}


@dataclasses.dataclass(frozen=True)
class Assumptions:
    """Of an estimate: a GPU's peaks, the part of them that kernels reach, and the price of a launch.

    bandwidth: bytes a second. tflops: by the first letters of the element type. launch: seconds, in a CUDA graph.
    """

    bandwidth: float
    tflops: dict[str, float]
    bandwidth_share: float = 0.85
    matrix_share: float = 0.7
    launch: float = 1.5e-6

    def __str__(self) -> str:
        rates = ", ".join(f"{name} {value:g}" for name, value in self.tflops.items())
        return (
            f"{self.bandwidth / 1e12:.2f} TB/s at {self.bandwidth_share:g}; matrix units {rates} TFLOP/s at "
            f"{self.matrix_share:g}; {self.launch * 1e6:g} us a kernel"
        )


@dataclasses.dataclass(frozen=True)
class Roofline:
    """Seconds of one execution, and of its launches; of kernels that wait for memory, and for matrix units."""

    seconds: float
    launch: float
    bandwidth: float
    matrix: float
    assumptions: Assumptions


def assumptions(target: str) -> Assumptions:
    """What is assumed of a GPU. Raises ScalifyError for one that is not known."""
    known = gpu(target)
    return Assumptions(float(known.memory_bandwidth), _MATRIX_UNITS[known.name])


def estimate(kernels: Iterable[Kernel], target: str) -> Roofline:
    """The estimate for the kernels of one program."""
    assumed = assumptions(target)
    launch = bandwidth = matrix = 0.0
    for kernel in kernels:
        moving = kernel.size / (assumed.bandwidth * assumed.bandwidth_share)
        multiplying = kernel.flops / (_rate(assumed, kernel.element) * assumed.matrix_share) if kernel.flops else 0.0
        launch += kernel.times * assumed.launch
        if multiplying > moving:
            matrix += kernel.times * multiplying
        else:
            bandwidth += kernel.times * moving
    return Roofline(launch + bandwidth + matrix, launch, bandwidth, matrix, assumed)


def _rate(assumed: Assumptions, element: str) -> float:
    """FLOP/s of products in an element type; of FP8 and FP4 on a GPU without it, those of 16 bits."""
    for prefix in ("f4", "f8", "f16", "f32"):
        if element.startswith(prefix) or (prefix == "f16" and element == "bf16"):
            return 1e12 * assumed.tflops.get(prefix, assumed.tflops["f16"])
    return 1e12 * assumed.tflops["f32"]
