"""Compile-time facts of plain values: constants and what data movement and simple arithmetic makes of them.

The facts are found by walking back from a plain value when a scaled one meets it, so that subgraphs that never
meet a scaled value cost nothing.
"""

import dataclasses
import math
import re
from collections.abc import Callable

import ml_dtypes
import numpy as np

from scalify_hlo.analysis.calls import terminator
from scalify_hlo.bindings import ir
from scalify_hlo.execution.element_types import NUMPY_DTYPES
from scalify_hlo.moments import Moments, of_constant
from scalify_hlo.types import tensor_info
from scalify_hlo.values import UNKNOWN, PlainFacts

# Operations that rearrange or repeat elements: a splat stays the same splat.
_MOVES = frozenset(
    f"stablehlo.{name}"
    for name in (
        "broadcast_in_dim", "dynamic_broadcast_in_dim", "broadcast", "reshape", "dynamic_reshape", "transpose",
        "slice", "dynamic_slice", "real_dynamic_slice", "reverse", "gather", "dynamic_gather",
    )
)  # fmt: skip
_UNARY: dict[str, Callable[[float], float]] = {
    "stablehlo.negate": lambda x: -x,
    "stablehlo.abs": abs,
    "stablehlo.sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
    "stablehlo.rsqrt": lambda x: 1 / math.sqrt(x) if x > 0 else math.inf,
}
_BINARY: dict[str, Callable[[float, float], float]] = {
    "stablehlo.add": lambda x, y: x + y,
    "stablehlo.subtract": lambda x, y: x - y,
    "stablehlo.multiply": lambda x, y: x * y,
    "stablehlo.divide": lambda x, y: x / y if y else math.nan,
    "stablehlo.maximum": lambda x, y: float(np.maximum(x, y)),  # not Python's: NaN is the larger
    "stablehlo.minimum": lambda x, y: float(np.minimum(x, y)),
}
# A dense constant larger than this is not read: its magnitude stays unknown.
_LARGEST_READ = 1 << 20
_DEPTH = 12
_FLOATS = ("f64", "f32", "f16", "bf16")
_LARGEST_INTEGER = 2**53  # up to which f64, in which facts are computed, has them all


class FactFinder:
    """Facts of the plain values of one function. Function arguments may come with facts from their caller."""

    def __init__(self, callee: Callable[[ir.Operation], ir.Operation | None] = lambda _: None) -> None:
        self.callee = callee  # the function that a call refers to, if it is known
        self.known: dict[ir.Value, PlainFacts] = {}
        # Journals of what was learnt in rewritings that may be taken back, innermost last.
        self.learnt: list[list[ir.Value]] = []

    def of(self, value: ir.Value, depth: int = _DEPTH) -> PlainFacts:
        """What is known of a plain value; UNKNOWN for block arguments and opaque operations."""
        found = self.known.get(value)
        if found is None:
            found = self._derive(value, depth) if depth else UNKNOWN
            self.known[value] = found
            if self.learnt:
                self.learnt[-1].append(value)
        return found

    def _derive(self, value: ir.Value, depth: int) -> PlainFacts:
        owner = value.owner
        if isinstance(owner, ir.Block):
            entering = _enters_unchanged(value)
            return UNKNOWN if entering is None else self.of(entering, depth - 1)
        op = owner.operation
        name = op.name
        if name == "stablehlo.constant" and tensor_info(value.type).is_complex:
            return _of_complex(op)
        if name == "stablehlo.constant":
            return _of_dense(op.attributes["value"], value.type)
        if name in _MOVES:
            return self.of(op.operands[0], depth - 1)
        if name == "stablehlo.reduce_precision":
            return dataclasses.replace(self.of(op.operands[0], depth - 1), splat=None)  # nearly the same number
        if name == "stablehlo.optimization_barrier":
            return self.of(op.operands[ir.OpResult(value).result_number], depth - 1)
        if name == "stablehlo.convert":
            return self._of_convert(op.operands[0], value, depth)
        if name == "stablehlo.iota":
            return _of_iota(op, value)
        if name == "stablehlo.scatter" and len(op.operands) == 3:
            return self._of_scatter(op, value, depth)
        if name == "func.call":
            return self._of_call(op, value, depth)
        if name in _UNARY:
            x = self.of(op.operands[0], depth - 1)
            return _splat(_UNARY[name](x.splat), value) if x.splat is not None else UNKNOWN
        if name in _BINARY:
            x, y = (self.of(operand, depth - 1) for operand in op.operands)
            if x.splat is not None and y.splat is not None:
                return _splat(_BINARY[name](x.splat, y.splat), value)
        if name == "stablehlo.select":
            x, y = (self.of(operand, depth - 1) for operand in list(op.operands)[1:])
            if x.indifferent and y.indifferent:
                return PlainFacts(indifferent=True)
            if x.moments and y.moments and not (x.indifferent or y.indifferent):
                return PlainFacts(moments=x.moments.mixed(y.moments))
        return UNKNOWN

    def _of_scatter(self, op: ir.Operation, value: ir.Value, depth: int) -> PlainFacts:
        """Of updates written to, or added to, zeros, as in the gradient of a gather: a sparse tensor.

        # E[x^2] = share of elements written * E[update^2], the places taken to be distinct
        """
        target, updates = self.of(op.operands[0], depth - 1), self.of(op.operands[2], depth - 1)
        if target.splat != 0 or updates.moments is None or updates.indifferent:
            return UNKNOWN
        size, written = tensor_info(value.type).size, tensor_info(op.operands[2].type).size
        if size <= 0 or written <= 0:
            return UNKNOWN
        share = min(written / size, 1.0)
        known = updates.moments
        return PlainFacts(moments=Moments(known.rms * math.sqrt(share), known.mean * share, known.nonnegative))

    def _of_call(self, op: ir.Operation, value: ir.Value, depth: int) -> PlainFacts:
        """Of a result of a function, found in its body given what is known of the arguments."""
        function = self.callee(op)
        if function is None:
            return UNKNOWN
        block = function.regions[0].blocks[0]
        body = FactFinder(self.callee)
        for argument, operand in zip(block.arguments, op.operands, strict=True):
            body.known[argument] = self.of(operand, depth - 1)
        return body.of(terminator(block).operands[ir.OpResult(value).result_number], depth - 1)

    def _of_convert(self, source: ir.Value, value: ir.Value, depth: int) -> PlainFacts:
        facts = self.of(source, depth - 1)
        if facts.splat is not None:
            rounded = _splat(facts.splat, value)
            # 1e-8 becomes 0 in f16, but 1.34 * 2^-27 need not: a constant that its type cannot hold is kept.
            lost = rounded.indifferent and not facts.indifferent and tensor_info(value.type).is_narrow
            return PlainFacts(facts.splat, False, of_constant(facts.splat)) if lost else rounded
        if tensor_info(source.type).element == "i1":
            # A mask: zeros and ones, half and half for want of knowledge.
            return PlainFacts(moments=Moments(math.sqrt(0.5), 0.5, True))
        return facts


