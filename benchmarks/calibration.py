"""How far from unit size the data of every tensor of a training step are, forward, backward and in the optimiser.

A plain model's step (loss, gradients, Adam) is exported, rewritten and run operation by operation on XLA:CPU; every
(data, scale) pair, in private functions and loops too, is looked at and compared with the program in f64. No dynamic
rescaling. The tables: shares per part of the program and per family of rules, means per block, the tensors furthest
from unit size, those where the error against f64 jumps, and how log2 RMS changes from block to block.

    python -m benchmarks.calibration --model gpt2 --layers 4 --dtype f16 --scales rms
"""

import dataclasses
import pathlib
import time
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, median
from typing import Any, get_args

import click
import numpy as np

from benchmarks.calibration_measure import F16_LOW, Measurement, Scales, Tensor, measure
from benchmarks.models.catalogue import MODELS
from benchmarks.records import RESULTS, environment, write_json
from scalify_hlo.options import Rounding, ScalifyOptions

# Issue "calibrated at any depth": at least this share of the tensors within 2^-8..2^8, at most this slope per layer.
WINDOW, SHARE, SLOPE = 8, 0.99, 0.05
# The parts of the program in which there are blocks.
_DIRECTIONS = ("forward", "backward")


@dataclasses.dataclass(frozen=True)
class Summary:
    """Counts over some tensors.

    Those that are all zeros, or zeros but for rounding (the sum of a normalised gradient), count as `zeros` and `noise`
    alone.
    """

    tensors: int
    zeros: int
    noise: int
    # Share within 2^-8..2^8 of unit RMS; the same of the tensors whose data the rewritten program needs.
    within: float
    within_used: float
    # Tensors with elements that f16 cannot hold, and with an RMS below its normal range.
    overflow: int
    underflow: int
    lowest: float
    median: float
    highest: float


def summary(tensors: Iterable[Tensor]) -> Summary:
    """Counts over `tensors`."""
    every = list(tensors)
    found = [t for t in every if not t.is_noise]
    sizes = [t.log2_rms for t in found if t.log2_rms is not None]
    used = [t.log2_rms for t in found if t.log2_rms is not None and t.used]
    return Summary(
        len(sizes), len(found) - len(sizes), len(every) - len(found), _share(sizes), _share(used),
        sum(t.overflows for t in found), sum(t.underflows for t in found),
        min(sizes, default=0.0), median(sizes or [0.0]), max(sizes, default=0.0),
    )  # fmt: skip


def _share(sizes: Sequence[float]) -> float:
    return sum(abs(size) <= WINDOW for size in sizes) / len(sizes) if sizes else 1.0


@dataclasses.dataclass(frozen=True)
class Slope:
    """Change of log2 RMS per block, by least squares, of the tensors at one place in every block."""

    place: str
    operation: str
    direction: str
    slope: float
    first: float
    last: float


def slopes(tensors: Iterable[Tensor]) -> list[Slope]:
    """One for each place that at least three blocks have, the steepest first."""
    found: list[Slope] = []
    for (place, operation, direction, _), points in _places(tensors).items():
        layers, sizes = zip(*points, strict=True)
        slope = float(np.polyfit(layers, sizes, 1)[0])
        found.append(Slope(place, operation, direction, round(slope, 4), sizes[0], sizes[-1]))
    return sorted(found, key=lambda s: -abs(s.slope))


def pooled_slope(tensors: Iterable[Tensor], direction: str) -> float | None:
    """Change of log2 RMS per block over all places of one direction: one slope, each place with a height of its own.

    None where fewer than three blocks have a place in common.
    """
    above = below = 0.0
    for points in _places(t for t in tensors if t.direction == direction).values():
        layers, sizes = (np.array(values, float) for values in zip(*points, strict=True))
        above += float(((layers - layers.mean()) * sizes).sum())
        below += float(((layers - layers.mean()) ** 2).sum())
    return round(above / below, 4) if below else None


def _places(tensors: Iterable[Tensor]) -> dict[tuple[str, str, str, int], list[tuple[int, float]]]:
    """(block, log2 RMS) at each place that at least three blocks have: place, operation, direction, how many before."""
    by_place: dict[tuple[str, str, str, int], list[tuple[int, float]]] = {}
    seen: dict[tuple[str, str, str, int], int] = {}
    for t in tensors:
        if t.layer is None or t.log2_rms is None:
            continue
        here = (t.place, t.operation, t.direction, t.layer)
        seen[here] = seen.get(here, -1) + 1
        by_place.setdefault((t.place, t.operation, t.direction, seen[here]), []).append((t.layer, t.log2_rms))
    return {place: sorted(points) for place, points in by_place.items() if len(points) >= 3}


