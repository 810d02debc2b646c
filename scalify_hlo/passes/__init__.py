"""Passes over StableHLO modules, and pipelines that mix them with MLIR's own.

Every pass of this package is listed here; `scalify-opt --list-passes` reads the table.
"""

from scalify_hlo.passes.auto_rescale import AutoRescale
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.cast import Cast
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.instrument import Instrument
from scalify_hlo.passes.scalify import Scalify

__all__ = ["PASSES", "AutoRescale", "Cast", "FP8Dots", "Instrument", "Pass", "Scalify"]

PASSES: dict[str, type[Pass]] = {each.name: each for each in (AutoRescale, Cast, Scalify, FP8Dots, Instrument)}
