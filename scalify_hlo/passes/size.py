"""The pass that says of every value how large it is."""

import dataclasses
from typing import ClassVar

from scalify_hlo.bindings import ir
from scalify_hlo.engine.signature import public_function
from scalify_hlo.errors import Diagnostic, describe_location
from scalify_hlo.passes.base import Pass
from scalify_hlo.size.analysis import Frame, SizeAnalysis
from scalify_hlo.size.steps import frames, settled
from scalify_hlo.types import tensor_info

SIZE, BLOCK = "scalify.size", "scalify.block"


@dataclasses.dataclass(frozen=True)
class Sizes(Pass):
    """Stamp every operation with the estimated size of its float results, relative to the sizes of the arguments."""

    name: ClassVar[str] = "scalify-size"

    # Print a table of all values to stderr as remarks, instead of stamping them.
    table: bool = False
    # Averages among the arguments that results replace have the size that they settle at, over many steps.
    over_steps: bool = True

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        public = public_function(module)
        analysis = settled(module, public) if self.over_steps else SizeAnalysis(module, public)
        for frame in frames(analysis.main):
            for value, size in frame.sizes.items():
                if not isinstance(value, ir.OpResult) or not tensor_info(value.type).carries_scale:
                    continue
                op = value.owner.operation
                text = analysis.algebra.describe(size)
                if self.table:
                    at_one = f"2^{analysis.algebra.at_one(size):.1f} with all sources of size 1"
                    where = describe_location(op.location)
                    remarks.append(Diagnostic(f"{op.name}: {text}; {at_one}", where, "remark"))
                elif SIZE not in op.attributes:  # of a function called several times, the first call
                    _stamp(op, value, text, frame)


def _stamp(op: ir.Operation, value: ir.Value, text: str, frame: Frame) -> None:
    block = frame.blocks.get(value)
    if block is not None:
        op.attributes[BLOCK] = ir.StringAttr.get(block)
    if len(op.results) == 1:
        op.attributes[SIZE] = ir.StringAttr.get(text)
    else:
        op.attributes[f"{SIZE}.{ir.OpResult(value).result_number}"] = ir.StringAttr.get(text)
