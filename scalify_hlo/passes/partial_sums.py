"""`scalify-partial-sums`: what devices sum of products, reductions and scatters over dimensions that are cut.

Each device has a part of such a sum, and the partitioner adds the parts: of the operation's own result, which is
f32 whatever it is rounded to next. Scaling, rounding and adding parts commute with the sum over devices:

# sum_d c(s x_d) + sum_d c(t y_d) = sum_d (c(s x_d) + c(t y_d)), up to the rounding c

so the parts are kept apart (Shardy's unreduced axes) up to where they have fewest bytes, and are summed there, once for
products that are added up: also of terms that are each rounded to FP8 and widened again for their sum, which then is
not rounded to FP8. In f16 the parts are divided by the number of terms first, and the sum is multiplied by it:
whatever the devices hold, no partial sum is larger than the largest of them. What is rounded to FP8 next is summed in
f16: parts beyond its range are held at its largest number, which is beyond that of FP8.

Gradients that no operation rounds (those of biases, of weights that several layers use, of what a loop adds up) are
rounded for their sum, to the type that the policy has for sums, as those are that a program sums itself. Their data are
of unit size there: they are summed before scales that are known at run time multiply them. Statistics (means,
variances, sums of exponentials), which are read along the rows that they are of, are summed as they are.

Numbers, which are statistics that scales follow above all, are summed as vectors (`joined_numbers`).
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import ClassVar

from scalify_hlo.analysis.calls import defining_op, walk
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic
from scalify_hlo.module.carriers import constrain, fold_layouts, lay_out, pinned, unfold_layouts
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.propagation import Axes, Propagated, propagate
from scalify_hlo.module.traits import SUMS, Trait, names
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.device_sums import BYTES, PRODUCT, REDUCTION, SOURCES, device_sum, is_number, is_sum, without
from scalify_hlo.passes.joined_numbers import ALL_REDUCE, join_numbers
from scalify_hlo.types import FLOAT_RANGE, tensor_info

_CONVERT, _CLAMP = "stablehlo.convert", "stablehlo.clamp"
_UNARY = ("stablehlo.transpose", "stablehlo.negate", _CONVERT)
_SCALINGS = ("stablehlo.multiply", "stablehlo.divide")
_ROWS = "stablehlo.broadcast_in_dim"
_KEEPS_ELEMENTS = names(Trait.ELEMENTWISE) | {"stablehlo.reshape", "stablehlo.transpose", "sdy.sharding_constraint"}


@dataclasses.dataclass(eq=False)
class _Part:
    """A value of which each device has a part. axes: the parts are those of their devices. inputs: of which it is
    computed, none for an operation that sums over devices."""

    value: ir.Value
    layout: Axes
    axes: frozenset[str]
    inputs: tuple["_Part", ...] = ()
    operands: tuple[Axes, ...] = ()  # how those of such an operation are cut
    read: bool = False  # by a part that is computed of it
    summed_as: str = ""  # the type that it is rounded to for its sum; empty: its own
    held: bool = False  # within the range of that type: it is rounded to FP8 next
    rescaled: bool = False  # by scales of run time: no longer of unit size
    on_values: bool = False  # a sum of such, before it is divided by a scale of its own
    in_fp8: bool = False  # rounded to FP8 on the way here and widened again, which a sum of several does not need

    @property
    def size(self) -> int:
        """Bytes in which it is summed."""
        return tensor_info(self.value.type).size * BYTES[self.summed_as or self.element]

    @property
    def element(self) -> str:
        return tensor_info(self.value.type).element

    @property
    def sources(self) -> list["_Part"]:
        """The operations that sum over devices of which it is computed."""
        return [source for part in self.inputs for source in part.sources] if self.inputs else [self]

    @property
    def rounded(self) -> bool:
        """Whether this or what it is computed of is f16: then its parts have been divided by the number of terms."""
        return self.element == "f16" or any(part.rounded for part in self.inputs)

    @property
    def skips(self) -> bool:
        """Whether this or what it is computed of is rounded to FP8 and widened again."""
        return self.in_fp8 or any(part.skips for part in self.inputs)

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
    # The type that gradients in f32 are rounded to for their sum: bf16 or f16. Empty: they are summed in f32.
    gradients: str = ""

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Adds constraints in place."""
        with module.context, ir.Location.unknown(module.context):
            found = {op.name for op in walk(module.operation)}
            known = propagate(module) if not found.isdisjoint(SOURCES) else None
            if known is None and ALL_REDUCE not in found:
                return
            fold_layouts(module)
            parts = [] if known is None else _parts(module, known, self.reductions, self.gradients)
            ends = [end for part in parts if not part.read for end in _cheapest(part)[1] if _is_worth_it(end)]
            if known is not None:
                for end in ends:
                    _sum(end, known)
            vectors = join_numbers(module, known)
            unfold_layouts(module)
            if ends or vectors:
                erase_dead(module)
        if ends:
            message = f"{self.name}: {len(parts)} values in parts, {len(ends)} sums over devices"
            remarks.append(Diagnostic(message, "", "remark"))
        if vectors:
            message = f"{self.name}: numbers summed over devices as {vectors} vectors"
            remarks.append(Diagnostic(message, "", "remark"))


