"""The pass that the package is named after."""

import dataclasses
from typing import ClassVar

from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic
from scalify_hlo.in_place import scalify_in_place
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.passes.base import Pass


@dataclasses.dataclass(frozen=True)
class Scalify(ScalifyOptions, Pass):
    """Carry every float tensor that depends on scaled arguments as data * scale."""

    name: ClassVar[str] = "scalify"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        scalify_in_place(module, self, remarks)
