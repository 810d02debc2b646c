"""Types of tensors: which elements are floats, how far their exponents reach, and what shape a scale may have."""

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Sequence

from scalify_hlo.bindings import ir
from scalify_hlo.errors import Diagnostic, ScalifyError

# Element type -> (largest finite exponent, smallest normal exponent, mantissa bits).
FLOAT_RANGE: dict[str, tuple[int, int, int]] = {
    "f64": (1023, -1022, 52),
    "f32": (127, -126, 23),
    "bf16": (127, -126, 7),
    "f16": (15, -14, 10),
    "f8E5M2": (15, -14, 2),
    "f8E5M2FNUZ": (15, -15, 2),
    "f8E4M3": (7, -6, 3),
    "f8E4M3FN": (8, -6, 3),
    "f8E4M3FNUZ": (7, -7, 3),
    "f8E4M3B11FNUZ": (4, -10, 3),
    "f8E3M4": (3, -2, 4),
    "f8E8M0FNU": (127, -127, 0),
    "f6E2M3FN": (2, 0, 3),
    "f6E3M2FN": (4, -2, 2),
    "f4E2M1FN": (2, 0, 1),
}
# Integers that are as narrow as their numbers need: quantised weights, pixels.
NARROW_INTEGERS = frozenset({"i2", "i4", "i8", "ui2", "ui4", "ui8"})
COMPLEX = {"complex<f32>": "f32", "complex<f64>": "f64"}
LARGEST_F16 = 65504.0
# Largest finite value of the types that have no infinity or do not saturate (notes on f8 conversions).
LARGEST = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0, "f8E4M3FNUZ": 240.0, "f8E5M2FNUZ": 57344.0, "f8E4M3": 240.0,
           "f8E4M3B11FNUZ": 30.0, "f8E3M4": 15.5}  # fmt: skip


def smallest_exponent(element: str) -> int:
    """log2 of the smallest number above 0 of a float type with subnormal numbers: -24 of f16."""
    _, normal, mantissa = FLOAT_RANGE[element]
    return normal - mantissa


@dataclasses.dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor type taken apart once. Dynamic dimensions are -1 in `shape`."""

    element: str
    shape: tuple[int, ...]
    is_float: bool
    is_complex: bool
    is_static: bool = dataclasses.field(init=False)
    is_empty: bool = dataclasses.field(init=False)  # without elements: any scale fits
    is_narrow: bool = dataclasses.field(init=False)  # less range than f32: an unscaled value must not be formed in it
    rank: int = dataclasses.field(init=False)
    size: int = dataclasses.field(init=False)  # number of elements; dynamic dimensions count as 1
    carries_scale: bool = dataclasses.field(init=False)  # integers, booleans and tokens cannot be data * scale

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_static", all(n >= 0 for n in self.shape))
        object.__setattr__(self, "is_empty", 0 in self.shape)
        object.__setattr__(self, "is_narrow", self.is_float and FLOAT_RANGE[self.element][0] < 127)
        object.__setattr__(self, "rank", len(self.shape))
        object.__setattr__(self, "size", math.prod(max(n, 1) for n in self.shape))
        object.__setattr__(self, "carries_scale", self.is_float or self.is_complex)

    @property
    def real(self) -> str:
        """The element type, or the type of the parts of a complex one."""
        return COMPLEX.get(self.element, self.element)

    @property
    def max_exponent(self) -> int:
        return FLOAT_RANGE[self.real][0]

    @property
    def min_exponent(self) -> int:
        return FLOAT_RANGE[self.real][1]


@functools.lru_cache(maxsize=64)
def element_bits(element: str) -> int:
    """Bits of one element of a type, by its name; 64 for an index."""
    digits = re.search(r"\d+", element)
    return (int(digits[0]) if digits else 64) * (2 if element in COMPLEX else 1)


_MOST_ELEMENTS = 2**63
_SIZES = re.compile(r"((?:(?:-?\d+|\?)x)*)(.*)", re.DOTALL)  # then the element type, which may have an x: index


@functools.lru_cache(maxsize=4096)
def _info(text: str) -> TensorInfo:
    sizes, element = _SIZES.fullmatch(text[len("tensor<") : -1].replace(" ", "")).groups()  # type: ignore[union-attr]
    element = element[: element.index(">") + 1] if element.startswith("complex") else element.split(",")[0]
    shape = tuple(-1 if size == "?" else int(size) for size in sizes.split("x")[:-1])
    if any(size < -1 for size in shape):  # MLIR reads it from a binary, and refuses the text that it prints of it
        message = f"{text} has a negative size; the file is damaged, write it anew"
        raise ScalifyError(Diagnostic(message, ""))
    if math.prod(abs(size) for size in shape) >= _MOST_ELEMENTS:  # a vector of all of them is no type of MLIR
        raise ScalifyError(Diagnostic(f"{text} has more elements than 64 bits can count; no device holds it", ""))
    return TensorInfo(element, shape, element in FLOAT_RANGE, element in COMPLEX)


_NOT_A_TENSOR = TensorInfo("", (), False, False)
_MOST_KNOWN = 4096


class _Known(dict[ir.Type, TensorInfo]):
    """What is known of the types met since `forget_types`: printing a type to take it apart is slow.

    The keys keep their context alive, so that no other type takes their place in memory.
    """

    def __missing__(self, type_: ir.Type) -> TensorInfo:
        text = str(type_)
        found = _info(text) if text.startswith("tensor<") and not text.startswith("tensor<*") else _NOT_A_TENSOR
        if len(self) >= _MOST_KNOWN:
            self.clear()
        self[type_] = found
        return found


_known = _Known()

# The parts of a tensor type; a type that is no ranked tensor (token, tuple, f32) carries no scale. It is asked more
# often than anything else, so what is known is found without a call of Python.
tensor_info: Callable[[ir.Type], TensorInfo] = _known.__getitem__


def forget_types() -> None:
    """Let go of the types that have been met, and of their context, once a module is done."""
    _known.clear()


def is_scale_shape(scale: Sequence[int], data: Sequence[int]) -> bool:
    """Whether a scale can belong to data of a shape: of rank 0, or of the data's with each dimension 1 or full."""
    if not len(scale):
        return True
    return len(scale) == len(data) and all(size in (1, full) for size, full in zip(scale, data, strict=True))
