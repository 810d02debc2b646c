"""Does a narrow type move the best learning rate, and does what it loses grow while the rate falls to zero?

    python -m experiments rates --document            # GPT-2 at the small size; half an hour on one core
    python -m experiments rates --model=llama --rows=f32,compiler-3 --rates=1e-3,1e-2 --out=few.json

Trains rows at several learning rates: the rate stays at its peak after the warm-up and falls linearly to zero over the
last fifth of the steps (`--cooldown`). Results are written after every run, and what the file has is not repeated.
"""

import dataclasses
import pathlib
from typing import Any

import click
import numpy as np
from scalify_hlo.tools.command_line import flags_of

from examples import text
from experiments.chosen import chosen
from experiments.recipes import RECIPES
from experiments.report import failure_text
from experiments.runs import Texts, record_of, train_missing
from experiments.train import FINAL, Settings
from experiments.zoo import write_into_document

_ROOT = pathlib.Path(__file__).resolve().parents[1]
ROWS = ("f32", "bf16", "compiler-1", "compiler-3", "compiler-4")
RATES = "5e-4,1e-3,2e-3,4e-3,8e-3,1.6e-2"


def numbers(_context: Any, _parameter: Any, value: str) -> list[float]:
    """A callback for an option with numbers between commas; raises BadParameter for what is none."""
    try:
        return [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"'{value}' is not a comma-separated list of numbers") from None


@click.command("rates", help=__doc__)
@click.option("--model", type=click.Choice(["gpt2", "llama"]), default="gpt2", show_default=True)
@click.option("--rows", default=",".join(ROWS), callback=chosen(RECIPES, "row"), show_default=True)
@click.option("--rates", "peaks", default=RATES, callback=numbers, show_default=True, help="Learning rates.")
@click.option("--seed", default=0, show_default=True)
@flags_of(Settings, "settings")
@click.option("--text", "text_path", type=click.Path(path_type=pathlib.Path, exists=True), help="See examples/text.py.")
@click.option("--out", type=click.Path(path_type=pathlib.Path), help="[default: experiments/results/rates_MODEL.json]")
@click.option("--fresh", is_flag=True, help="Repeat every run.")
@click.option("--document", is_flag=True, help="Write the tables into docs/experiments.md.")
def main(
    model: Any,
    rows: list[str],
    peaks: list[float],
    seed: int,
    settings: Settings,
    text_path: pathlib.Path | None,
    out: pathlib.Path | None,
    fresh: bool,
    document: bool,
) -> None:
    out = out or _ROOT / "experiments" / "results" / f"rates_{model}.json"
    texts = Texts(text.load(text_path, "train"), text.load(text_path, "valid"))
    record = sweep(out, model, settings, rows, peaks, seed, texts, fresh=fresh)
    found = tables(record)
    click.echo(f"\n{found}")
    if document:
        write_into_document(f"rates of {model}", found)


def sweep(
    out: pathlib.Path,
    model: Any,
    settings: Settings,
    rows: list[str],
    peaks: list[float],
    seed: int,
    texts: Texts,
    *,
    fresh: bool = False,
) -> dict[str, Any]:
    """The record of `out` with the runs that it lacked. The peak rate of `settings` is not used; without a cooldown
    there it is a fifth of the steps."""
    settings = dataclasses.replace(settings, peak_rate=0.0, cooldown=settings.cooldown or settings.steps // 5)
    record = record_of(out, model, settings, texts, fresh=fresh)
    for peak in peaks:
        runs = record["runs"].setdefault(f"{peak:g}", {})
        each = dataclasses.replace(settings, peak_rate=peak)
        train_missing(record, runs, each, rows, seed, texts, out, diagnose=False)
    return record


def tables(record: dict[str, Any]) -> str:
    """The final loss of each row at each rate, each row's best in bold; and the distances from f32 before the cooldown
    and at its end."""
    runs = {rate: record["runs"][rate] for rate in sorted(record["runs"], key=float)}
    rows = [row for row in RECIPES if any(row in each for each in runs.values())]
    header = f"| row | {' | '.join(runs)} |\n|:-|{'-:|' * len(runs)}"
    lines = [header]
    for row in rows:
        losses = {rate: _final(each, row) for rate, each in runs.items()}
        best = min((loss for loss in losses.values() if loss is not None), default=None)
        cells = [_shown(runs[rate], row, loss, best) for rate, loss in losses.items()]
        lines.append(f"| {RECIPES[row].title} | {' | '.join(cells)} |")
    lines += ["", f"Distance from f32, mean of {FINAL} steps, before the cooldown and at its end:", "", header]
    start = record["settings"]["steps"] - record["settings"]["cooldown"]
    for row in rows:
        if row != "f32":
            cells = [_gaps(each, row, start) for each in runs.values()]
            lines.append(f"| {RECIPES[row].title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _final(runs: dict[str, Any], row: str) -> float | None:
    return next((each["final_loss"] for each in runs.get(row, {}).values()), None)


def _shown(runs: dict[str, Any], row: str, loss: float | None, best: float | None) -> str:
    if loss is not None:
        return f"**{loss:.4f}**" if loss == best else f"{loss:.4f}"
    return "; ".join(failure_text(seed, each["failure"]) for seed, each in runs.get(row, {}).items())


def _gaps(runs: dict[str, Any], row: str, start: int) -> str:
    """Distances from f32 in the last steps before `start`, and in the last of all."""
    pair = [next((each["losses"] for each in runs.get(name, {}).values()), []) for name in (row, "f32")]
    if len(pair[0]) != len(pair[1]) or len(pair[0]) <= start:
        return ""
    difference = np.subtract(*pair)
    return f"{np.mean(difference[start - FINAL : start]):+.4f}, {np.mean(difference[-FINAL:]):+.4f}"
