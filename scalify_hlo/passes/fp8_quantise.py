"""Saturating conversions to FP8, with or without a scale from the tensor's largest magnitude."""

import dataclasses
from collections.abc import Collection, Mapping

from scalify_hlo.analysis.calls import defining_op
from scalify_hlo.bindings import ir
from scalify_hlo.passes import emission as emit
from scalify_hlo.passes.held_values import after, fits
from scalify_hlo.types import LARGEST, LARGEST_F16, tensor_info

# Operations that only move elements: the conversion goes before them, so that all readers share one.
_MOVEMENTS = ("stablehlo.transpose", "stablehlo.reshape")
# The largest power of two that a tensor is multiplied by; all smaller magnitudes are as good as zero.
_LARGEST_FACTOR = 2.0**120
# The largest numbers of the types that are measured, as f32 (bf16's infinity is f32's).
_LARGEST_WIDE = {"f16": LARGEST_F16, "bf16": 2.0**127, "f32": 2.0**127}


@dataclasses.dataclass(frozen=True)
class Quantised:
    """A tensor as value * factor: FP8 data, and a f32 scalar, None where it is 1."""

    value: ir.Value
    factor: ir.Value | None = None


class Quantiser:
    """Converts each value once per format, right after its definition.

    current_scaling: multiply by the power of two that brings the largest magnitude just below the format's largest
    number, which needs a pass over the tensor; otherwise values are taken to be of unit size already.
    factors: powers of two known beforehand, by which values are divided instead.
    uncertain: values of which each is measured as with `current_scaling`, where no factor is known.
    """

    def __init__(
        self, *, current_scaling: bool = False, factors: Mapping[ir.Value, float] | None = None,
        uncertain: Collection[ir.Value] = (),
    ):  # fmt: skip
        self._current_scaling = current_scaling
        self._uncertain = uncertain
        self._factors = factors or {}
        self._done: dict[tuple[ir.Value, str], Quantised] = {}
        self._bounds = emit.LeadingNumbers()
        # What readers of a product take since its operands have factors -> the product's result, by which it is known.
        self._unscaled: dict[ir.Value, ir.Value] = {}

    def quantised(self, value: ir.Value, element: str) -> Quantised:
        """`value` clamped to the finite range of `element` and converted to it."""
        key = (value, element)
        if key not in self._done:
            op = defining_op(value)
            if op is not None and op.name in _MOVEMENTS:
                inner = self.quantised(op.operands[0], element)
                self._done[key] = Quantised(_moved(op, inner.value), inner.factor)
            elif op is not None and _widens(op):
                self._done[key] = self.quantised(op.operands[0], element)
            else:
                self._done[key] = self._converted(value, element)
        return self._done[key]

    def rescale(self, op: ir.Operation, operands: tuple[Quantised, Quantised]) -> None:
        """Multiply the result of a product by its operands' factors, for all that reads it."""
        result = op.results[0]
        scaled = _rescaled(op, operands)
        if scaled is not None:
            self._unscaled[scaled] = result

    def _converted(self, value: ir.Value, element: str) -> Quantised:
        ip, location = after(value)
        largest = LARGEST[element]
        factor = None
        named = self._unscaled.get(value, value)
        known = self._factors.get(named, 1.0)
        with ip, location:
            if known != 1:
                # What is out of f16's range is out of FP8's at either end: only the factor may need a wider type.
                wide = value if fits(1 / known, tensor_info(value.type).element) else emit.convert(value, "f32")
                value = emit.times(wide, 1 / known)
                factor = emit.splat(emit.tensor_type((), "f32"), known)
            elif self._current_scaling or (named in self._uncertain and named not in self._factors):
                wide = emit.convert(value, "f32")
                scale = _power_of_two_below_ratio(wide, largest, _LARGEST_WIDE[tensor_info(value.type).element])
                one = emit.splat(scale.type, 1.0)
                factor = emit.op("divide", scale.type, one, scale)
                value = emit.op("multiply", wide.type, wide, emit.broadcast(scale, wide))
            low, high = (self._bound(value, bound) for bound in (-largest, largest))
            return Quantised(emit.convert(emit.op("clamp", value.type, low, value, high), element), factor)

    def _bound(self, value: ir.Value, bound: float) -> ir.Value:
        """A scalar constant of the element type of `value`, at the start of its block."""
        op = defining_op(value)
        block = ir.BlockArgument(value).owner if op is None else op.block
        return self._bounds.of(block, tensor_info(value.type).element, bound)


def unmoved(value: ir.Value) -> ir.Value:
    """The value that is rounded for an operand: what it was before it was moved, or widened."""
    while True:
        op = defining_op(value)
        if op is None or not (op.name in _MOVEMENTS or _widens(op)):
            return value
        value = op.operands[0]


def _rescaled(op: ir.Operation, operands: tuple[Quantised, Quantised]) -> ir.Value | None:
    """The result of a product times its operands' factors: in f32, then in the type it had. None without factors."""
    factors = [operand.factor for operand in operands if operand.factor is not None]
    if not factors:
        return None
    result = op.results[0]
    element = tensor_info(result.type).element
    readers = list(result.uses)
    result.set_type(emit.with_element(result.type, "f32"))
    with ir.InsertionPoint.after(op), op.location:
        factor = factors[0] if len(factors) == 1 else emit.op("multiply", factors[0].type, *factors)
        scaled = emit.op("multiply", result.type, result, emit.broadcast(factor, result))
        scaled = emit.convert(scaled, element)
    for use in readers:
        use.owner.operation.operands[use.operand_number] = scaled
    return scaled


def _power_of_two_below_ratio(x: ir.Value, largest: float, finite: float) -> ir.Value:
    """f32 scalar: the largest power of two s with s * max|x| <= largest.

    Infinities count as `finite`, the largest number of the type that x had: they saturate and leave the others as they
    are.
    """
    amax = emit.reduce(emit.op("abs", x.type, x), "maximum", 0.0)
    scalar = amax.type
    amax = emit.op("minimum", scalar, amax, emit.splat(scalar, finite))
    ratio = emit.op("divide", scalar, emit.splat(scalar, largest), amax)  # infinite for a tensor of zeros
    low, high = emit.splat(scalar, 1 / _LARGEST_FACTOR), emit.splat(scalar, _LARGEST_FACTOR)
    ratio = emit.op("clamp", scalar, low, ratio, high)
    integer = emit.tensor_type((), "i32")
    exponent = emit.op(
        "and", integer, emit.op("bitcast_convert", integer, ratio), emit.integer_splat(integer, 0x7F800000)
    )
    return emit.op("bitcast_convert", scalar, exponent)


def _moved(op: ir.Operation, operand: ir.Value) -> ir.Value:
    """A copy of a transpose or reshape, on another element type."""
    copy = op.clone(ip=ir.InsertionPoint.after(op))
    copy.operands[0] = operand
    copy.results[0].set_type(emit.with_element(op.results[0].type, tensor_info(operand.type).element))
    return copy.results[0]


def _widens(op: ir.Operation) -> bool:
    """f16 or bf16 to f32: the narrow value is the same and cheaper to read."""
    if op.name != "stablehlo.convert":
        return False
    source, result = (tensor_info(value.type).element for value in (op.operands[0], op.results[0]))
    return result == "f32" and source in ("f16", "bf16")
