"""How far the data of long loops get from unit size in f16, under each choice of rounding and constant splitting.

For each loop (moving averages, RNNs, Newton iterations, repeated maxima, ...) and each set of options, the rewritten
loop runs for 1 to 10,000 iterations on XLA:CPU: as one program with a while ("loop"), and as a program of one
iteration that is called again with its own (data, scale) results ("steps", at most 1,000). Columns: log2 of the root
mean square of the data, of their largest element and of the scale at the last count, how far the RMS ever was from 1,
and the error against f64 beside that of the original program in f16 at scale 1 (both relative to the largest element).

    python -m benchmarks.loop_drift [--loops ema,rnn] [--out FILE]
"""

import dataclasses
import pathlib
from collections.abc import Iterator
from typing import Any

import click

from benchmarks.loops import LOOPS, Loop, Sample, measure, measure_steps
from benchmarks.records import RESULTS, environment, write_json
from scalify_hlo.options import ScalifyOptions

_MOST_STEPS = 1_000
COUNTS = (1, 10, 100, 1_000, 10_000)
# Paper, section 3.4: constants are split with a mantissa in [1, 2), 0.9 = 1.8 * 2^-1; by default 0.9 stays 0.9 * 2^0.
VARIANTS = {
    "default, down": ScalifyOptions(),
    "default, nearest": ScalifyOptions(rounding="nearest"),
    "paper, down": ScalifyOptions(rules="paper"),
    "paper, nearest": ScalifyOptions(rules="paper", rounding="nearest"),
}
_COLUMNS = ("loop", "form", "options", "iterations", "rms", "largest", "scale", "furthest rms", "error", "f16's own")


@dataclasses.dataclass(frozen=True)
class Row:
    """One loop under one set of options."""

    loop: str
    form: str  # "loop" or "steps"
    options: str
    samples: tuple[Sample, ...]

    @property
    def furthest(self) -> float:
        """The largest distance of log2 RMS from 0, with its sign."""
        return max((sample.log2_rms for sample in self.samples), key=abs)


def rows(loops: list[Loop]) -> Iterator[Row]:
    """Measure every loop under every variant."""
    for loop in loops:
        counts = [count for count in COUNTS if count <= loop.iterations]
        for name, options in VARIANTS.items():
            yield Row(loop.name, "loop", name, tuple(measure(loop, counts, options=options)))
            few = [count for count in counts if count <= _MOST_STEPS]
            yield Row(loop.name, "steps", name, tuple(measure_steps(loop, few, options=options)))


def line(row: Row) -> str:
    """One line of a Markdown table: the last sample, and the furthest."""
    last = row.samples[-1]
    cells = (
        row.loop, row.form, row.options, f"{last.iterations:,}", f"{last.log2_rms:.1f}", f"{last.log2_largest:.1f}",
        f"{last.log2_scale:.0f}", f"{row.furthest:.1f}", f"{last.error:.1e}", f"{last.noise:.1e}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _chosen(_context: Any, _parameter: Any, value: str) -> list[Loop]:
    names = [name for name in value.split(",") if name]
    known = {loop.name: loop for loop in LOOPS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(f"no loop is called {', '.join(unknown)}; the loops are {', '.join(known)}")
    return [known[name] for name in names] or list(LOOPS)


@click.command(help=__doc__)
@click.option("--loops", callback=_chosen, default="", help="Names, separated by commas.  [default: all]")
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=RESULTS / "loop_drift.json")
def main(loops: list[Loop], out: pathlib.Path) -> None:
    print(f"| {' | '.join(_COLUMNS)} |\n|{'|'.join('-:' for _ in _COLUMNS)}|")
    measured: list[Row] = []
    for row in rows(loops):
        print(line(row), flush=True)
        measured.append(row)
    record = {"counts": COUNTS, "environment": environment(), "rows": [dataclasses.asdict(row) for row in measured]}
    write_json(out, record)
    print(f"written to {out}")


if __name__ == "__main__":
    main()
