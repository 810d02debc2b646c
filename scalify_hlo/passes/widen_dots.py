"""`scalify-widen-dots`: f32 operands for the bf16 products that XLA:CPU does not have.

XLA:CPU multiplies bf16 by bf16 into f32 in some layouts only ("Unsupported element type for DotThunk"). The numbers of
bf16 are f32 numbers too and their products exact in f32, so that nothing changes but the type in which they are
multiplied. The front end and the execution tools run the pass where they compile for XLA:CPU.
"""

import dataclasses
from typing import ClassVar

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.types import tensor_info

_PRODUCTS = frozenset({"stablehlo.dot", "stablehlo.dot_general"})


@dataclasses.dataclass(frozen=True)
class WidenDots(Pass):
    """Convert the bf16 operands of matrix products with f32 results to f32, for XLA:CPU, which lacks some of them."""

    name: ClassVar[str] = "scalify-widen-dots"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Adds conversions in place."""
        del remarks
        for op in walk(module.operation):
            if op.name not in _PRODUCTS or tensor_info(op.results[0].type).element != "f32":
                continue
            for i, operand in enumerate(op.operands):
                if tensor_info(operand.type).element == "bf16":
                    with ir.InsertionPoint(op), op.location:
                        op.operands[i] = emit.convert(operand, "f32")
