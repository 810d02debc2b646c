"""Per-tensor health: how well the data of each tensor use the range of their type.

Unit scaling keeps the mean square of the data near 1, far from both ends of the type. A tensor whose data have
drifted shows it by their mean square; one that has been hurt, by its zeros, underflows and overflows.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.element_types import Array
from scalify_hlo.reports.health_layout import BINS, COUNTS, DETAILS, MAXIMA, NAMES, SUMS
from scalify_hlo.types import COMPLEX, FLOAT_RANGE

Verdict = Literal["good", "far", "bad"]
# Elements below the smallest normal number err by up to what that number errs by: a share u of them by sqrt(u) 2^low in
# units of the rounding error of an element of size 1. From this part of the root mean square on they add a twentieth to
# the error that rounding makes anyway. Where the type is not known, this share of them is a loss.
_PART, _LOST = 0.25, 0.01
# Powers of two from unit size at which data of a narrow type are far from it.
_FAR = 8.0
_WIDE = frozenset({"f64", "f32", "bf16", ""})


@dataclasses.dataclass(frozen=True)
class TensorHealth:
    """Statistics of the data of one tensor, over all iterations of the loops it is in.

    mean_square: E[data^2]. amax: the largest magnitude. zeros, underflow, overflow: fractions of the elements that
    are zero, nonzero but below the type's smallest normal number, above its largest number or NaN.
    scale: the (largest) scale; 1 where the tensor has none. operation: what computes it in the original program,
    "argument" for an argument. element: the type of the data; format: the type whose range is counted against.
    estimate: the root mean square that the rules expect; NaN where they do not say. source: where it comes from, as
    `file:line:col [name stack]`. infinite: the program may mean infinities among the values (masks), which count as
    overflow but are no fault. histogram: how many elements have each exponent, from
    `FIRST_EXPONENT`; what lies beyond is in the first and last bin, zeros are in none. node: what
    `scalify-health --overlay` finds the tensor's operation by; empty without it.
    """

    name: str
    elements: int
    mean_square: float
    amax: float
    zeros: float
    underflow: float
    overflow: float
    scale: float
    histogram: tuple[int, ...]
    operation: str = ""
    element: str = ""
    format: str = ""
    estimate: float = math.nan
    source: str = ""
    infinite: bool = False
    node: str = ""

    @property
    def verdict(self) -> Verdict:
        """ "bad": has elements beyond the range of the format, or loses more by those at its lower end than is small
        beside the rounding of the others.

        "far": of a type of less range than f32, and further from unit size than 2^8: what is larger or smaller still
        has little room. "good": neither.
        """
        if (self.overflow and not self.infinite) or self._loses_at_the_lower_end:
            return "bad"
        far = COMPLEX.get(self.element, self.element) not in _WIDE and abs(self.log2_rms) > _FAR
        return "far" if far else "good"

    @property
    def _loses_at_the_lower_end(self) -> bool:
        if not self.format or not 0 < self.mean_square < math.inf:
            return self.underflow > _LOST
        smallest = 2.0 ** FLOAT_RANGE[COMPLEX.get(self.format, self.format)][1]
        return math.sqrt(self.underflow) * smallest > _PART * math.sqrt(self.mean_square)

    @property
    def log2_rms(self) -> float:
        """log2 of the root mean square: how many binades the data are away from unit scaling."""
        return 0.5 * math.log2(self.mean_square) if 0 < self.mean_square < math.inf else math.nan


def read_health(module: ir.Module, results: Sequence[Array]) -> list[TensorHealth]:
    """The statistics among the results of an instrumented module, in program order.

    Raises ScalifyError where the module is not instrumented or the results are not its.
    """
    if NAMES not in module.operation.attributes:
        raise ScalifyError("the module is not instrumented: run the pass scalify-instrument first")
    names = [ir.StringAttr(name).value for name in ir.ArrayAttr(module.operation.attributes[NAMES])]
    if len(results) < 2 or np.shape(results[-2]) != (len(names), len(COUNTS) + BINS):
        raise ScalifyError(f"the last two results are not {SUMS} and {MAXIMA} of {len(names)} tensors")
    details = _details(module, len(names))
    return [_read(name, own, *rows) for name, own, *rows in zip(names, details, results[-2], results[-1], strict=True)]


def _details(module: ir.Module, count: int) -> list[dict[str, Any]]:
    """What is known of each row's tensor besides its name; nothing in modules of other versions."""
    if DETAILS not in module.operation.attributes:
        return [{}] * count
    return [
        {
            own.name: own.attr.value
            for own in ir.DictAttr(each)
            if isinstance(own.attr, (ir.StringAttr, ir.FloatAttr, ir.BoolAttr))
        }
        for each in ir.ArrayAttr(module.operation.attributes[DETAILS])
    ]  # fmt: skip


def _read(name: str, details: dict[str, Any], sums: Array, maxima: Array) -> TensorHealth:
    elements, squares, zeros, underflows, overflows = (float(value) for value in sums[: len(COUNTS)])
    count = max(elements, 1.0)
    amax, scale = (float(value) for value in maxima)
    return TensorHealth(
        name, int(elements), squares / count, amax, zeros / count, underflows / count, overflows / count, scale,
        tuple(int(value) for value in sums[len(COUNTS) :]), **details,
    )  # fmt: skip


def summary(tensors: Sequence[TensorHealth]) -> str:
    """One line: how many tensors there are, and how many are out of range or far from unit size."""
    verdicts = [tensor.verdict for tensor in tensors]
    bad, far = verdicts.count("bad"), verdicts.count("far")
    worst = next((tensor for tensor in tensors if tensor.verdict == "bad"), None)
    first = f"; the first out of range: {worst.name}" if worst is not None else ""
    return (
        f"{len(tensors)} tensors: {bad} out of range, {far} far from unit size, {len(tensors) - bad - far} well{first}"
    )


# The columns of a report besides the picture: head, and the text of a tensor.
COLUMNS: tuple[tuple[str, Callable[[TensorHealth], str]], ...] = (
    ("tensor", lambda t: t.name),
    ("type", lambda t: t.element or "-"),
    ("elements", lambda t: str(t.elements)),
    ("rms", lambda t: _power(t.log2_rms)),
    ("amax", lambda t: _power(_log2(t.amax))),
    ("scale", lambda t: _power(_log2(t.scale))),
    ("zeros", lambda t: _percent(t.zeros)),
    ("underflow", lambda t: _percent(t.underflow)),
    ("overflow", lambda t: _percent(t.overflow)),
)
_MARKS: dict[Verdict, str] = {"good": "", "far": "far", "bad": "BAD"}


def table(tensors: Sequence[TensorHealth]) -> str:
    """One line for each tensor, for a terminal; the last word is the verdict where it is not good."""
    rows = [(*(head for head, _ in COLUMNS), "")]
    rows += [(*(text(tensor) for _, text in COLUMNS), _MARKS[tensor.verdict]) for tensor in tensors]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = (0, 1)
    return "\n".join(
        "  ".join(cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in enumerate(
            zip(row, widths, strict=True))).rstrip()
        for row in rows
    )  # fmt: skip


def _log2(value: float) -> float:
    return math.log2(value) if 0 < value < math.inf else math.nan


def _power(exponent: float) -> str:
    return "-" if math.isnan(exponent) else f"2^{exponent:.1f}"


def _percent(fraction: float) -> str:
    """Two digits; a third of what is 100 otherwise, which is not all."""
    percent = 100 * fraction
    return "0" if fraction == 0 else f"{percent:.2g}%" if percent < 99.5 else f"{percent:.3g}%"