def layer_means(tensors: Sequence[Tensor], direction: str) -> dict[int, float]:
    """Mean log2 RMS of each block."""
    by_layer: dict[int, list[float]] = {}
    for t in tensors:
        if t.layer is not None and t.log2_rms is not None and t.direction == direction:
            by_layer.setdefault(t.layer, []).append(t.log2_rms)
    return {layer: fmean(by_layer[layer]) for layer in sorted(by_layer)}


# --- tables -------------------------------------------------------------------------------------------------------

_COUNTS = (
    "tensors", "zeros", "noise", "in 2^±8", "in 2^±8, used", "f16 overflow", "f16 underflow",
    "lowest", "median", "highest",
)  # fmt: skip


def grouped(tensors: Sequence[Tensor], title: str, key: Callable[[Tensor], Any]) -> str:
    """Counts of each group, and of all."""
    groups: dict[Any, list[Tensor]] = {}
    for t in tensors:
        groups.setdefault(key(t), []).append(t)
    rows = [(str(name), summary(groups[name])) for name in sorted(groups, key=str)]
    rows.append(("all", summary(tensors)))
    return table((title, *_COUNTS), [(name, *_cells(s)) for name, s in rows])


def _cells(s: Summary) -> tuple[str, ...]:
    return (
        f"{s.tensors}", f"{s.zeros}", f"{s.noise}", f"{s.within:.1%}", f"{s.within_used:.1%}",
        f"{s.overflow}", f"{s.underflow}", f"{s.lowest:.1f}", f"{s.median:.1f}", f"{s.highest:.1f}",
    )  # fmt: skip


_TENSOR = ("#", "operation", "part", "block", "used", "elements", "log2 rms", "estimate", "surprise",
           "largest", "scale", "true", "zeros", "error", "name")  # fmt: skip


def listed(tensors: Iterable[Tensor]) -> str:
    """One row for each tensor."""
    rows = [
        (
            f"{t.index}", t.operation, t.direction, "" if t.layer is None else f"{t.layer}", "yes" if t.used else "no",
            f"{t.elements}", _power(t.log2_rms), _power(t.log2_estimate), f"{t.surprise:+.1f}",
            _power(t.log2_largest), _power(t.log2_scale), _power(t.log2_true),
            f"{t.zeros:.1%}", "" if t.error is None else f"{t.error:.1e}", t.name[-60:],
        )
        for t in tensors
    ]  # fmt: skip
    return table(_TENSOR, rows)


