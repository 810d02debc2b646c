"""The options of a check: one frozen dataclass, from which the command line's flags derive."""

import dataclasses
from typing import Literal

from scalify_hlo.execution.inputs import ScaleMode
from scalify_hlo.io.choices import check_choices

Backend = Literal["xla", "interpreter"]


@dataclasses.dataclass(frozen=True)
class CheckOptions:
    """How two modules are compared. Every field has a `--flag` of the same name in `scalify-check`."""

    # Seed of the inputs that are drawn, and of the jitter of their scales.
    seed: int = 0
    # Floats that are drawn: normal, positive, or (auto) positive where normal ones make the original return NaN.
    draw: Literal["auto", "normal", "positive"] = "auto"
    # Scales of the scaled arguments: near each argument's root mean square, up to 2^6 away from it, or 1.
    scales: ScaleMode = "rms"
    # What runs the modules: XLA:CPU, or the StableHLO reference interpreter (slow, every operation rounded once).
    backend: Backend = "xla"
    # Let XLA keep f16 and bf16 values in a wider type between operations.
    excess_precision: bool = False
    # How far a result may be from the f64 program's, in units of the original's own rounding noise.
    tolerance: float = 8.0
    # The same in units of the result's own resolution, where there is little noise (see below).
    epsilons: float = 4.0

    def __post_init__(self) -> None:
        check_choices(self)