def _parts(module: ir.Module, known: Propagated, reductions: str, gradients: str) -> list[_Part]:
    """The values of which devices have parts, in program order."""
    narrowest = BYTES.get(reductions, 2)
    parts: dict[ir.Value, _Part] = {}
    for op in walk(module.operation):
        layout = known.layouts.get(op.results[0]) if len(op.results) == 1 else None
        if layout is None or layout.results[0] is None:
            continue
        found = (
            _computed(op, parts, layout.results[0], narrowest)
            or _widened(op, parts, layout.results[0], narrowest)
            or _source(op, known, layout.results[0])
        )
        if found is not None:
            if narrowest == 2 and found.element == "f32" and not found.rounded and _becomes_fp8(found.value):
                found.summed_as, found.held = reductions or "f16", True
            elif gradients and found.element == "f32" and not found.rescaled and not _is_statistic(found.value):
                found.summed_as = gradients
            parts[found.value] = found
            for part in found.inputs:
                part.read = True
    return list(parts.values())


def _source(op: ir.Operation, known: Propagated, layout: Axes) -> _Part | None:
    found = device_sum(op, known)
    return None if found is None else _Part(op.results[0], layout, found.axes, operands=found.operands)


def _computed(op: ir.Operation, parts: dict[ir.Value, _Part], layout: Axes, narrowest: int) -> _Part | None:
    """What is computed of parts by an operation that commutes with their sum, and of which nothing else is."""
    if len(op.results) != 1:
        return None
    inputs = tuple(parts[x] for x in op.operands if x in parts)
    if not inputs or any(len(list(part.value.uses)) != 1 for part in inputs):
        return None
    element = tensor_info(op.results[0].type).element
    if BYTES.get(element, 0) < narrowest:
        return None
    found = _Part(op.results[0], layout, inputs[0].axes, inputs)
    by_run_time = op.name in _SCALINGS and not any(_is_constant(operand) for operand in op.operands)
    if op.name in SUMS:
        # A sum in f16 has a scale of its own again, the largest of its terms'. In f32 these are values, and the sum is
        # divided by its scale next.
        found.rescaled = found.on_values = element == "f32" and any(part.rescaled for part in inputs)
    elif by_run_time:
        found.rescaled = not any(part.on_values for part in inputs)
    else:
        found.rescaled, found.on_values = (
            any(part.rescaled for part in inputs),
            any(part.on_values for part in inputs),
        )
    if op.name in _UNARY:
        return found
    if op.name == "stablehlo.reshape":
        return found if _without_ones(inputs[0]) == _without_ones(found) else None
    if op.name == REDUCTION:
        cut = [inputs[0].layout[int(d)] for d in ir.DenseI64ArrayAttr(op.attributes["dimensions"])]
        return found if not any(cut) and is_sum(op) else None
    if op.name in SUMS and len(inputs) == 2:
        return found if inputs[0].axes == inputs[1].axes else None
    if op.name == "stablehlo.multiply" and len(inputs) == 1:
        other = op.operands[1] if op.operands[0] == inputs[0].value else op.operands[0]
        return found if is_number(other) else None
    if op.name == "stablehlo.divide" and len(inputs) == 1 and op.operands[0] == inputs[0].value:
        return found if is_number(op.operands[1]) else None
    return None


def _widened(op: ir.Operation, parts: dict[ir.Value, _Part], layout: Axes, narrowest: int) -> _Part | None:
    """What is rounded to FP8, held within its range or not, and widened again."""
    if op.name != _CONVERT or not tensor_info(op.operands[0].type).element.startswith("f8"):
        return None
    below = defining_op(op.operands[0])
    while below is not None and below.name in (_CONVERT, _CLAMP) and len(list(below.results[0].uses)) == 1:
        value = below.operands[1 if below.name == _CLAMP else 0]
        part = parts.get(value)
        if part is None:
            below = defining_op(value)
            continue
        if BYTES[part.element] < narrowest or part.layout != layout or len(list(value.uses)) != 1:
            return None
        return _Part(
            op.results[0], layout, part.axes, (part,), rescaled=part.rescaled, on_values=part.on_values, in_fp8=True
        )
    return None


def _without_ones(part: _Part) -> list[tuple[int, tuple[str, ...]]]:
    """Sizes of dimensions of more than one element, and how they are cut but along the axes of the parts."""
    layout = without(part.layout, part.axes)
    return [each for each in zip(tensor_info(part.value.type).shape, layout, strict=True) if each[0] != 1]


def _becomes_fp8(value: ir.Value) -> bool:
    """Whether a value is rounded to FP8 and used for nothing else, held within the range of it or not."""
    readers = [use.owner.operation for use in value.uses]
    if len(readers) == 1 and readers[0].name == _CLAMP and readers[0].operands[1] == value:
        return all(map(is_number, (readers[0].operands[0], readers[0].operands[2]))) and _becomes_fp8(
            readers[0].results[0]
        )
    return bool(readers) and all(
        op.name == _CONVERT and tensor_info(op.results[0].type).element.startswith("f8") for op in readers
    )


