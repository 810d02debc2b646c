"""Passes over StableHLO modules, and pipelines that mix them with MLIR's own.

Every pass of this package is listed here; `scalify-opt --list-passes` reads the table.
"""

from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.scalify import Scalify

__all__ = ["PASSES", "Pass", "Scalify"]

PASSES: dict[str, type[Pass]] = {each.name: each for each in (Scalify,)}
