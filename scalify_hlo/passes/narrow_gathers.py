"""`scalify-narrow-gathers`: rounds what is gathered from several devices before it is moved, not after.

# c(take(x)) = take(c(x)) for a rounding c

On one device it is cheaper to round what is taken of a table, a row for each token, than the whole of it. Where the
table is cut over devices (ZeRO-3), it is gathered to take from it, and then in the type that it has: f32 for master
weights. There the rounding comes first. Rows that something else reads unrounded, a mean say, are read as they are
rounded: in presets that compute in f16 a parameter is one in f16 for what is computed of it.
"""

import dataclasses
from typing import ClassVar

from scalify_hlo.analysis.calls import walk
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.carriers import fold_layouts, unfold_layouts
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.propagation import Axes, Propagated, propagate
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.cast import STATE
from scalify_hlo.passes.device_sums import BYTES
from scalify_hlo.passes.gathered_parameters import GatheredParameters, state_of
from scalify_hlo.passes.narrow_collectives import round_before_collectives
from scalify_hlo.types import tensor_info

_CONVERT, _GATHER = "stablehlo.convert", "stablehlo.gather"
_TAKES = (_GATHER, "stablehlo.slice", "stablehlo.dynamic_slice")


@dataclasses.dataclass(frozen=True)
class NarrowGathers(Pass):
    """Round what is cut over devices before it is gathered, where it is rounded next.

    Leaves a module as it is that is not partitioned.
    """

    name: ClassVar[str] = "scalify-narrow-gathers"

    # Nothing is gathered in a narrower type: f32, bf16 or f16. Empty: in the one that the program rounds to.
    gathers: str = ""
    # The type that parameters in f32 are gathered in where only some of what reads them rounds them, or a function of
    # them is computed in f32 before it does: bf16 or f16. Empty: f32.
    parameters: str = ""

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Moves conversions in place."""
        with module.context, ir.Location.unknown(module.context):
            count = round_before_collectives(module, self.gathers)
            takes = [op for op in walk(module.operation) if op.name in _TAKES]
            known = propagate(module) if takes or self.parameters else None
            if known is not None:
                count += self._round(module, takes, known)
        if count:
            remarks.append(Diagnostic(f"{self.name}: {count} values rounded before they are gathered", "", "remark"))

    def _round(self, module: ir.Module, takes: list[ir.Operation], known: Propagated) -> int:
        """Round what the partitioner gathers; returns how many values."""
        fold_layouts(module)
        parameters = state_of(module, STATE) if self.parameters else []
        count = 0
        for op in takes:
            narrow = self._rounded_to(op, parameters)
            layout = known.layouts.get(op.results[0])
            if narrow and layout is not None and _is_gathered(op, layout.operands[0], layout.results[0]):
                count += 1
                _round_before(op, narrow)
        gathered = GatheredParameters(parameters, known, self.parameters)
        gathered.round_before()
        unfold_layouts(module)
        if gathered.found:
            erase_dead(module)
        return count + len(gathered.found)

    def _rounded_to(self, op: ir.Operation, parameters: list[ir.Value]) -> str:
        """The one narrower float type that a taken value is rounded to by all that read it, or by some where rows of a
        parameter are taken; "" for others."""
        wide = tensor_info(op.results[0].type).element
        users = [use.owner.operation for use in op.results[0].uses]
        types = {tensor_info(user.results[0].type).element for user in users if user.name == _CONVERT}
        if len(types) != 1:
            return ""
        (narrow,) = types
        partly = narrow == self.parameters and op.operands[0] in parameters
        every = all(user.name == _CONVERT for user in users)
        fits = BYTES.get(self.gathers, 2) <= BYTES.get(narrow, 0) < BYTES.get(wide, 0)
        return narrow if fits and (every or partly) else ""


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
    """Take of the rounded table; what reads it unrounded reads it widened."""
    result, type_ = op.results[0], op.results[0].type
    users = [(use.owner.operation, use.operand_number) for use in result.uses]
    with ir.InsertionPoint(op), op.location:
        op.operands[0] = emit.convert(op.operands[0], narrow)
    result.set_type(emit.with_element(type_, narrow))
    wide: ir.Value | None = None
    for user, index in users:
        if user.name == _CONVERT:
            user.results[0].replace_all_uses_with(result)
            user.erase()
            continue
        if wide is None:
            with ir.InsertionPoint.after(op), op.location:
                wide = emit.convert(result, tensor_info(type_).element)
        user.operands[index] = wide
