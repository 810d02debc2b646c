"""The health report as a page: all tensors along the program in one picture, then a row with a histogram for each."""

import html
import math
import re
from collections.abc import Sequence

from scalify_hlo.reports.health import COLUMNS, TensorHealth, Verdict, summary
from scalify_hlo.reports.health_depth import along_the_program
from scalify_hlo.reports.health_layout import BINS, FIRST_EXPONENT
from scalify_hlo.types import FLOAT_RANGE


def report_html(after: Sequence[TensorHealth], before: Sequence[TensorHealth] = (), *, title: str = "") -> str:
    """A page with a picture of all tensors in program order, and one row for each, the worst first: its numbers, and
    the histogram of its data's exponents.

    before: tensors of another run, such as the program before rewriting; drawn in grey behind those of the same
    name (the k-th of a name behind the k-th). The page needs nothing from elsewhere; without JavaScript it is a table.
    """
    earlier: dict[str, list[TensorHealth]] = {}
    for tensor in before:
        earlier.setdefault(tensor.name, []).append(tensor)
    pairs: list[tuple[TensorHealth, TensorHealth | None]] = []
    for tensor in after:
        same = earlier.get(tensor.name)
        pairs.append((tensor, same.pop(0) if same else None))
    order = sorted(range(len(pairs)), key=lambda i: _WORST_FIRST.index(pairs[i][0].verdict))
    rows = [_row(i, *pairs[i]) for i in order]
    heads = "".join(
        f'<th data-column="{i}" title="sort">{html.escape(head)}</th>' for i, (head, _) in enumerate(COLUMNS)
    )
    values = {
        "TITLE": html.escape(title or "Tensor health"), "SUMMARY": html.escape(summary(after)),
        "LEGEND": "blue: data" + ("; grey: before rewriting" if before else ""), "HEADS": heads,
        "DEPTH": along_the_program(pairs), "AXIS": _axis(), "ROWS": "\n".join(rows),
    }  # fmt: skip
    return re.sub("@([A-Z]+)@", lambda place: values[place[1]], _PAGE)


# In this order, and in program order among those of one verdict: the first that is bad often makes the others so.
_WORST_FIRST: tuple[Verdict, ...] = ("bad", "far", "good")
_BAR, _HEIGHT = 5, 40
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>@TITLE@</title>
<style>
body { font: 13px system-ui, sans-serif; margin: 2em; color: #222; }
.controls { margin: 1em 0; } .controls > * { margin-right: 1.5em; }
input[type=search] { width: 28em; padding: 3px 6px; }
table { border-collapse: collapse; width: 100%; }
td, th { padding: 2px 8px; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th { position: sticky; top: 0; background: #fff; } th[data-column] { cursor: pointer; }
td:first-child, th:first-child, td:nth-child(2), th:nth-child(2) { text-align: left; }
td:first-child { width: 99%; max-width: 12em; overflow: hidden; text-overflow: ellipsis; }
td:first-child:hover, details[open] { white-space: normal; overflow-wrap: anywhere; }
summary { cursor: pointer; list-style: none; } details > div { color: #666; padding: 2px 0 4px 1em; }
.depth { width: 100%; height: 190px; display: block; } .depth [data-row] { cursor: pointer; }
.depth .hit { fill: transparent; } .depth .bad .hit { fill: #fde8e8; } .depth .far .hit { fill: #fff6dd; }
.depth .hit:hover { fill: #dbe7ff; }
.depth .rms { stroke: #036; stroke-width: 2px; } .depth line, .depth rect { vector-effect: non-scaling-stroke; }
tr.bad td { background: #fde8e8; } tr.far td { background: #fff6dd; }
.before { fill: #bbb; } .after { fill: #36c; fill-opacity: 0.75; }
.f16 { stroke: #2a2; } .e4m3 { stroke: #d60; } text { font-size: 9px; fill: #555; }
</style></head><body>
<h1>@TITLE@</h1>
<p><b>@SUMMARY@</b></p>
<p>All tensors in program order: the exponents of 90% of each one's data, and its root mean square.
A click shows its row.</p>
@DEPTH@
<p>Histograms are over the exponents of the data (@LEGEND@); 2^0 is unit size. Green lines: the normal range of f16,
orange: that of E4M3. Red: elements beyond the range of the type, or so many at its lower end that they add to the error
of rounding. Yellow: a narrow type, and further from unit size than 2^8.
A click on a name shows its operation and source.</p>
<div class="controls"><input type="search" id="filter" placeholder="filter by name, type or source">
<label><input type="checkbox" id="flagged"> red and yellow only</label>
<button id="worst">worst first</button> <button id="order">program order</button> <span id="shown"></span></div>
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
    const text = [name.textContent, type.textContent].join(" ").toLowerCase();
    const visible = words.every(word => text.includes(word)) && (!flagged.checked || row.className);
    row.hidden = !visible;
    count += visible ? 1 : 0;
  }
  document.getElementById("shown").textContent = count + " of " + rows.length + " shown";
}
function sort(key, sign) {
  const compared = (x, y) => x > y ? 1 : x < y ? -1 : 0;
  rows.sort((a, b) => compared(key(a), key(b)) * sign || index(a) - index(b));
  rows.forEach(row => body.append(row));
}
const index = row => Number(row.dataset.index), worst = row => ["bad", "far", ""].indexOf(row.className);
let column = -1, sign = -1;
for (const head of document.querySelectorAll("th[data-column]")) head.onclick = () => {
  const chosen = Number(head.dataset.column);
  sign = chosen === column ? -sign : chosen < 2 ? 1 : -1;
  column = chosen;
  const cell = row => row.cells[chosen], name = row => cell(row).querySelector("summary") || cell(row);
  sort(row => chosen < 2 ? name(row).textContent : Number(cell(row).dataset.sort), sign);
};
document.getElementById("order").onclick = () => { column = -1; sort(index, 1); };
document.getElementById("worst").onclick = () => { column = -1; sort(worst, 1); };
for (const place of document.querySelectorAll(".depth [data-row]")) place.onclick = () => {
  const row = document.querySelector(`tr[data-index="${place.dataset.row}"]`);
  row.hidden = false;
  row.querySelectorAll("details").forEach(each => each.open = true);
  row.scrollIntoView({block: "center"});
  row.animate([{background: "#9bf"}, {}], 2000);
};
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
        cells.append(f'<td data-sort="{sort:g}">{html.escape(text(tensor)) if cells else _name(tensor)}</td>')
    verdict = "" if tensor.verdict == "good" else f' class="{tensor.verdict}"'
    return f'<tr data-index="{index}"{verdict}>{"".join(cells)}<td>{_histogram(tensor, before)}</td></tr>'


def _name(tensor: TensorHealth) -> str:
    """The name; a click on it shows where the tensor comes from, where that is known."""
    name = html.escape(tensor.name)
    origin = " ".join(part for part in (tensor.operation, tensor.source) if part)
    return f"<details><summary>{name}</summary><div>{html.escape(origin)}</div></details>" if origin else name


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
