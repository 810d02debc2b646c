"""Curves over the steps of a training as a page of SVG pictures: nothing to install, nothing to fetch."""

import html
import math
from collections.abc import Mapping, Sequence

Curve = Sequence[tuple[int, float]]
_COLOURS = ("#3366cc", "#d9622b", "#2a9d4a", "#8e44ad", "#c0392b", "#128b9b", "#8a6d1d", "#5b6b7b")
_LEFT, _TOP, _WIDTH, _HEIGHT = 64, 10, 620, 220
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14px system-ui, sans-serif; margin: 2em; color: #222; }} h2 {{ margin: 1.5em 0 0.3em; font-size: 16px; }}
path {{ fill: none; stroke-width: 1.4; }} path:hover {{ stroke-width: 4; }} text {{ font-size: 11px; fill: #555; }}
.axis {{ stroke: #ddd; }} .names {{ columns: 3; font-size: 12px; max-width: 60em; }}
</style></head><body><h1>{title}</h1>
{charts}</body></html>
"""


def page(title: str, charts: Mapping[str, Mapping[str, Curve]]) -> str:
    """A page with one picture for each of `charts`: its title, and its curves by name."""
    drawn = "\n".join(_chart(name, curves) for name, curves in charts.items() if curves)
    return _PAGE.format(title=html.escape(title), charts=drawn)


def _chart(title: str, curves: Mapping[str, Curve]) -> str:
    points = [point for curve in curves.values() for point in curve if math.isfinite(point[1])]
    if not points:
        return f"<h2>{html.escape(title)}</h2><p>no finite value</p>"
    (left, right), (low, high) = (_range([p[0] for p in points]), _range([p[1] for p in points]))

    def place(step: float, value: float) -> str:
        x = _LEFT + _WIDTH * (step - left) / (right - left)
        y = _TOP + _HEIGHT * (1 - (value - low) / (high - low))
        return f"{x:.1f},{y:.1f}"

    parts = _axes((left, right), (low, high))
    names: list[str] = []
    for i, (name, curve) in enumerate(curves.items()):
        colour, shown = _COLOURS[i % len(_COLOURS)], html.escape(name)
        # A gap where the value is not finite.
        pieces: list[str] = []
        pen = "M"
        for step, value in curve:
            if math.isfinite(value):
                pieces.append(pen + place(step, value))
            pen = "L" if math.isfinite(value) else "M"
        parts.append(f'<path d="{"".join(pieces)}" stroke="{colour}"><title>{shown}</title></path>')
        names.append(f'<div style="color:{colour}">{shown}</div>')
    size = f'width="{_LEFT + _WIDTH + 20}" height="{_TOP + _HEIGHT + 26}"'
    picture = f"<svg {size}>{''.join(parts)}</svg>"
    return f'<h2>{html.escape(title)}</h2>{picture}<div class="names">{"".join(names)}</div>'


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 1, high + 1)


def _axes(steps: tuple[float, float], values: tuple[float, float]) -> list[str]:
    parts: list[str] = []
    for i in range(5):
        y, value = _TOP + _HEIGHT * (1 - i / 4), values[0] + (values[1] - values[0]) * i / 4
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.4g}</text>')
        x, step = _LEFT + _WIDTH * i / 4, steps[0] + (steps[1] - steps[0]) * i / 4
        parts.append(f'<text x="{x:.1f}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle">{step:.5g}</text>')
    return parts
