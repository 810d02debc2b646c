"""Constants as Python numbers: of what all elements equal, or the moments of an array."""

import dataclasses
import math
import re
from collections.abc import Callable

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from scalify_hlo.bindings import ir
from scalify_hlo.execution.element_types import NUMPY_DTYPES
from scalify_hlo.module.traits import RESHAPING, carried
from scalify_hlo.size.moments import Moments
from scalify_hlo.types import COMPLEX, LARGEST, TensorInfo, tensor_info

# What all elements of a value equal, if it is known.
Number = Callable[[ir.Value], float | None]
CONSTANT = "stablehlo.constant"
# A dense constant larger than this is not read: its magnitude stays unknown.
_LARGEST_READ = 1 << 20
_FLOATS = ("f64", "f32", "f16", "bf16", *LARGEST)
_LARGEST_INTEGER = 2**53  # up to which f64, in which facts are computed, has them all

UNARY: dict[str, Callable[[float], float]] = {
    "stablehlo.negate": lambda x: -x,
    "stablehlo.abs": abs,
    "stablehlo.sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
    "stablehlo.rsqrt": lambda x: 1 / math.sqrt(x) if x > 0 else math.inf,
}
BINARY: dict[str, Callable[[float, float], float]] = {
    "stablehlo.add": lambda x, y: x + y,
    "stablehlo.subtract": lambda x, y: x - y,
    "stablehlo.multiply": lambda x, y: x * y,
    "stablehlo.divide": lambda x, y: x / y if y else math.nan,
    "stablehlo.maximum": lambda x, y: float(np.maximum(x, y)),  # not Python's: NaN is the larger
    "stablehlo.minimum": lambda x, y: float(np.minimum(x, y)),
}
FOLDED: dict[str, Callable[..., float]] = {**UNARY, **BINARY}


@dataclasses.dataclass(frozen=True)
class Constant:
    """What a dense constant holds.

    splat: the number that all elements equal. moments: of the elements that are finite; None if none of them is other
    than 0, or if they could not be read.
    """

    splat: float | None = None
    moments: Moments | None = None
    is_read: bool = True


def constant_behind(value: ir.Value, *, converted: bool = False) -> ir.Operation | None:
    """The constant that a value is, or that is broadcast to it, perhaps `converted`; None for other values."""
    owner = value.owner
    while not isinstance(owner, ir.Block) and (
        owner.name == "stablehlo.broadcast_in_dim" or (converted and owner.name == "stablehlo.convert")
    ):
        owner = owner.operands[0].owner
    return owner.operation if not isinstance(owner, ir.Block) and owner.name == CONSTANT else None


def dense_value(constant: ir.Operation) -> ir.DenseElementsAttr | None:
    """The elements of a constant; None for complex ones, on which the bindings raise, and for resources."""
    if tensor_info(constant.results[0].type).is_complex:
        return None
    attribute = constant.attributes["value"]
    return attribute if isinstance(attribute, ir.DenseElementsAttr) else None


def splat_number(constant: ir.Operation) -> float | int | None:
    """The number that all elements of a constant are: an int for integers and booleans; None where they differ."""
    dense = dense_value(constant)
    if dense is None or not dense.is_splat:
        return None
    number = getattr(dense.get_splat_value(), "value", None)
    return number if isinstance(number, int | float) else None


def number_behind(value: ir.Value, *, converted: bool = False) -> float | int | None:
    """The number that all elements of a constant are, or of one that is broadcast, perhaps `converted`; else None."""
    constant = constant_behind(value, converted=converted)
    return None if constant is None else splat_number(constant)


def is_one_number(value: ir.Value) -> bool:
    """Whether all elements of a value are the same: those of a constant, or one of rank 0, spread or converted."""
    while tensor_info(value.type).rank:
        owner = value.owner
        if isinstance(owner, ir.Block):
            return False
        if owner.name == CONSTANT:
            dense = dense_value(owner.operation)
            return dense is not None and dense.is_splat
        index = ir.OpResult(value).result_number
        before = owner.operands[0] if owner.name in RESHAPING else carried(owner.operation, index)
        if before is None:
            return False
        value = before
    return True


