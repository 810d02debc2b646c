"""One picture of all tensors along the program: where the exponents of each one's data are in the range of types."""

import html
import math
from collections.abc import Sequence

from scalify_hlo.reports.health import TensorHealth
from scalify_hlo.reports.health_layout import BINS, FIRST_EXPONENT
from scalify_hlo.types import FLOAT_RANGE

# What is drawn of a tensor's elements: all but this share at either end.
_TAIL = 0.05
_WIDTH = 10


def along_the_program(pairs: Sequence[tuple[TensorHealth, TensorHealth | None]]) -> str:
    """An SVG, a column for each tensor in program order: the exponents between the 5th and the 95th percentile of its
    data, behind them those of the second of the pair, and a line at its root mean square. Columns have the number of
    the tensor as `data-row`, and its verdict as class.
    """
    parts = [_column(i, *pair) for i, pair in enumerate(pairs)]
    width = max(len(pairs), 1) * _WIDTH
    for element, style in (("f16", "f16"), ("f8E4M3FN", "e4m3")):
        high, low, _ = FLOAT_RANGE[element]
        parts += [_line(style, 0, width, exponent) for exponent in (low, high + 1)]
    return f'<svg class="depth" viewBox="0 0 {width} {BINS}" preserveAspectRatio="none">{"".join(parts)}</svg>'


def _column(index: int, tensor: TensorHealth, before: TensorHealth | None) -> str:
    left = index * _WIDTH
    parts = [f'<rect class="hit" x="{left}" y="0" width="{_WIDTH}" height="{BINS}"/>']
    for each, style in ((before, "before"), (tensor, "after")):
        span = None if each is None else middle(each.histogram)
        if span is not None:
            height = span[1] - span[0] + 1
            y = BINS - 1 - span[1]
            parts.append(f'<rect class="{style}" x="{left + 1}" y="{y}" width="{_WIDTH - 2}" height="{height}"/>')
    if not math.isnan(tensor.log2_rms):
        parts.append(_line("rms", left, left + _WIDTH, tensor.log2_rms))
    title = html.escape(f"{tensor.name}, {tensor.element}, root mean square 2^{tensor.log2_rms:.1f}")
    return f'<g data-row="{index}" class="{tensor.verdict}"><title>{title}</title>{"".join(parts)}</g>'


def _line(style: str, left: float, right: float, exponent: float) -> str:
    y = BINS - (exponent - FIRST_EXPONENT)
    return f'<line class="{style}" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'


def middle(histogram: Sequence[int]) -> tuple[int, int] | None:
    """The bins of the 5th and of the 95th percentile; None of an empty histogram."""
    total, count = sum(histogram), 0
    first = None
    for i, each in enumerate(histogram):
        count += each
        if first is None and count > _TAIL * total:
            first = i
        if first is not None and count >= (1 - _TAIL) * total:
            return first, i
    return None
