"""The health report in a browser: headless Chromium runs the page, and what it has made of it is read."""

import html
import json
import pathlib
import re
import shutil
import subprocess
from typing import Any

import pytest

from scalify_hlo.health import TensorHealth, report_html
from scalify_hlo.reports.health_depth import middle

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def tensor(name: str, size: float, **others: Any) -> TensorHealth:
    histogram = [0] * 64
    histogram[48] = 4
    settings = {"element": "f16", "format": "f16", "operation": "stablehlo.add", "zeros": 0.0, "underflow": 0.0,
                "overflow": 0.0, "scale": 1.0} | others  # fmt: skip
    return TensorHealth(name, 4, size**2, size, histogram=tuple(histogram), **settings)


TENSORS = [
    tensor("first", 1.0, source="model.py:3:4"),
    tensor("largest", 2.0**15, scale=4.0),
    tensor("lost <b>", 1.0, element="f8E4M3FN", format="f8E4M3FN", overflow=0.5),
    tensor("product", 0.5, operation="stablehlo.dot_general"),
]
# What a reader does, and what is then to be seen: names of the rows that are shown, in their order.
SCRIPT = """
<script>
const seen = {};
const nameOf = row => (row.querySelector("summary") || row.cells[0]).textContent;
const shown = () => [...body.rows].filter(row => !row.hidden).map(nameOf);
const headOf = name => [...document.querySelectorAll("th[data-column]")].find(th => th.textContent === name);
seen.titles = [document.title, document.querySelector("h1").textContent];
seen.start = [shown(), document.getElementById("shown").textContent];
filter.value = "DOT_general"; filter.oninput(); seen.operation = shown();
filter.value = "model.py"; filter.oninput(); seen.source = shown();
filter.value = "f8e4m3fn"; filter.oninput(); seen.type = shown();
filter.value = ""; flagged.checked = true; flagged.onchange(); seen.flagged = shown();
flagged.checked = false; flagged.onchange();
headOf("amax").onclick(); seen.descending = shown();
headOf("amax").onclick(); seen.ascending = shown();
headOf("tensor").onclick(); seen.names = shown();
document.getElementById("order").onclick(); seen.order = shown();
document.getElementById("worst").onclick(); seen.worst = shown();
filter.value = "nothing"; filter.oninput();
document.querySelector('.depth [data-row="0"]').onclick();
seen.clicked = [shown(), [...body.rows].filter(row => row.querySelector("details[open]")).map(nameOf)];
const count = (each, style) => each.querySelectorAll(style).length;
seen.depth = [...document.querySelectorAll(".depth [data-row]")].map(
  each => [each.getAttribute("class"), count(each, ".after"), count(each, ".before")]);
seen.width = document.documentElement.scrollWidth <= document.documentElement.clientWidth;
document.body.insertAdjacentHTML("beforeend", "<pre id=seen></pre>");
document.getElementById("seen").textContent = JSON.stringify(seen);
</script></body>"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    if BROWSER is None:
        pytest.skip("no Chromium here: the page's script is not run")
    folder: pathlib.Path = tmp_path_factory.mktemp("page")
    page = report_html(TENSORS, TENSORS[:1], title="a & b").replace("</body>", SCRIPT)
    (folder / "page.html").write_text(page)
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,800",
               f"--user-data-dir={folder / 'profile'}",
               "--dump-dom", (folder / "page.html").as_uri()]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip("Chromium has not come to its end in two minutes here")
    found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout)
    assert found, done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


def test_the_worst_come_first(seen: dict[str, Any]) -> None:
    assert seen["start"] == [["lost <b>", "largest", "first", "product"], "4 of 4 shown"]
    assert seen["worst"] == seen["start"][0]


def test_the_picture_of_all_tensors_is_in_program_order(seen: dict[str, Any]) -> None:
    assert seen["depth"] == [["good", 1, 1], ["far", 1, 0], ["bad", 1, 0], ["good", 1, 0]]
    # A click shows the row, though the filter hides it, and where the tensor comes from.
    assert seen["clicked"] == [["first"], ["first"]]


def test_nothing_is_cut_off(seen: dict[str, Any]) -> None:
    assert seen["width"]


def test_percentiles_of_histograms() -> None:
    assert middle([0, 1, 18, 1, 0]) == (2, 2)
    assert middle([0, 2, 16, 2, 0]) == (1, 3)
    assert middle([5, 0, 0]) == (0, 0)
    assert middle([0, 0]) is None


def test_titles(seen: dict[str, Any]) -> None:
    assert seen["titles"] == ["a & b"] * 2


def test_nothing_of_the_template_is_left() -> None:
    """Nor is anything put into what a program's names look like."""
    page = report_html([tensor("@ROWS@", 1.0)], title="@TITLE@")
    assert re.findall("@[A-Z]+@", page) == ["@TITLE@", "@TITLE@", "@ROWS@", "@ROWS@"]


def test_filtered(seen: dict[str, Any]) -> None:
    assert (seen["operation"], seen["source"], seen["type"]) == (["product"], ["first"], ["lost <b>"])
    assert seen["flagged"] == ["lost <b>", "largest"]


def test_sorted(seen: dict[str, Any]) -> None:
    assert seen["descending"][0] == "largest" and seen["descending"][-1] == "product"
    assert seen["ascending"] == ["product", "first", "lost <b>", "largest"]
    assert seen["names"] == ["first", "largest", "lost <b>", "product"] == seen["order"]
