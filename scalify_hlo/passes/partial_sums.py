"""`scalify-partial-sums`: what devices sum of products that are cut along their contracting dimensions.

Each device has a part of such a product, and the partitioner sums the parts: of the product's own result, which is
f32 whatever it is rounded to next. Scaling, rounding and adding parts commute with the sum over devices:

# sum_d c(s x_d) + sum_d c(t y_d) = sum_d (c(s x_d) + c(t y_d)), up to the rounding c

so the parts are kept apart (Shardy's unreduced axes) up to where they have fewest bytes, and are summed there, once for
products that are added up. In f16 the parts are divided by the number of terms first, and the sum is multiplied by it:
whatever the devices hold, no partial sum is larger than the largest of them.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.bindings import ir, stablehlo
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.carriers import constrain, fold_layouts, lay_out, unfold_layouts
from scalify_hlo.module.constants import splat_number
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.propagation import Axes, Propagated, propagate
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.types import tensor_info

_BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}
_PRODUCT = "stablehlo.dot_general"
_UNARY = ("stablehlo.transpose", "stablehlo.negate")
_SUMS = ("stablehlo.add", "stablehlo.subtract")


@dataclasses.dataclass(eq=False)
class _Part:
    """A value of which each device has a part. axes: the parts are those of their devices. inputs: of which it is
    computed, none for a product."""

    value: ir.Value
    layout: Axes
    axes: frozenset[str]
    inputs: tuple["_Part", ...] = ()
    operands: tuple[Axes, ...] = ()  # how those of a product are cut
    read: bool = False  # by a part that is computed of it

    @property
    def element(self) -> str:
        return tensor_info(self.value.type).element

    @property
    def products(self) -> int:
        return sum(part.products for part in self.inputs) if self.inputs else 1

    @property
    def rounded(self) -> bool:
        """Whether this or what it is computed of is f16: then its parts have been divided by the number of terms."""
        return self.element == "f16" or any(part.rounded for part in self.inputs)

    def members(self) -> Iterator["_Part"]:
        """All that is computed apart, operands first."""
        for part in self.inputs:
            yield from part.members()
        yield self


@dataclasses.dataclass(frozen=True)
class PartialSums(Pass):
    """Sum the parts of products that are cut over devices in the type that they are rounded to, sums of them once.

    Leaves a module as it is that is not partitioned.
    """

    name: ClassVar[str] = "scalify-partial-sums"

    # No sum over devices in a narrower type: f32, bf16 or f16. Empty: in the one that the program rounds to.
    reductions: str = ""

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Adds constraints in place."""
        with module.context, ir.Location.unknown(module.context):
            if not any(op.name == _PRODUCT for op in walk(module.operation)):
                return
            known = propagate(module)
            if known is None:
                return
            fold_layouts(module)
            sums = 0
            parts = _parts(module, known, _BYTES.get(self.reductions, 2))
            for root in [part for part in parts if not part.read]:
                for end in _cheapest(root)[1]:
                    if end.inputs:  # a product alone is summed as it is
                        sums += 1
                        _sum(end, known)
            unfold_layouts(module)
            if sums:
                erase_dead(module)
        if sums:
            message = f"{self.name}: {len(parts)} values in parts, {sums} sums over devices"
            remarks.append(Diagnostic(message, "", "remark"))


def _parts(module: ir.Module, known: Propagated, narrowest: int) -> list[_Part]:
    """The values of which devices have parts, in program order."""
    parts: dict[ir.Value, _Part] = {}
    for op in walk(module.operation):
        layout = known.layouts.get(op.results[0]) if len(op.results) == 1 else None
        if layout is None or layout.results[0] is None:
            continue
        found = _product(op, known) if op.name == _PRODUCT else _computed(op, parts, layout.results[0], narrowest)
        if found is not None:
            parts[found.value] = found
            for part in found.inputs:
                part.read = True
    return list(parts.values())


def _product(op: ir.Operation, known: Propagated) -> _Part | None:
    """A product whose contracting dimensions are cut, in the same way on both sides."""
    layout = known.layouts[op.results[0]]
    lhs, rhs = layout.operands
    (result,) = layout.results
    if lhs is None or rhs is None or result is None or tensor_info(op.results[0].type).element not in _BYTES:
        return None
    numbers = _contracting(op)
    cut = [lhs[d] for d in numbers[0]]
    axes = frozenset(axis for each in cut for axis in each)
    if not axes or cut != [rhs[d] for d in numbers[1]]:
        return None
    for value, own in zip((*op.operands, op.results[0]), (lhs, rhs, result), strict=True):
        parts = [math.prod(known.sizes[axis] for axis in each) for each in own]
        if any(size % count for size, count in zip(tensor_info(value.type).shape, parts, strict=True)):
            return None  # the partitioner pads
    return _Part(op.results[0], result, axes, operands=(lhs, rhs))