def _is_statistic(value: ir.Value) -> bool:
    """Whether a value, or what is computed of each of its elements, is repeated along rows."""
    size, seen, left = tensor_info(value.type).size, {value}, [value]
    while left:
        for use in left.pop().uses:
            op = use.owner.operation
            if op.name == _ROWS and tensor_info(op.results[0].type).size > size:
                return True
            if op.name in _KEEPS_ELEMENTS or op.name == _ROWS:
                left += [result for result in op.results if result not in seen]
                seen.update(op.results)
    return False


def _is_constant(value: ir.Value) -> bool:
    op = defining_op(value)
    return op is not None and op.name == "stablehlo.constant"


def _cheapest(part: _Part) -> tuple[int, list[_Part]]:
    """The fewest bytes in which a part can be summed over devices, and the values that are summed for it."""
    if not part.inputs:
        return part.size, [part]
    below = [_cheapest(each) for each in part.inputs]
    apart = sum(size for size, _ in below)
    pays = part.size < apart if part.skips else part.size <= apart
    return (part.size, [part]) if pays else (apart, [end for _, ends in below for end in ends])


def _is_worth_it(end: _Part) -> bool:
    """Whether a sum saves what the partitioner would do: of products, which it sums one by one; of others, bytes."""
    products = [source for source in end.sources if source.value.owner.operation.name == PRODUCT]
    wide = sum(tensor_info(source.value.type).size * BYTES[source.element] for source in end.sources)
    return bool(end.inputs and products) or end.size < wide


def _sum(end: _Part, known: Propagated) -> None:
    """Keep what a value is computed of apart, and sum it over the devices."""
    _leave_wide(end)
    exponent = 0
    if end.summed_as == "f16" or any(part.element == "f16" for part in end.members()):
        terms = len(end.sources) * math.prod(known.sizes[axis] for axis in end.axes)
        exponent = math.ceil(math.log2(terms))
    uses = [(use.owner.operation, use.operand_number) for use in end.value.uses]
    for part in list(end.members()):
        op = part.value.owner.operation
        apart = known.sharding(without(part.layout, end.axes), sorted(end.axes))
        lay_out(op, apart)
        for i, own in enumerate(part.operands):
            op.operands[i] = pinned(op.operands[i], known.sharding(own), ir.InsertionPoint(op))
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
        value = _narrowed(end, exponent, known, ir.InsertionPoint.after(last)) if end.summed_as else end.value
        whole = constrain(value, known.sharding(end.layout), ir.InsertionPoint.after(value.owner.operation))
        with ir.InsertionPoint.after(whole.owner.operation):
            whole = emit.convert(whole, end.element)
            if exponent:
                whole = _times(whole, exponent)
    for user, index in uses:
        user.operands[index] = whole


def _leave_wide(part: _Part) -> None:
    """Compute a part of what its inputs were before they were rounded to FP8."""
    for each in part.inputs:
        _leave_wide(each)
        if each.in_fp8:
            each.value.owner.operation.operands[0] = each.inputs[0].value
            if each.element == each.inputs[0].element:
                each.value.replace_all_uses_with(each.inputs[0].value)
    part.inputs = tuple(
        each.inputs[0] if each.in_fp8 and each.element == each.inputs[0].element else each for each in part.inputs
    )


def _narrowed(end: _Part, exponent: int, known: Propagated, ip: ir.InsertionPoint) -> ir.Value:
    """Parts in the type that they are summed in, held within its range where they are to be."""
    apart = known.sharding(without(end.layout, end.axes), sorted(end.axes))
    with ip:
        values = [end.value]
        if exponent and not end.rounded:
            values.append(_times(values[-1], -exponent))
        if end.held:
            number = emit.tensor_type((), end.element)
            largest_exponent, _, digits = FLOAT_RANGE[end.summed_as]
            largest = (2 - 2.0**-digits) * 2.0**largest_exponent
            bounds = emit.splat(number, -largest), emit.splat(number, largest)
            values.append(emit.op("clamp", end.value.type, bounds[0], values[-1], bounds[1]))
        values.append(emit.convert(values[-1], end.summed_as))
    for value in values[1:]:
        lay_out(value.owner.operation, apart)
    return values[-1]


def _divided(
    value: ir.Value, exponent: int, part: _Part, end: _Part, known: Propagated, ip: ir.InsertionPoint
) -> ir.Value:
    """The value of a part divided by 2^exponent, in parts as it is."""
    with ip:
        result = _times(value, -exponent)
    lay_out(result.owner.operation, known.sharding(without(part.layout, end.axes), sorted(end.axes)))
    return result


def _times(value: ir.Value, exponent: int) -> ir.Value:
    return emit.op("multiply", value.type, value, emit.splat(value.type, 2.0**exponent))


def _replace(value: ir.Value, new: ir.Value) -> None:
    for use in list(value.uses):
        if use.owner.operation != new.owner.operation:
            use.owner.operation.operands[use.operand_number] = new
