"""The file in which `scalify-calibrate` keeps what it measured: JSON, so that people and other tools can read it."""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar, cast

import numpy as np

from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import Array
from scalify_hlo.io.files import read_input

Method = Literal["rms", "amax", "percentile"]
# Whether output channels of a weight have scales of their own: `auto` where one of them is that far from the others
# that a common scale would cost it precision.
Channels = Literal["auto", "all", "none"]
# log2 of how far that is. E4M3 is a fixed-point format below 2^-6: data of RMS 2^-5 err by as much again as they do for
# having four bits, and above 2^5 the largest of some 10,000 are beyond 448.
_APART = 4
# The largest number of E4M3.
LARGEST_E4M3 = 448.0
# log2 of the largest scale, of masks that are the smallest number of f32: as data this is within f16, and beside it, at
# its scale, what it is added to is a normal number still.
LARGEST_EXPONENT = 113
_Entry = TypeVar("_Entry", int, str)
_TABLES = ("arguments", "results", "operands", "caches", "cache_arguments", "rescales", "argument_shapes",
           "result_shapes", "statistics")  # fmt: skip
_FORMAT, _VERSION = "scalify-scales", 1


@dataclasses.dataclass
class TensorStatistics:
    """What was measured of a tensor's values over all batches.

    elements: how many were seen. mean_square: E[x^2]. amax: the largest magnitude.
    histogram: number of elements by exponent, floor(log2 |x|); zeros are in none.
    """

    elements: int = 0
    mean_square: float = 0.0
    amax: float = 0.0
    histogram: dict[int, int] = dataclasses.field(default_factory=dict[int, int])

    def merged(self, other: "TensorStatistics") -> "TensorStatistics":
        """The statistics of both together."""
        elements = self.elements + other.elements
        square = (self.mean_square * self.elements + other.mean_square * other.elements) / max(elements, 1)
        counts = dict(self.histogram)
        for exponent, count in other.histogram.items():
            counts[exponent] = counts.get(exponent, 0) + count
        return TensorStatistics(elements, square, max(self.amax, other.amax), counts)


@dataclasses.dataclass
class ScalesFile:
    """Scales and the statistics that they were chosen by, from names of tensors.

    arguments, results: of the public function. operands: of FP8 products, `<index of the product>.lhs` or `.rhs`: a
    power of two that the data are divided by before they are rounded to FP8. caches: results that are stored in FP8 at
    these scales, as are the arguments that they are the new values of (cache_arguments, by the result).
    rescales: factors that would be measured at run time (`scalify-auto-rescale`), by their names.
    wide_weights: names of weights that stay in the wide type, with the products that read them. wide_products: indices
    of others that do. inputs: names of arguments that came with the batches where weights came apart: they are none.
    argument_shapes, result_shapes: of the program's, by name. others: scales of other programs of the same model.
    """

    arguments: dict[str, Array] = dataclasses.field(default_factory=dict[str, Array])
    results: dict[str, Array] = dataclasses.field(default_factory=dict[str, Array])
    operands: dict[str, float] = dataclasses.field(default_factory=dict[str, float])
    method: Method = "rms"
    precision: str = ""
    batches: int = 0
    statistics: dict[str, TensorStatistics] = dataclasses.field(default_factory=dict[str, TensorStatistics])
    caches: dict[str, float] = dataclasses.field(default_factory=dict[str, float])
    cache_arguments: dict[str, str] = dataclasses.field(default_factory=dict[str, str])
    rescales: dict[str, float] = dataclasses.field(default_factory=dict[str, float])
    argument_shapes: dict[str, list[int]] = dataclasses.field(default_factory=dict[str, list[int]])
    result_shapes: dict[str, list[int]] = dataclasses.field(default_factory=dict[str, list[int]])
    wide_products: list[int] = dataclasses.field(default_factory=list[int])
    wide_weights: list[str] = dataclasses.field(default_factory=list[str])
    inputs: list[str] = dataclasses.field(default_factory=list[str])
    others: list["ScalesFile"] = dataclasses.field(default_factory=list["ScalesFile"])

    def to_json(self) -> bytes:
        """The file's content."""
        document = {"format": _FORMAT, "version": _VERSION, **self._entries()}
        if self.others:
            document["others"] = [each._entries() for each in self.others]
        return (json.dumps(document, indent=1) + "\n").encode()

    def of(self, shapes: Mapping[str, Sequence[int]]) -> "ScalesFile":
        """The scales of the program whose arguments have these shapes, else of the first that they fit.

        Sizes may be symbolic, and a matrix transposed. Raises ScalifyError where they fit none.
        """
        mine = {name: list(shape) for name, shape in shapes.items()}
        programs = (self, *self.others)
        found = [each for each in programs if each.argument_shapes == mine] or [
            each for each in programs if not each._misfits(mine)
        ]
        if not found:
            name = self._misfits(mine)[0]
            raise ScalifyError(
                f"these scales are of a program of other shapes: '{name}' is {self.argument_shapes[name]} there and "
                f"{mine[name]} here: calibrate this program"
            )
        return found[0]

    def _misfits(self, shapes: Mapping[str, list[int]]) -> list[str]:
        """The arguments that have another shape in this program."""
        return [
            name
            for name, mine in self.argument_shapes.items()
            if name in shapes and not any(_fits(mine, theirs) for theirs in (shapes[name], shapes[name][::-1]))
        ]

    def _entries(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "precision": self.precision,
            "batches": self.batches,
            "arguments": {name: np.asarray(scale).tolist() for name, scale in self.arguments.items()},
            "results": {name: np.asarray(scale).tolist() for name, scale in self.results.items()},
            "operands": self.operands,
            "caches": self.caches,
            "cache_arguments": self.cache_arguments,
            "rescales": self.rescales,
            "wide_products": self.wide_products,
            "wide_weights": self.wide_weights,
            "inputs": self.inputs,
            "argument_shapes": self.argument_shapes,
            "result_shapes": self.result_shapes,
            "statistics": {name: dataclasses.asdict(each) for name, each in self.statistics.items()},
        }