def splat(type_: ir.Type, number: float) -> ir.Value:
    """A new float constant whose elements are all `number`. Needs a current insertion point and location."""
    value = ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(ir.ShapedType(type_).element_type, number))
    return ir.Operation.create(CONSTANT, [type_], [], {"value": value}).results[0]


def read_dense(constant: ir.Operation) -> Constant:
    """A constant's numbers; quantised ones are not read. A complex one has a number where its imaginary part is 0."""
    info = tensor_info(constant.results[0].type)
    if info.is_complex:
        return _read_complex(constant, info)
    number, dense = splat_number(constant), dense_value(constant)
    if number is not None:
        return Constant(float(number))
    if dense is None or dense.is_splat or info.element not in ("f32", "f64", "f16") or info.size > _LARGEST_READ:
        return Constant(is_read=False)
    return _of_array(np.asarray(dense).astype(np.float64))


def _of_array(array: NDArray[np.float64]) -> Constant:
    finite = array[np.isfinite(array)]
    return Constant(moments=moments_of(finite) if finite.any() else None)


# E|z|^2 = E[re^2] + E[im^2]
def _read_complex(constant: ir.Operation, info: TensorInfo) -> Constant:
    """From its text: the bindings raise on complex elements, which they print as (re, im), or many as their bytes."""
    if info.size > _LARGEST_READ:
        return Constant(is_read=False)
    text = constant.get_asm(large_elements_limit=info.size)
    found = re.search(r"dense<(.*?)> : ", text)
    if found is None:
        return Constant(is_read=False)
    if found[1].startswith('"0x'):
        real = np.frombuffer(bytes.fromhex(found[1][3:-1]), np.dtype(NUMPY_DTYPES[info.real]))
    else:
        pairs = re.findall(r"\(([^,()]+),([^,()]+)\)", found[1])
        real = np.array([_number(part) for pair in pairs for part in pair])
    parts = real.astype(np.float64).reshape(-1, 2)
    if len(parts) == 1 and (parts[0, 1] == 0 or not np.isfinite(parts).all()):
        return Constant(float(parts[0, 0] + parts[0, 1]))
    size = np.hypot(parts[:, 0], parts[:, 1])
    read = _of_array(size)
    return read if read.moments is None else Constant(moments=Moments(read.moments.rms))


def _number(text: str) -> float:
    """A float as MLIR prints it: decimal, or the bits of an infinity or NaN in hexadecimal."""
    text = text.strip()
    if not text.startswith("0x"):
        return float(text)
    bits = bytes.fromhex(text[2:])
    return float(np.frombuffer(bits, ">f4" if len(bits) == 4 else ">f8")[0])


def moments_of(array: NDArray[np.float64]) -> Moments:
    """The moments of numbers."""
    return Moments(float(np.sqrt(np.mean(array**2))), float(np.mean(array)), bool((array >= 0).all()))


def moments_of_iota(size: int) -> Moments:
    """# 0, 1, ..., n-1: mean (n-1)/2, mean square (n-1)(2n-1)/6"""
    return Moments(math.sqrt((size - 1) * (2 * size - 1) / 6), (size - 1) / 2, True)


def rounded(number: float, element: str) -> float | None:
    """A number as an element type holds it: nearest, of integers toward zero; None where it is not known.

    f8 types saturate, as casts to them do. Of a complex type, a number with the imaginary part 0: as the square root of
    -1 is none, what is not finite is not known.
    """
    if element in COMPLEX:
        return rounded(number, COMPLEX[element]) if math.isfinite(number) else None
    if element in LARGEST and not math.isnan(number):
        number = max(-LARGEST[element], min(LARGEST[element], number))
    if element in _FLOATS:
        with np.errstate(over="ignore"):
            return float(NUMPY_DTYPES[element].type(number))
    if element in NUMPY_DTYPES and element.startswith(("i", "ui")) and _holds(element, number):
        return float(math.trunc(number))
    return None


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