def _enters_unchanged(value: ir.Value) -> ir.Value | None:
    """What enters a loop as this argument of its body, if the body returns the argument itself."""
    argument = ir.BlockArgument(value)
    block, index = argument.owner, argument.arg_number
    op = block.owner.operation
    if op.name != "stablehlo.while" or index >= len(op.operands):
        return None
    body = op.regions[1].blocks[0]
    returned = terminator(body).operands
    same = index < len(returned) and returned[index] == body.arguments[index]
    return op.operands[index] if same else None


def _splat(number: float, value: ir.Value) -> PlainFacts:
    """Facts of a tensor whose elements all equal `number`, rounded to its element type; of integers toward zero."""
    element = tensor_info(value.type).element
    if element in _FLOATS:
        with np.errstate(over="ignore"):
            number = float(NUMPY_DTYPES[element].type(number))
    elif element in NUMPY_DTYPES and element.startswith(("i", "ui")):
        if not _holds(element, number):
            return UNKNOWN
        number = math.trunc(number)
    else:
        return UNKNOWN
    indifferent = number == 0 or not math.isfinite(number)
    return PlainFacts(float(number), indifferent, None if indifferent else of_constant(number))


def _holds(element: str, number: float) -> bool:
    """Whether an integer type has a number, rounded toward zero: otherwise its arithmetic is modular.

    Booleans are never rounded: what is not 0 is true.
    """
    if not math.isfinite(number):
        return False
    if element == "i1":
        return number in (0, 1)
    info = ml_dtypes.iinfo(NUMPY_DTYPES[element])
    return info.min <= math.trunc(number) <= info.max and abs(number) <= _LARGEST_INTEGER


def _of_dense(attribute: ir.Attribute, type_: ir.Type) -> PlainFacts:
    info = tensor_info(type_)
    if not isinstance(attribute, ir.DenseElementsAttr):
        return UNKNOWN
    if attribute.is_splat:
        element = attribute.get_splat_value()
        number = getattr(element, "value", None)
        if isinstance(number, (int, float)):
            indifferent = number == 0 or not math.isfinite(number)
            return PlainFacts(float(number), indifferent, None if indifferent else of_constant(number))
        return UNKNOWN
    if info.element not in ("f32", "f64", "f16") or info.size > _LARGEST_READ:
        return UNKNOWN
    array = np.asarray(attribute).astype(np.float64)
    finite = array[np.isfinite(array)]
    if not finite.any():
        return PlainFacts(indifferent=True)
    return PlainFacts(moments=_moments_of(finite))


def _of_complex(op: ir.Operation) -> PlainFacts:
    """Whether a complex constant is indifferent to scale. The bindings cannot read it: from its text."""
    text = op.get_asm(large_elements_limit=1)
    match = re.search(r"dense<\(([^,()]+),([^,()]+)\)>", text)
    parts = [_number(match[1]), _number(match[2])] if match else [1.0]
    indifferent = all(part == 0 for part in parts) or any(not math.isfinite(part) for part in parts)
    return PlainFacts(indifferent=indifferent)


def _number(text: str) -> float:
    """A float as MLIR prints it: decimal, or the bits of an infinity or NaN in hexadecimal."""
    text = text.strip()
    if not text.startswith("0x"):
        return float(text)
    bits = bytes.fromhex(text[2:])
    return float(np.frombuffer(bits, ">f4" if len(bits) == 4 else ">f8")[0])


def _moments_of(array: np.ndarray) -> Moments:
    return Moments(float(np.sqrt(np.mean(array**2))), float(np.mean(array)), bool((array >= 0).all()))


def _of_iota(op: ir.Operation, value: ir.Value) -> PlainFacts:
    info = tensor_info(value.type)
    size = info.shape[int(ir.IntegerAttr(op.attributes["iota_dimension"]).value)]
    if size <= 1:
        return UNKNOWN if size < 0 else _splat(0.0, value)
    # 0, 1, ..., n-1: mean (n-1)/2, mean square (n-1)(2n-1)/6
    return PlainFacts(moments=Moments(math.sqrt((size - 1) * (2 * size - 1) / 6), (size - 1) / 2, True))
