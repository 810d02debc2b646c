"""The health report as a page: a row and a histogram of exponents for each tensor, with sorting and a filter."""

import html
import math
import re
from collections.abc import Sequence

from scalify_hlo.reports.health import COLUMNS, TensorHealth, summary
from scalify_hlo.reports.health_layout import BINS, FIRST_EXPONENT
from scalify_hlo.types import FLOAT_RANGE


def report_html(after: Sequence[TensorHealth], before: Sequence[TensorHealth] = (), *, title: str = "") -> str:
    """A page with one row for each tensor, in program order: its numbers, and the histogram of its data's exponents.

    before: tensors of another run, such as the program before rewriting; drawn in grey behind those of the same
    name (the k-th of a name behind the k-th). The page needs nothing from elsewhere; without JavaScript it is a table.
    """
    earlier: dict[str, list[TensorHealth]] = {}
    for tensor in before:
        earlier.setdefault(tensor.name, []).append(tensor)
    rows: list[str] = []
    for i, tensor in enumerate(after):
        same = earlier.get(tensor.name)
        rows.append(_row(i, tensor, same.pop(0) if same else None))
    heads = "".join(
        f'<th data-column="{i}" title="sort">{html.escape(head)}</th>' for i, (head, _) in enumerate(COLUMNS)
    )
    values = {
        "TITLE": html.escape(title or "Tensor health"), "SUMMARY": html.escape(summary(after)),
        "LEGEND": "blue: data" + ("; grey: before rewriting" if before else ""), "HEADS": heads,
        "AXIS": _axis(), "ROWS": "\n".join(rows),
    }  # fmt: skip
    return re.sub("@([A-Z]+)@", lambda place: values[place[1]], _PAGE)


_BAR, _HEIGHT = 6, 48
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>@TITLE@</title>
<style>
body { font: 13px system-ui, sans-serif; margin: 2em; color: #222; }
.controls { margin: 1em 0; } .controls > * { margin-right: 1.5em; }
input[type=search] { width: 28em; padding: 3px 6px; }
table { border-collapse: collapse; }
td, th { padding: 2px 8px; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th { position: sticky; top: 0; background: #fff; } th[data-column] { cursor: pointer; }
td:first-child, th:first-child, td:nth-child(2), th:nth-child(2) { text-align: left; }
td:first-child { max-width: 40em; overflow: hidden; text-overflow: ellipsis; }
td:first-child:hover { white-space: normal; overflow-wrap: anywhere; }
tr.bad td { background: #fde8e8; } tr.far td { background: #fff6dd; }
.before { fill: #bbb; } .after { fill: #36c; fill-opacity: 0.75; }
.f16 { stroke: #2a2; } .e4m3 { stroke: #d60; } text { font-size: 9px; fill: #555; }
</style></head><body>
<h1>@TITLE@</h1>
<p><b>@SUMMARY@</b></p>
<p>Histograms are over the exponents of the data (@LEGEND@); 2^0 is unit size. Green lines: the normal range of f16,
orange: that of E4M3. Red: elements beyond the range of the type, or more of them lost at its lower end than of Gaussian
data of unit size. Yellow: a narrow type, and further from unit size than 2^8.
A name shows its operation and source.</p>
<div class="controls"><input type="search" id="filter" placeholder="filter by name, type or source">
<label><input type="checkbox" id="flagged"> red and yellow only</label>
<button id="order">program order</button> <span id="shown"></span></div>
<table><thead><tr>@HEADS@<th>@AXIS@</th></tr></thead><tbody>
@ROWS@
</tbody></table>
<script>
const body = document.querySelector("tbody"), rows = [...body.rows];
const filter = document.getElementById("filter"), flagged = document.getElementById("flagged");
function show() {
  const words = filter.value.toLowerCase().split(" ").filter(Boolean);
  let count = 0;
  for (const row of rows) {
    const [name, type] = row.cells;
    const text = [name.title, name.textContent, type.textContent].join(" ").toLowerCase();
    const visible = words.every(word => text.includes(word)) && (!flagged.checked || row.className);
    row.hidden = !visible;
    count += visible ? 1 : 0;
  }
  document.getElementById("shown").textContent = count + " of " + rows.length + " shown";
}
function sort(key, sign) {
  rows.sort((a, b) => { const x = key(a), y = key(b); return (x > y ? 1 : x < y ? -1 : 0) * sign; });
  rows.forEach(row => body.append(row));
}
let column = -1, sign = -1;
for (const head of document.querySelectorAll("th[data-column]")) head.onclick = () => {
  const chosen = Number(head.dataset.column);
  sign = chosen === column ? -sign : chosen < 2 ? 1 : -1;
  column = chosen;
  sort(row => chosen < 2 ? row.cells[chosen].textContent : Number(row.cells[chosen].dataset.sort), sign);
};
document.getElementById("order").onclick = () => { column = -1; sort(row => Number(row.dataset.index), 1); };
filter.oninput = flagged.onchange = show;
show();
</script></body></html>
"""


def _row(index: int, tensor: TensorHealth, before: TensorHealth | None) -> str:
    numbers = (
        0, 0, tensor.elements, abs(tensor.log2_rms), _log2(tensor.amax), _log2(tensor.scale), tensor.zeros,
        tensor.underflow, tensor.overflow,
    )  # fmt: skip
    cells: list[str] = []
    for (_, text), number in zip(COLUMNS, numbers, strict=True):
        sort = -1e9 if math.isnan(number) else number
        origin = " ".join(part for part in (tensor.operation, tensor.source) if part) if not cells else ""
        title = f' title="{html.escape(origin)}"' if origin else ""
        cells.append(f'<td data-sort="{sort:g}"{title}>{html.escape(text(tensor))}</td>')
    verdict = "" if tensor.verdict == "good" else f' class="{tensor.verdict}"'
    return f'<tr data-index="{index}"{verdict}>{"".join(cells)}<td>{_histogram(tensor, before)}</td></tr>'


def _log2(value: float) -> float:
    return math.log2(value) if 0 < value < math.inf else math.nan


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
