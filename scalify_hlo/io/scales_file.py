"""The file in which `scalify-calibrate` keeps what it measured: JSON, so that people and other tools can read it."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Literal, cast

import numpy as np

from scalify_hlo.errors import Diagnostic, ScalifyError
from scalify_hlo.execution.element_types import Array
from scalify_hlo.io.files import read_input

Method = Literal["rms", "amax", "percentile"]
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
    power of two that the data are divided by before they are rounded to FP8.
    """

    arguments: dict[str, Array] = dataclasses.field(default_factory=dict[str, Array])
    results: dict[str, Array] = dataclasses.field(default_factory=dict[str, Array])
    operands: dict[str, float] = dataclasses.field(default_factory=dict[str, float])
    method: Method = "rms"
    precision: str = ""
    batches: int = 0
    statistics: dict[str, TensorStatistics] = dataclasses.field(default_factory=dict[str, TensorStatistics])

    def to_json(self) -> bytes:
        """The file's content."""
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "method": self.method,
            "precision": self.precision,
            "batches": self.batches,
            "arguments": {name: np.asarray(scale).tolist() for name, scale in self.arguments.items()},
            "results": {name: np.asarray(scale).tolist() for name, scale in self.results.items()},
            "operands": self.operands,
            "statistics": {name: dataclasses.asdict(each) for name, each in self.statistics.items()},
        }
        return (json.dumps(document, indent=1) + "\n").encode()


def read_scales(path: str) -> ScalesFile:
    """Read a file of scales. Raises ScalifyError where it is none, and for every entry that is no number."""
    try:
        document: Any = json.loads(read_input(path))
    except (ValueError, RecursionError) as error:
        raise ScalifyError(Diagnostic(f"this is no JSON file: {error}", path)) from None
    if not isinstance(document, dict) or cast(dict[str, Any], document).get("format") != _FORMAT:
        raise ScalifyError(Diagnostic('this is no file of scales: it does not say "format": "scalify-scales"', path))
    content = cast(dict[str, Any], document)
    if content.get("version") != _VERSION:
        raise ScalifyError(Diagnostic(f"version {content.get('version')} of the format; this tool reads 1", path))
    problems: list[Diagnostic] = []
    arguments, results, operands = (
        _numbers(content, key, path, problems) for key in ("arguments", "results", "operands")
    )
    statistics = {name: _statistics(name, each, path, problems) for name, each in _table(content, "statistics").items()}
    if problems:
        raise ScalifyError(problems)
    return ScalesFile(
        arguments, results, {name: float(number) for name, number in operands.items()},
        content.get("method", "rms"), str(content.get("precision", "")), int(content.get("batches", 0)), statistics,
    )  # fmt: skip


def _table(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = content.get(key, {})
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}


def _numbers(content: Mapping[str, Any], key: str, path: str, problems: list[Diagnostic]) -> dict[str, Array]:
    numbers: dict[str, Array] = {}
    for name, entry in _table(content, key).items():
        try:
            numbers[name] = np.asarray(entry, np.float32)
        except (TypeError, ValueError):
            problems.append(Diagnostic(f"{key}: '{name}' is no number or list of numbers", path))
    return numbers


def _statistics(name: str, entry: Any, path: str, problems: list[Diagnostic]) -> TensorStatistics:
    try:
        histogram = {int(exponent): int(count) for exponent, count in entry["histogram"].items()}
        return TensorStatistics(int(entry["elements"]), float(entry["mean_square"]), float(entry["amax"]), histogram)
    except (TypeError, KeyError, ValueError, AttributeError):
        problems.append(Diagnostic(f"statistics: '{name}' has not the fields of a tensor's statistics", path))
        return TensorStatistics()