def _power(exponent: float | None) -> str:
    return "" if exponent is None else f"{exponent:.1f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns are aligned."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = [" | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in (head, *rows)]
    lines.insert(1, "-|-".join("-" * w for w in widths))
    return "\n".join(f"| {line} |" if i != 1 else f"|-{line}-|" for i, line in enumerate(lines))


def worst(tensors: Iterable[Tensor], count: int) -> list[Tensor]:
    """Elements that ought to be finite first, in program order, then the furthest from unit size.

    One of each place and operation.
    """
    order = sorted(tensors, key=lambda t: (t.wrong == 0, t.index if t.wrong else -abs(t.log2_rms or 0.0)))
    chosen: dict[tuple[str, str, str], Tensor] = {}
    for t in order:
        chosen.setdefault((t.place, t.operation, t.direction), t)
    return list(chosen.values())[:count]


def report(found: Measurement, count: int) -> str:
    """All tables."""
    tensors = found.tensors
    parts = [
        grouped(tensors, "part", lambda t: t.direction),
        grouped(tensors, "family", lambda t: t.family),
    ]
    blocks = [[f"{i}", *(f"{m.get(i, float('nan')):.2f}" for m in means)]
              for means in [[layer_means(tensors, d) for d in _DIRECTIONS]] for i in means[0]]  # fmt: skip
    if blocks:
        parts.append(table(("block", "forward", "backward"), blocks))
    steep = slopes(tensors)
    if steep:
        beyond = sum(abs(s.slope) >= SLOPE for s in steep)
        rows = [(f"{s.slope:+.3f}", s.operation, s.direction, f"{s.first:.1f}", f"{s.last:.1f}", s.place[-60:])
                for s in steep[:count]]  # fmt: skip
        pooled = ", ".join(f"{d} {pooled_slope(tensors, d)}" for d in _DIRECTIONS)
        parts.append(f"log2 RMS per block: {pooled}; {beyond} of {len(steep)} places beyond {SLOPE}; the steepest:\n"
                     + table(("slope", "operation", "part", "first", "last", "name"), rows))  # fmt: skip
    for part in ("forward", "backward", "optimiser"):
        chosen = worst((t for t in tensors if t.direction == part), count)
        parts.append(f"Furthest from unit size, {part}:\n{listed(chosen)}")
    surprising = sorted((t for t in tensors if t.direction != "argument"), key=lambda t: -abs(t.surprise))
    chosen = {(t.place, t.operation, t.direction): t for t in reversed(surprising)}
    parts.append(
        f"Where an estimate goes wrong:\n{listed(sorted(chosen.values(), key=lambda t: -abs(t.surprise))[:count])}"
    )
    errors = sorted((t for t in tensors if t.error is not None), key=lambda t: -(t.error or 0.0))
    parts.append(f"Largest error against f64:\n{listed(errors[:count])}")
    parts.append(f"loss {found.loss:.6g}, in f64 {found.true_loss:.6g}")
    return "\n\n".join(parts)


def record(found: Measurement) -> dict[str, Any]:
    """The numbers of a report, for a file."""
    tensors = found.tensors
    steep = slopes(tensors)
    return {
        "all": dataclasses.asdict(summary(tensors)),
        "parts": {p: dataclasses.asdict(summary(t for t in tensors if t.direction == p))
                  for p in sorted({t.direction for t in tensors})},
        "families": {f: dataclasses.asdict(summary(t for t in tensors if t.family == f))
                     for f in sorted({t.family for t in tensors})},
        "block means": {d: list(layer_means(tensors, d).values()) for d in _DIRECTIONS},
        "steepest": [dataclasses.asdict(s) for s in steep[:10]],
        "slopes": {d: pooled_slope(tensors, d) for d in _DIRECTIONS},
        "beyond slope": sum(abs(s.slope) >= SLOPE for s in steep),
        "worst": [dataclasses.asdict(t) for t in worst(tensors, 20)],
        "loss": [found.loss, found.true_loss],
    }  # fmt: skip


@click.command(help=__doc__)
@click.option("--model", type=click.Choice(sorted(MODELS)), default="gpt2", show_default=True)
@click.option("--layers", default=4, show_default=True)
@click.option("--dtype", type=click.Choice(["f32", "f16"]), default="f32", show_default=True)
@click.option("--scales", type=click.Choice(get_args(Scales)), default="rms", show_default=True,
              help="Scales of the parameters: at their RMS, or all 1.")  # fmt: skip
@click.option("--steps", default=1, show_default=True, help="Steps; the last one is measured.")
@click.option("--rules", type=click.Choice(["default", "paper"]), default="default", show_default=True)
@click.option("--rounding", type=click.Choice(get_args(Rounding)), default="down", show_default=True)
@click.option("--slack", default=ScalifyOptions().slack, show_default=True)
@click.option("--statistics", type=click.Choice(["f32", "own"]), default="f32", show_default=True)
@click.option("--count", default=12, show_default=True, help="Rows of the lists of the worst.")
@click.option("--all-tensors", is_flag=True, help="List every tensor in program order.")
@click.option("--out", type=click.Path(path_type=pathlib.Path), help="[default: benchmarks/results/calibration/...]")
def main(model: str, layers: int, dtype: str, scales: Any, steps: int, rules: Any, rounding: Any, slack: float,
         statistics: Any, count: int, all_tensors: bool, out: pathlib.Path | None) -> None:  # fmt: skip
    start = time.perf_counter()
    options = ScalifyOptions(rules=rules, rounding=rounding, slack=slack, statistics=statistics)
    found = measure(MODELS[model](layers), dtype, scales, steps=steps, options=options)
    if all_tensors:
        print(listed(found.tensors), end="\n\n")
    print(report(found, count))
    settings = {"model": model, "layers": layers, "dtype": dtype, "scales": scales, "steps": steps, "rules": rules,
                "rounding": rounding, "slack": slack, "statistics": statistics}  # fmt: skip
    name = "-".join([model, str(layers), dtype, scales, *([f"{steps}steps"] if steps > 1 else []), rules])
    path = out or RESULTS / "calibration" / f"{name}.json"
    write_json(path, {"settings": settings, "environment": environment(), **record(found)})
    total = summary(found.tensors)
    steepest = max(abs(pooled_slope(found.tensors, d) or 0.0) for d in _DIRECTIONS)
    print(
        f"\n{name}: {total.within:.1%} within 2^±{WINDOW} (target {SHARE:.0%}), {total.overflow} overflow f16, "
        f"{total.underflow} below 2^{F16_LOW}, slope {steepest:.3f} (target {SLOPE}); "
        f"{time.perf_counter() - start:.0f} s; {path}"
    )


if __name__ == "__main__":
    main()
