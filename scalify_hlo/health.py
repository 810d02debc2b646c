"""Per-tensor health: how well the data of each tensor use the range of their type.

Unit scaling keeps the mean square of the data near 1, far from both ends of the type. A tensor whose data have
drifted shows it by their mean square; one that has been hurt, by its zeros, underflows and overflows.
"""

import dataclasses
import html as _html
import math
from collections.abc import Sequence

import numpy as np

from scalify_hlo.bindings import ir
from scalify_hlo.errors import ScalifyError
from scalify_hlo.execution.element_types import Array
from scalify_hlo.health_layout import BINS, COUNTS, FIRST_EXPONENT, MAXIMA, NAMES, SUMS
from scalify_hlo.types import FLOAT_RANGE


@dataclasses.dataclass(frozen=True)
class TensorHealth:
    """Statistics of the data of one tensor, over all iterations of the loops it is in.

    mean_square: E[data^2]. amax: the largest magnitude. zeros, underflow, overflow: fractions of the elements that
    are zero, nonzero but below the type's smallest normal number, above its largest number or NaN.
    scale: the (largest) scale; 1 where the tensor has none. histogram: how many elements have each exponent, from
    `FIRST_EXPONENT`; what lies beyond is in the first and last bin, zeros are in none.
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
    return [_read(name, *rows) for name, *rows in zip(names, results[-2], results[-1], strict=True)]


def _read(name: str, sums: Array, maxima: Array) -> TensorHealth:
    elements, squares, zeros, underflows, overflows = (float(value) for value in sums[: len(COUNTS)])
    count = max(elements, 1.0)
    amax, scale = (float(value) for value in maxima)
    return TensorHealth(
        name, int(elements), squares / count, amax, zeros / count, underflows / count, overflows / count, scale,
        tuple(int(value) for value in sums[len(COUNTS) :]),
    )  # fmt: skip


def table(tensors: Sequence[TensorHealth]) -> str:
    """One line for each tensor, for a terminal."""
    rows = [("tensor", "elements", "rms", "amax", "scale", "zeros", "underflow", "overflow")]
    rows += [
        (
            tensor.name, str(tensor.elements), _power(tensor.log2_rms), _power(_log2(tensor.amax)),
            _power(_log2(tensor.scale)), _percent(tensor.zeros), _percent(tensor.underflow), _percent(tensor.overflow),
        )
        for tensor in tensors
    ]  # fmt: skip
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(
            zip(row, widths, strict=True))).rstrip()
        for row in rows
    )  # fmt: skip


def report_html(after: Sequence[TensorHealth], before: Sequence[TensorHealth] = (), *, title: str = "") -> str:
    """A page with one row for each tensor: its numbers, and the histogram of its data's exponents.

    before: tensors of another run, such as the program before rewriting; drawn in grey behind those of the same
    name (the k-th of a name behind the k-th).
    """
    earlier: dict[str, list[TensorHealth]] = {}
    for tensor in before:
        earlier.setdefault(tensor.name, []).append(tensor)
    rows: list[str] = []
    for tensor in after:
        same = earlier.get(tensor.name)
        rows.append(_html_row(tensor, same.pop(0) if same else None))
    legend = "blue: data" + ("; grey: before rewriting" if before else "")
    return _PAGE.format(title=_html.escape(title or "Tensor health"), legend=legend, rows="\n".join(rows), axis=_axis())


_BAR, _HEIGHT = 6, 48
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 13px system-ui, sans-serif; margin: 2em; }}
table {{ border-collapse: collapse; }}
td, th {{ padding: 2px 8px; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }}
td:first-child, th:first-child {{ text-align: left; max-width: 40em; overflow: hidden; text-overflow: ellipsis; }}
tr.bad td {{ background: #fee; }}
.before {{ fill: #bbb; }} .after {{ fill: #36c; fill-opacity: 0.75; }}
.f16 {{ stroke: #2a2; }} .e4m3 {{ stroke: #d60; }} text {{ font-size: 9px; fill: #555; }}
</style></head><body>
<h1>{title}</h1>
<p>Histograms are over the exponents of the data ({legend}); 2^0 is unit size. Green lines: the normal range of f16,
orange: that of E4M3. Rows with an overflow, or with more than 1% underflow, are red.</p>
<table><tr><th>tensor</th><th>elements</th><th>rms</th><th>amax</th><th>scale</th><th>zeros</th><th>underflow</th>
<th>overflow</th><th>{axis}</th></tr>
{rows}
</table></body></html>
"""


def _html_row(tensor: TensorHealth, before: TensorHealth | None) -> str:
    cells = [
        _html.escape(tensor.name), str(tensor.elements), _power(tensor.log2_rms), _power(_log2(tensor.amax)),
        _power(_log2(tensor.scale)), _percent(tensor.zeros), _percent(tensor.underflow), _percent(tensor.overflow),
        _histogram(tensor, before),
    ]  # fmt: skip
    bad = ' class="bad"' if tensor.overflow or tensor.underflow > 0.01 else ""
    return f"<tr{bad}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _histogram(tensor: TensorHealth, before: TensorHealth | None) -> str:
    parts = [_range_lines()]
    for each, style in ((before, "before"), (tensor, "after")):
        if each is None:
            continue
        largest = max(each.histogram, default=0) or 1
        for i, count in enumerate(each.histogram):
            height = round(_HEIGHT * count / largest, 1)
            if height:
                place = f'x="{i * _BAR}" y="{_HEIGHT - height}" width="{_BAR - 1}" height="{height}"'
                parts.append(f'<rect class="{style}" {place}/>')
    return f'<svg width="{BINS * _BAR}" height="{_HEIGHT}">{"".join(parts)}</svg>'


def _range_lines() -> str:
    lines: list[str] = []
    for element, style in (("f16", "f16"), ("f8E4M3FN", "e4m3")):
        high, low, _ = FLOAT_RANGE[element]
        for exponent in (low, high + 1):
            x = (exponent - FIRST_EXPONENT) * _BAR
            lines.append(f'<line class="{style}" x1="{x}" x2="{x}" y1="0" y2="{_HEIGHT}"/>')
    return "".join(lines)


def _axis() -> str:
    labels = "".join(
        f'<text x="{(exponent - FIRST_EXPONENT) * _BAR}" y="10" text-anchor="middle">2^{exponent}</text>'
        for exponent in range(FIRST_EXPONENT + 8, FIRST_EXPONENT + BINS, 8)
    )
    return f'<svg width="{BINS * _BAR}" height="12">{labels}</svg>'


def _log2(value: float) -> float:
    return math.log2(value) if 0 < value < math.inf else math.nan


def _power(exponent: float) -> str:
    return "-" if math.isnan(exponent) else f"2^{exponent:.1f}"


def _percent(fraction: float) -> str:
    return "0" if fraction == 0 else f"{100 * fraction:.2g}%"