def _contracting(op: ir.Operation) -> tuple[list[int], list[int]]:
    """The contracting dimensions of both sides of a product."""
    numbers = stablehlo.DotDimensionNumbers(op.attributes["dot_dimension_numbers"])
    return list(numbers.lhs_contracting_dimensions), list(numbers.rhs_contracting_dimensions)


def _computed(op: ir.Operation, parts: dict[ir.Value, _Part], layout: Axes, narrowest: int) -> _Part | None:
    """What is computed of parts by an operation that commutes with their sum, and of which nothing else is."""
    inputs = tuple(parts[x] for x in op.operands if x in parts)
    if not inputs or any(len(list(part.value.uses)) != 1 for part in inputs):
        return None
    element = tensor_info(op.results[0].type).element
    if _BYTES.get(element, 0) < narrowest:
        return None
    found = _Part(op.results[0], layout, inputs[0].axes, inputs)
    if op.name in _UNARY or op.name == "stablehlo.convert":
        return found
    if op.name in _SUMS and len(inputs) == 2:
        return found if inputs[0].axes == inputs[1].axes else None
    if op.name == "stablehlo.multiply" and len(inputs) == 1:
        other = op.operands[1] if op.operands[0] == inputs[0].value else op.operands[0]
        return found if _is_number(other) else None
    if op.name == "stablehlo.divide" and len(inputs) == 1 and op.operands[0] == inputs[0].value:
        return found if _is_number(op.operands[1]) else None
    return None


def _is_number(value: ir.Value) -> bool:
    """Whether all elements of a value are one number, the same on all devices."""
    op = defining_op(value)
    if op is None:
        return False
    if op.name == "stablehlo.broadcast_in_dim":
        return tensor_info(op.operands[0].type).rank == 0
    return op.name == "stablehlo.constant" and splat_number(op) is not None


def _cheapest(part: _Part) -> tuple[int, list[_Part]]:
    """The fewest bytes in which a part can be summed over devices, and the values that are summed for it."""
    here = tensor_info(part.value.type).size * _BYTES[part.element]
    if not part.inputs:
        return here, [part]
    below = [_cheapest(each) for each in part.inputs]
    apart = sum(size for size, _ in below)
    return (here, [part]) if here <= apart else (apart, [end for _, ends in below for end in ends])


def _sum(end: _Part, known: Propagated) -> None:
    """Keep what a value is computed of apart, and sum it over the devices."""
    exponent = 0
    if any(part.element == "f16" for part in end.members()):
        terms = end.products * math.prod(known.sizes[axis] for axis in end.axes)
        exponent = math.ceil(math.log2(terms))
    uses = [(use.owner.operation, use.operand_number) for use in end.value.uses]
    for part in list(end.members()):
        op = part.value.owner.operation
        apart = known.sharding(_without(part.layout, end.axes), sorted(end.axes))
        lay_out(op, apart)
        for i, own in enumerate(part.operands):
            op.operands[i] = constrain(op.operands[i], known.sharding(own), ir.InsertionPoint(op))
        if not exponent or not part.rounded:
            continue
        # Each part is divided once on its way: where it becomes f16, or before it is added to what has been.
        with op.location:
            for i, operand in enumerate(list(op.operands)):
                below = next((each for each in part.inputs if each.value == operand), None)
                if below is not None and not below.rounded:
                    op.operands[i] = _divided(operand, exponent, below, end, known, ir.InsertionPoint(op))
            if not part.inputs:
                after = ir.InsertionPoint.after(op)
                _replace(part.value, _divided(part.value, exponent, part, end, known, after))
    last = end.value.owner.operation
    with last.location:
        whole = constrain(end.value, known.sharding(end.layout), ir.InsertionPoint.after(last))
        if exponent:
            with ir.InsertionPoint.after(whole.owner.operation):
                whole = _times(whole, exponent)
    for user, index in uses:
        user.operands[index] = whole


def _divided(
    value: ir.Value, exponent: int, part: _Part, end: _Part, known: Propagated, ip: ir.InsertionPoint
) -> ir.Value:
    """The value of a part divided by 2^exponent, in parts as it is."""
    with ip:
        result = _times(value, -exponent)
    lay_out(result.owner.operation, known.sharding(_without(part.layout, end.axes), sorted(end.axes)))
    return result


def _times(value: ir.Value, exponent: int) -> ir.Value:
    return emit.op("multiply", value.type, value, emit.splat(value.type, 2.0**exponent))


def _replace(value: ir.Value, new: ir.Value) -> None:
    for use in list(value.uses):
        if use.owner.operation != new.owner.operation:
            use.owner.operation.operands[use.operand_number] = new


def _without(layout: Axes, axes: frozenset[str]) -> Axes:
    return tuple(tuple(axis for axis in each if axis not in axes) for each in layout)
