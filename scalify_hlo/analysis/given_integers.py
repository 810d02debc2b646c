"""Integers that a program is given and multiplies by matrices: images of 16 bits, counts, codes.

Of a float that a program is given the scale comes with it; of an integer nothing is known but its type, and nobody
stores in 16 bits what fits 8. What they become as floats is measured, where a product of matrices reads it.
"""

from collections.abc import Iterable, Sequence

from scalify_hlo.analysis.calls import CallGraph
from scalify_hlo.analysis.following import follow
from scalify_hlo.analysis.product_shapes import contracted_dimensions
from scalify_hlo.bindings import ir
from scalify_hlo.module.traits import SUMS, Trait, names
from scalify_hlo.types import tensor_info

# Of fewer bits the type tells the size.
_WIDE = 16
# Values that are looked at behind one.
_FAR = 64
_MOVES = names(Trait.MOVES, without=Trait.COLLECTIVE)
_CONTRACTIONS = names(Trait.CONTRACTS)
_HANDS_ON = frozenset((*_MOVES, *SUMS)) | {
    f"stablehlo.{name}"
    for name in ("multiply", "divide", "negate", "abs", "maximum", "minimum", "clamp", "convert", "concatenate")
}


def given_integers(calls: CallGraph, main: str) -> list[ir.Value]:
    """Floats, in program order, that are tensors of wide integers among a function's arguments, and enter a product."""
    given: set[ir.Value] = {value for value in calls.body(main).arguments if is_wide_integer(value)}
    if not given:
        return []
    found: list[ir.Value] = []

    def look_at(op: ir.Operation) -> None:
        if not len(op.operands) or op.operands[0] not in given or len(op.results) != 1:
            return
        result = op.results[0]
        if op.name == "stablehlo.convert" and tensor_info(result.type).is_float:
            if tensor_info(result.type).rank and _enters_product(calls, result):
                found.append(result)
        elif op.name in _HANDS_ON and is_wide_integer(result):
            given.add(result)

    def hand_on(ways: Iterable[Sequence[ir.Value]], places: Iterable[ir.Value]) -> None:
        given.update(place for values, place in zip(ways, places, strict=True) if given.issuperset(values))

    follow(calls, main, look_at, hand_on)
    return found


def is_wide_integer(value: ir.Value) -> bool:
    """Whether a value is integers of 16 and more bits, which have no scale and may be of any size."""
    if not isinstance(value.type, ir.RankedTensorType):
        return False
    element = ir.RankedTensorType(value.type).element_type
    return isinstance(element, ir.IntegerType) and element.width >= _WIDE


def _enters_product(calls: CallGraph, value: ir.Value) -> bool:
    """Whether a product of matrices reads a value, or what sums and products of elements make of it."""
    pending, seen = [value], {value}
    while pending and len(seen) <= _FAR:
        for use in pending.pop().uses:
            op = use.owner.operation
            if op.name in _CONTRACTIONS and not _is_outer(op):
                return True
            body = calls.callee_body(op)
            following = [body.arguments[use.operand_number]] if body is not None else list(op.results)
            if body is None and op.name not in _HANDS_ON:
                continue
            new = [each for each in following if each not in seen and tensor_info(each.type).is_float]
            seen.update(new)
            pending += new
    return False


# positions by frequencies: p_i f_j
def _is_outer(op: ir.Operation) -> bool:
    """Whether a product sums nothing."""
    if op.name != "stablehlo.dot_general":
        return False
    shape = tensor_info(op.operands[0].type).shape
    return all(shape[d] == 1 for d in contracted_dimensions(op)[0])
