"""`scalify-narrow-gathers`: rounds what is gathered from several devices before it is moved, not after.

# c(take(x)) = take(c(x)) for a rounding c

On one device it is cheaper to round what is taken of a table, a row for each token, than the whole of it. Where the
table is cut over devices (ZeRO-3), it is gathered to take from it, and then in the type that it has: f32 for master
weights. There the rounding comes first.
"""

import dataclasses
from typing import ClassVar

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.propagation import Axes, propagate
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.device_sums import BYTES
from scalify_hlo.types import tensor_info

_GATHER = "stablehlo.gather"
_TAKES = (_GATHER, "stablehlo.slice", "stablehlo.dynamic_slice")


@dataclasses.dataclass(frozen=True)
class NarrowGathers(Pass):
    """Round tables that are cut over devices before something is taken of them, where it is rounded next.

    Leaves a module as it is that is not partitioned.
    """

    name: ClassVar[str] = "scalify-narrow-gathers"

    # Nothing is gathered in a narrower type: f32, bf16 or f16. Empty: in the one that the program rounds to.
    gathers: str = ""

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Moves conversions in place."""
        with module.context, ir.Location.unknown(module.context):
            found = [(op, narrow) for op in walk(module.operation) if (narrow := self._rounded_to(op))]
            known = propagate(module) if found else None
            if known is None:
                return
            count = 0
            for op, narrow in found:
                layout = known.layouts.get(op.results[0])
                if layout is not None and _is_gathered(op, layout.operands[0], layout.results[0]):
                    count += 1
                    _round_before(op, narrow)
        if count:
            remarks.append(Diagnostic(f"{self.name}: {count} tables rounded before they are gathered", "", "remark"))

    def _rounded_to(self, op: ir.Operation) -> str:
        """The one narrower float type that a taken value is rounded to by all that read it; "" for other operations."""
        if op.name not in _TAKES:
            return ""
        users = [use.owner.operation for use in op.results[0].uses]
        if not users or any(user.name != "stablehlo.convert" for user in users):
            return ""
        types = {tensor_info(user.results[0].type).element for user in users}
        narrow, wide = types.pop(), tensor_info(op.results[0].type).element
        fits = BYTES.get(self.gathers, 2) <= BYTES.get(narrow, 0) < BYTES.get(wide, 0)
        return narrow if fits and not types else ""


def _is_gathered(op: ir.Operation, operand: Axes | None, result: Axes | None) -> bool:
    """Whether a table is cut along a dimension along which what is taken of it is not cut in the same way."""
    if operand is None or result is None:
        return False
    stays = {d: d for d in range(len(operand))}
    if op.name == _GATHER:
        numbers = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
        gone = {*map(int, numbers.collapsed_slice_dims), *map(int, numbers.operand_batching_dims)}
        left = [d for d in range(len(operand)) if d not in gone]
        stays = dict(zip(left, map(int, numbers.offset_dims), strict=True))
    return any(axes and (d not in stays or result[stays[d]] != axes) for d, axes in enumerate(operand))


def _round_before(op: ir.Operation, narrow: str) -> None:
    """Take of the rounded table."""
    result = op.results[0]
    with ir.InsertionPoint(op), op.location:
        op.operands[0] = emit.convert(op.operands[0], narrow)
    result.set_type(emit.with_element(result.type, narrow))
    for user in [use.owner.operation for use in result.uses]:
        user.results[0].replace_all_uses_with(result)
        user.erase()
