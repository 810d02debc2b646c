"""Passes over StableHLO modules, and pipelines that mix them with MLIR's own.

Every pass of this package is listed here; `scalify-opt --list-passes` reads the table.
"""

from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.fp8_dots import FP8Dots
from scalify_hlo.passes.scalify import Scalify

__all__ = ["PASSES", "FP8Dots", "Pass", "Scalify"]

PASSES: dict[str, type[Pass]] = {each.name: each for each in (Scalify, FP8Dots)}
