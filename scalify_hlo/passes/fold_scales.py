"""`scalify-fold-scales`: arithmetic of constants that scales are made of is done at compile time.

What scale arithmetic is left in a module whose scales are pinned is arithmetic of constants: rank-0 numbers, and small
tensors of one number for each channel. MLIR's `canonicalize` does not fold StableHLO's arithmetic, so this pass does,
in the operations' own element types, rounding as they would. Then
- a number repeated to the shape of a tensor becomes a splat constant of that shape,
- a multiplication or division by 1 is the other operand,
- `x * 2^a * 2^b` is one multiplication where the type has the range of f32: powers of two commute with rounding,
- a carried value of a loop that each iteration returns as the constant that it entered as is that constant,
- a carried scale of a loop is one number for all iterations, and that of branches one for all (`loop_scales.py`).

It changes nothing else, and never folds tensors of the size of data.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from scalify_hlo.analysis.calls import CallGraph, terminator
from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic
from scalify_hlo.execution.element_types import NUMPY_DTYPES, Array
from scalify_hlo.module.bodies import body_kind
from scalify_hlo.module.comparisons import direction_of
from scalify_hlo.module.constants import dense_value
from scalify_hlo.module.dead_code import erase_dead
from scalify_hlo.module.moves import move
from scalify_hlo.module.traits import BRANCHES
from scalify_hlo.passes.base import Pass
from scalify_hlo.passes.loop_scales import LoopScales
from scalify_hlo.types import TensorInfo, tensor_info

# Constants of more elements are data.
_LARGEST = 1 << 14
_RANGE_OF_F32 = 127

_UNARY: dict[str, Callable[[Array], Any]] = {
    "negate": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: np.asarray(1, x.dtype) / np.sqrt(x),
    "exponential": np.exp,
    "log": np.log,
    "floor": np.floor,
    "ceil": np.ceil,
    "not": np.invert,
    "is_finite": np.isfinite,
    "optimization_barrier": lambda x: x,
}
_BINARY: dict[str, Callable[[Array, Array], Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "power": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_COMPARE: dict[str, Callable[[Array, Array], Any]] = {
    "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class FoldScales(Pass):
    """Do at compile time what scale arithmetic is arithmetic of constants."""

    name: ClassVar[str] = "scalify-fold-scales"

    def apply(self, module: ir.Module, remarks: list[Diagnostic]) -> None:
        """Folds in place and says how much."""
        with module.context, ir.Location.unknown(module.context):
            count = fold_scales(module)
        remarks.append(Diagnostic(f"{self.name}: {count} operations of scales computed at compile time", "", "remark"))


def fold_scales(module: ir.Module) -> int:
    """Fold arithmetic of small constants in every function; the number of operations that are gone."""
    folder = _Folder()
    for function in CallGraph(module).functions.values():
        folder.block(function.regions[0].blocks[0])
    erase_dead(module)
    return folder.count


class _Folder:
    def __init__(self) -> None:
        self.known: dict[ir.Value, Array] = {}  # small constants
        self.scales = LoopScales(self.known, _computed, self._constant)
        self.count = 0

    def block(self, block: ir.Block) -> None:
        """Fold a block and the regions in it, in program order."""
        for child in list(block.operations):
            op = child.operation
            if op.name == "stablehlo.constant":
                self._constant(op)
            elif op.name == "stablehlo.while":
                self._loop(op)
            else:
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner)
                if op.name in BRANCHES:
                    self.count += self.scales.settle_branches(op)
                if len(op.results) == 1:
                    self._operation(op)
                elif op.name == "stablehlo.reduce":
                    self._reductions(op)

    def _constant(self, op: ir.Operation) -> None:
        info = tensor_info(op.results[0].type)
        attribute = dense_value(op)
        if info.element not in NUMPY_DTYPES or attribute is None:
            return
        if attribute.is_splat:
            element = attribute.get_splat_value()
            number = getattr(element, "value", None)
            if isinstance(number, (int, float)):
                self.known[op.results[0]] = np.broadcast_to(np.asarray(number).astype(_dtype(info)), info.shape)
        elif info.size <= _LARGEST and info.element in ("f32", "f64", "i32", "i1"):
            self.known[op.results[0]] = np.asarray(attribute).reshape(info.shape)

    def _operation(self, op: ir.Operation) -> None:
        result = op.results[0]
        values = [self.known.get(operand) for operand in op.operands]
        with np.errstate(all="ignore"):
            found = _computed(op, values)
        if found is not None and (tensor_info(result.type).size <= _LARGEST or _is_splat(found)):
            return self._replace(op, found)
        name = op.name.removeprefix("stablehlo.")
        if name in ("multiply", "divide"):
            self._scaling(op, name, values)
        elif name == "optimization_barrier" and len(op.operands) == 1 and values[0] is not None:
            self._replace_by(op, op.operands[0])
        return None

    def _reductions(self, op: ir.Operation) -> None:
        """Those results of a reduction of several operands that are one operand's: so scales leave."""
        # reduce(x, y) = (max x, max y)
        n, body = len(op.results), op.regions[0].blocks[0]
        axes = tuple(int(axis) for axis in ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
        for i, returned in enumerate(terminator(body).operands):
            owner, value, start = returned.owner, self.known.get(op.operands[i]), self.known.get(op.operands[n + i])
            kind = "" if isinstance(owner, ir.Block) else owner.name.removeprefix("stablehlo.")
            pair = {body.arguments[i], body.arguments[n + i]}
            if kind not in _REDUCED or value is None or start is None or set(owner.operands) != pair:
                continue
            if not value.size or not any(True for _ in op.results[i].uses):
                continue
            found = np.asarray(_BINARY[kind](_REDUCED[kind](value, axes), start)).astype(value.dtype)
            with ir.InsertionPoint(op), op.location:
                constant = _emit(op.results[i].type, found)
            self.known[constant] = found
            op.results[i].replace_all_uses_with(constant)
            self.count += 1

    def _scaling(self, op: ir.Operation, name: str, values: list[Array | None]) -> None:
        """x * 1, x / 1; x * 2^a * 2^b."""
        for i in (1,) if name == "divide" else (0, 1):
            factor = values[i]
            if factor is None or not _is_splat(factor):
                continue
            number = float(factor.flat[0])
            if number == 1 and op.operands[1 - i].type == op.results[0].type:
                return self._replace_by(op, op.operands[1 - i])
            return self._merge(op, i, number if name == "multiply" else 1 / number if number else 0.0)
        return None

    def _merge(self, op: ir.Operation, i: int, number: float) -> None:
        # (x 2^a) 2^b = x 2^(a + b)
        x, info = op.operands[1 - i], tensor_info(op.results[0].type)
        owner = x.owner.operation if isinstance(x, ir.OpResult) else None
        if owner is None or owner.name != "stablehlo.multiply" or info.element not in ("f32", "f64", "bf16"):
            return None
        if not _is_power_of_two(number) or sum(1 for _ in x.uses) != 1:
            return None
        for j in (0, 1):
            inner = self.known.get(owner.operands[j])
            if inner is None or not _is_splat(inner) or not _is_power_of_two(float(inner.flat[0])):
                continue
            product = number * float(inner.flat[0])
            if abs(math.log2(abs(product))) >= _RANGE_OF_F32 - 1:
                return None
            with ir.InsertionPoint(op), op.location:
                factor = _emit(op.results[0].type, np.broadcast_to(np.asarray(product, _dtype(info)), info.shape))
                self.known[factor] = np.broadcast_to(np.asarray(product, _dtype(info)), info.shape)
                merged = ir.Operation.create(
                    "stablehlo.multiply", [op.results[0].type], [owner.operands[1 - j], factor]
                ).results[0]
            self._replace_by(op, merged)
            owner.erase()
            return self._scaling(merged.owner.operation, "multiply", [None, self.known[factor]])
        return None

    def _loop(self, op: ir.Operation) -> None:
        condition, body = (region.blocks[0] for region in op.regions)
        self.count += self.scales.settle(op)
        while self._fix_carried(op, condition, body):
            pass
        self.block(condition)
        self.block(body)
        while self._fix_carried(op, condition, body):
            self.block(condition)
            self.block(body)

    def _fix_carried(self, op: ir.Operation, condition: ir.Block, body: ir.Block) -> bool:
        """Put constants in place of carried values that never change; whether there were some."""
        last, changed = terminator(body), False
        for i, (operand, returned) in enumerate(zip(op.operands, last.operands, strict=True)):
            found = self.known.get(operand)
            if found is None or found.size > _LARGEST or not self._returns(returned, body.arguments[i], found):
                continue
            for block in (condition, body):
                argument = block.arguments[i]
                if not any(use.owner.operation != last for use in argument.uses):
                    continue
                with ir.InsertionPoint.at_block_begin(block), op.location:
                    constant = _emit(argument.type, found)
                self.known[constant] = found
                argument.replace_all_uses_with(constant)
                changed = True
            last.operands[i] = body.arguments[i]
            if any(True for _ in op.results[i].uses):
                with ir.InsertionPoint(op), op.location:
                    constant = _emit(operand.type, found)
                self.known[constant] = found
                op.results[i].replace_all_uses_with(constant)
                changed = True
        return changed

    def _returns(self, returned: ir.Value, argument: ir.Value, entering: Array) -> bool:
        known = self.known.get(returned)
        return returned == argument or (
            known is not None and known.shape == entering.shape and _are_same(known, entering)
        )

    def _replace(self, op: ir.Operation, found: Array) -> None:
        with ir.InsertionPoint(op), op.location:
            constant = _emit(op.results[0].type, found)
        self.known[constant] = found
        self._replace_by(op, constant)

    def _replace_by(self, op: ir.Operation, value: ir.Value) -> None:
        op.results[0].replace_all_uses_with(value)
        self.known.pop(op.results[0], None)
        op.erase()
        self.count += 1


# Of these an element of the result is computed of the operands' elements alone.
_BY_ELEMENTS = frozenset({*_UNARY, *_BINARY, "compare", "clamp", "select", "convert", "reduce_precision"})
# A slice or gather stays within its operand: start indices are clamped.
_MOVING = {"dynamic_slice", "dynamic_update_slice", "gather"}
_REDUCED: dict[str, Callable[[Array, tuple[int, ...]], Any]] = {"maximum": np.max, "minimum": np.min}


def _computed(op: ir.Operation, operands: Sequence[Array | None]) -> Array | None:
    """What an operation with one result makes of its operands, None where these are no constants; None where that is
    not known.
    """
    name, info = op.name.removeprefix("stablehlo."), tensor_info(op.results[0].type)
    if not info.is_static or info.element not in NUMPY_DTYPES or info.is_complex or not operands:
        return None
    if name in _MOVING:
        return _moved(name, operands, info)
    values = [value for value in operands if value is not None]
    if len(values) < len(operands):
        return None
    if info.size > _LARGEST and name in _BY_ELEMENTS and all(_is_repeated(value) for value in values):
        found = _of_elements(op, name, info, [np.asarray(value[(0,) * value.ndim]) for value in values])
        return None if found is None else np.broadcast_to(found, info.shape)
    return _of_elements(op, name, info, values)


def _of_elements(op: ir.Operation, name: str, info: TensorInfo, values: Sequence[Array]) -> Array | None:
    """`_computed` of constants: of elements of theirs, where the operation is one on elements."""
    dtype = _dtype(info)
    if name in _UNARY and len(values) == 1:
        return np.asarray(_UNARY[name](values[0])).astype(dtype)
    if name in _BINARY:
        if name in ("divide", "power") and not info.is_float:
            return None
        return np.asarray(_BINARY[name](*values)).astype(dtype)
    match name:
        case "compare":
            direction = direction_of(op)
            return np.asarray(_COMPARE[direction](*values))
        case "clamp":
            return np.minimum(np.maximum(values[1], values[0]), values[2]).astype(dtype)
        case "select":
            return np.where(np.broadcast_to(values[0], np.shape(values[1])), values[1], values[2]).astype(dtype)
        case "convert":
            return _converted(values[0], info)
        case "reduce_precision" if dtype == np.float32:
            exponent, mantissa = (
                int(ir.IntegerAttr(op.attributes[f"{n}_bits"]).value) for n in ("exponent", "mantissa")
            )
            return _with_mantissa(values[0], mantissa) if exponent == 8 else None
        case "concatenate":
            return np.concatenate(values, int(ir.IntegerAttr(op.attributes["dimension"]).value))
        case "pad":
            names = ("edge_padding_low", "edge_padding_high", "interior_padding")
            low, high, interior = ([int(n) for n in ir.DenseI64ArrayAttr(op.attributes[name])] for name in names)
            if any(interior) or min([*low, *high], default=0) < 0 or info.size > _LARGEST:
                return None
            return np.pad(values[0], list(zip(low, high, strict=True)), constant_values=values[1])
        case "reduce" if len(values) == 2 and values[0].size and body_kind(op) in ("maximum", "minimum"):
            kind = body_kind(op)
            axes = tuple(int(n) for n in ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
            return np.asarray(_BINARY[kind](_REDUCED[kind](values[0], axes), values[1])).astype(dtype)
        case "reverse":
            return np.flip(values[0], tuple(int(n) for n in ir.DenseI64ArrayAttr(op.attributes["dimensions"])))
        case "bitcast_convert" if values[0].dtype.itemsize == dtype.itemsize:
            return np.ascontiguousarray(values[0]).reshape(info.shape).view(dtype)
        case _:
            moved = move(op)
            return None if moved is None else moved(values)


def _moved(name: str, operands: Sequence[Array | None], info: TensorInfo) -> Array | None:
    """What is moved about is one number wherever it goes: slices of equal elements, and writing over with the same."""
    count = 2 if name == "dynamic_update_slice" else 1
    values = [value for value in operands[:count] if value is not None]
    same = len(values) == count and all(_is_splat(value) and _are_same(value, values[0].flat[0]) for value in values)
    return np.broadcast_to(values[0].flat[0], info.shape) if same else None


def _converted(value: Array, info: TensorInfo) -> Array | None:
    """A conversion of numbers that StableHLO and NumPy round alike: between floats, and to floats."""
    if info.element == "i1":
        return value != 0
    if not info.is_float and value.dtype.kind not in "iub":
        return None
    return value.astype(_dtype(info))


def _with_mantissa(value: Array, bits: int) -> Array | None:
    """Finite f32 numbers rounded to so many bits of mantissa, to nearest and ties to even, as XLA does."""
    if not np.isfinite(value).all():
        return None
    raw, shift = np.ascontiguousarray(value).view(np.uint32), np.uint32(23 - bits)
    if shift == 0:
        return value
    bias = ((raw >> shift) & np.uint32(1)) + np.uint32((1 << (int(shift) - 1)) - 1)
    return ((raw + bias) & ~np.uint32((1 << int(shift)) - 1)).view(np.float32).reshape(value.shape)


def _dtype(info: TensorInfo) -> "np.dtype[Any]":
    return NUMPY_DTYPES[info.element]


def _is_repeated(value: Array) -> bool:
    """Whether an array is one number in memory, however many elements it has."""
    return value.size > 0 and not any(value.strides)


def _is_splat(value: Array) -> bool:
    return _is_repeated(value) or (value.size > 0 and _are_same(value, value.flat[0]))


def _are_same(value: Array, other: Any) -> bool:
    """Whether numbers are equal, signs of zeros among them: 1 / -0 is -infinity."""
    floats = value.dtype.kind not in "biu"
    return bool(np.all(value == other)) and not (floats and np.any(np.signbit(value) != np.signbit(other)))


def _is_power_of_two(number: float) -> bool:
    return math.isfinite(number) and number > 0 and math.frexp(number)[0] == 0.5


def _emit(type_: ir.Type, value: Array) -> ir.Value:
    """A constant at the current insertion point."""
    info = tensor_info(type_)
    if _is_splat(value):
        number, element = value.flat[0], ir.RankedTensorType(type_).element_type
        scalar = ir.FloatAttr.get(element, float(number)) if info.is_float else ir.IntegerAttr.get(element, int(number))
        attribute = ir.DenseElementsAttr.get_splat(type_, scalar)
    else:
        raw = np.ascontiguousarray(value)
        attribute = ir.DenseElementsAttr.get(raw.view(np.uint8) if raw.dtype.kind == "V" else raw, type=type_)
    return ir.Operation.create("stablehlo.constant", [type_], attributes={"value": attribute}).results[0]