def _fits(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two shapes are one, as far as sizes are known."""
    return len(shape) == len(other) and all(a == b or min(a, b) < 0 for a, b in zip(shape, other, strict=True))


def read_scales(path: str) -> ScalesFile:
    """Read a file of scales. Raises ScalifyError where it is none, and for every entry that is no number."""
    try:
        document: Any = json.loads(read_input(path))
    except json.JSONDecodeError as error:
        where = f"{path}:{error.lineno}:{error.colno}"
        raise ScalifyError(Diagnostic(f"this is no JSON file: {error.msg}", where)) from None
    except (ValueError, RecursionError) as error:
        raise ScalifyError(Diagnostic(f"this is no JSON file: {error}", path)) from None
    if not isinstance(document, dict) or cast(dict[str, Any], document).get("format") != _FORMAT:
        raise ScalifyError(Diagnostic('this is no file of scales: it does not say "format": "scalify-scales"', path))
    content = cast(dict[str, Any], document)
    if content.get("version") != _VERSION:
        raise ScalifyError(Diagnostic(f"version {content.get('version')} of the format; this tool reads 1", path))
    problems: list[Diagnostic] = []
    found = _program(content, path, problems)
    others: Any = content.get("others", [])
    if not isinstance(others, list) or not all(isinstance(each, dict) for each in cast(list[Any], others)):
        problems.append(Diagnostic("others: this is no list of programs", path))
    else:
        found.others = [_program(each, path, problems) for each in cast(list[dict[str, Any]], others)]
    if problems:
        raise ScalifyError(problems)
    return found


def _program(content: Mapping[str, Any], path: str, problems: list[Diagnostic]) -> ScalesFile:
    """The scales of one program; what is wrong with them is added to the problems."""
    arguments, results, operands, caches, rescales = (
        _numbers(content, key, path, problems) for key in ("arguments", "results", "operands", "caches", "rescales")
    )
    statistics = {name: _statistics(name, each, path, problems) for name, each in _table(content, "statistics").items()}
    for key, table in (("operands", operands), ("caches", caches), ("rescales", rescales)):
        for name in [name for name, number in table.items() if number.ndim]:
            problems.append(Diagnostic(f"{key}: '{name}' is a list; one number is needed", path))
            del table[name]
    for key in _TABLES:
        if not isinstance(content.get(key, {}), dict):
            problems.append(Diagnostic(f"{key}: this is no table of names", path))
    batches = content.get("batches", 0)
    if type(batches) is not int or batches < 0:
        problems.append(Diagnostic("batches: this is no number of batches", path))
        batches = 0
    return ScalesFile(
        arguments, results, {name: float(number) for name, number in operands.items()},
        content.get("method", "rms"), _text(content, "precision", path, problems), batches, statistics,
        {name: float(number) for name, number in caches.items()},
        {name: str(argument) for name, argument in _table(content, "cache_arguments").items()},
        {name: float(number) for name, number in rescales.items()},
        _shapes(content, "argument_shapes", path, problems), _shapes(content, "result_shapes", path, problems),
        _list(content, "wide_products", int, path, problems), _list(content, "wide_weights", str, path, problems),
        _list(content, "inputs", str, path, problems),
    )  # fmt: skip


def channel_scales(values: Array, dims: tuple[int, ...], channels: Channels) -> Array | None:
    """A power of two for each channel of a weight, its shape 1 along all dimensions but `dims`: as large as its root
    mean square, or such that its largest element is no more than E4M3 holds.

    None where `channels` says that the weight has one scale, or it has no channels. The scale of a channel of zeros is
    the largest of the others'.
    """
    shape = [n if d in dims else 1 for d, n in enumerate(values.shape)]
    if channels == "none" or all(n == 1 for n in shape):
        return None
    inner = tuple(d for d in range(values.ndim) if d not in dims)
    finite = np.where(np.isfinite(values), np.abs(values), 0).astype(np.float64)
    amax = finite.max(inner, keepdims=True)
    known = amax > 0
    with np.errstate(divide="ignore"):
        top: Array = np.ceil(np.log2(amax) - math.log2(LARGEST_E4M3))
        mean_square: Any = np.mean(finite**2, axis=inner, keepdims=True)
        size: Array = np.asarray(np.round(np.log2(mean_square) / 2), np.float64)
    exponents: Array = np.maximum(size, top)
    if not known.any():
        return None
    exponents = np.where(known, exponents, exponents[known].max())
    whole = round(math.log2(float(np.mean(finite**2)) or float(np.finfo(np.float64).tiny)) / 2)
    if channels == "auto" and not (np.abs(np.where(known, size, whole) - whole) > _APART).any():
        return None
    return np.asarray(np.exp2(np.clip(exponents, -LARGEST_EXPONENT, LARGEST_EXPONENT)), np.float32)


def split_scales(scales: Array) -> tuple[float, Array]:
    """One power of two of about the scales' size, and what each is multiplied by to be the scale."""
    whole = 2.0 ** round(math.log2(float(np.mean(scales.astype(np.float64) ** 2))) / 2)
    return whole, np.asarray(scales.astype(np.float64) / whole, np.float32)


def _table(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = content.get(key, {})
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}


def _text(content: Mapping[str, Any], key: str, path: str, problems: list[Diagnostic]) -> str:
    found = content.get(key, "")
    if not isinstance(found, str):
        problems.append(Diagnostic(f"{key}: this is no text", path))
        return ""
    return found


def _shapes(content: Mapping[str, Any], key: str, path: str, problems: list[Diagnostic]) -> dict[str, list[int]]:
    shapes: dict[str, list[int]] = {}
    for name, entry in _table(content, key).items():
        try:
            shapes[name] = [int(n) for n in entry]
        except (TypeError, ValueError, OverflowError):  # the last of an infinite one
            problems.append(Diagnostic(f"{key}: '{name}' is no list of sizes", path))
    return shapes


def _list(
    content: Mapping[str, Any], key: str, kind: type[_Entry], path: str, problems: list[Diagnostic]
) -> list[_Entry]:
    found: Any = content.get(key, [])
    if not isinstance(found, list) or not all(type(each) is kind for each in cast(list[Any], found)):
        what = "indices of products" if kind is int else "names of arguments"
        problems.append(Diagnostic(f"{key}: this is no list of {what}", path))
        return []
    return cast(list[_Entry], found)


def _numbers(content: Mapping[str, Any], key: str, path: str, problems: list[Diagnostic]) -> dict[str, Array]:
    numbers: dict[str, Array] = {}
    for name, entry in _table(content, key).items():
        try:
            if np.asarray(entry).dtype == np.bool_:
                raise TypeError
            with np.errstate(over="ignore"):  # infinity is told where it is used
                numbers[name] = np.asarray(entry, np.float32)
        except (TypeError, ValueError, OverflowError):  # the last of an integer beyond f64
            problems.append(Diagnostic(f"{key}: '{name}' is no number or list of numbers", path))
    return numbers


def _statistics(name: str, entry: Any, path: str, problems: list[Diagnostic]) -> TensorStatistics:
    try:
        histogram = {int(exponent): int(count) for exponent, count in entry["histogram"].items()}
        return TensorStatistics(int(entry["elements"]), float(entry["mean_square"]), float(entry["amax"]), histogram)
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        problems.append(Diagnostic(f"statistics: '{name}' has not the fields of a tensor's statistics", path))
        return TensorStatistics()
