"""The pass that gives programs one form before anything is looked for in them."""

import dataclasses
from typing import ClassVar

from scalify_hlo.bindings import ir
from scalify_hlo.engine.normal_form import to_normal_form
from scalify_hlo.errors import Diagnostic
from scalify_hlo.passes.base import Pass


@dataclasses.dataclass(frozen=True)
class NormalForm(Pass):
    """Write squares as products, minima of maxima as clamps, and small private functions where they are called.

    Those that are called once count as small.
    """

    name: ClassVar[str] = "scalify-normal-form"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:  # noqa: ARG002 (of every pass)
        with module.context, ir.Location.unknown():
            to_normal_form(module)
