"""Trains three small models with every optimiser in every precision, beside f32: `python -m experiments optimisers`.

    python -m experiments optimisers --document                                # everything; two hours on one core
    python -m experiments optimisers --optimisers=adam,lion --models=images --out=few.json

Optimisers are optax's, those of optax.contrib and some that are written by hand; models a regression with large units
(flax.nnx), convolutions (flax.linen) and a recurrence (jax). Rows, noise, tolerance and the file of results are
those of `python -m experiments zoo`.
"""

import pathlib
from typing import Any

import click

from experiments.chosen import chosen
from experiments.zoo import trained, write_into_document
from experiments.zoo_report import cell, count_runs, final_loss
from experiments.zoo_run import ROWS as ALL_ROWS

_ROOT = pathlib.Path(__file__).resolve().parents[1]
MODELS = ("regression", "images", "recurrence")
ROWS = ("f32", "noise", "fp16", "fp16-state", "fp8", "fp8-fp16-state")


@click.command("optimisers", help=__doc__)
@click.option("--optimisers", "names", default="", help="[default: all]")
@click.option("--models", default=",".join(MODELS), callback=chosen(MODELS), help="[default: all]")
@click.option("--rows", default=",".join(ROWS), callback=chosen(ROWS), help="[default: all]")
@click.option("--seeds", default="0", show_default=True, help="Of weights and batches.")
@click.option("--steps", default=50, show_default=True)
@click.option("--limit", default=600.0, show_default=True, help="Seconds for a row of a model, all seeds.")
@click.option(
    "--out", type=click.Path(path_type=pathlib.Path), default=_ROOT / "experiments" / "results" / "optimisers.json"
)
@click.option("--fresh", is_flag=True, help="Repeat what the file has.")
@click.option("--document", is_flag=True, help="Write the table into docs/experiments.md.")
def main(
    names: str,
    models: list[str],
    rows: list[str],
    seeds: str,
    steps: int,
    limit: float,
    out: pathlib.Path,
    fresh: bool,
    document: bool,
) -> None:
    from benchmarks.models.tasks.optimisers import OPTIMISERS  # needs optax, which reading a file of results does not

    optimisers = chosen(OPTIMISERS)(None, None, names) or list(OPTIMISERS)
    tasks = [f"{model}/{optimiser}" for model in models for optimiser in optimisers]
    record = trained(tasks, rows, seeds.split(","), steps, limit, out, fresh=fresh)
    text = f"{table(record, list(OPTIMISERS))}\n\n{summary(record)}"
    click.echo(f"\n{text}")
    if document:
        write_into_document("optimisers", text)


def table(record: dict[str, Any], optimisers: list[str]) -> str:
    """One line for each optimiser; in each cell the models one after another, as in the zoo's table."""
    titles = [ALL_ROWS[row].title for row in ROWS]
    lines = [f"| optimiser | {' | '.join(titles)} |", "|:-|" + ":-|" * len(titles)]
    for optimiser in optimisers:
        runs = [record["runs"].get(f"{model}/{optimiser}", {}) for model in MODELS]
        if any(runs):
            cells = [" ".join(_shown(each, row) for each in runs) for row in ROWS]
            lines.append(f"| `{optimiser}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _shown(runs: dict[str, Any], row: str) -> str:
    if row != "f32":
        return cell(runs, row).replace("NaN, ", "NaN,") or "?"
    losses = [loss for seed in runs.get("f32", {}) if (loss := final_loss(runs, "f32", seed)) is not None]
    return f"{sum(losses) / len(losses):.3f}" if losses else "?"


def summary(record: dict[str, Any]) -> str:
    """How many runs of each model are within tolerance; what was refused or failed."""
    lines = ["| model | runs | within tolerance | within twice that | not finite | refused | other failures |"]
    lines.append("|:-|-:|-:|-:|-:|-:|-:|")
    failures: list[str] = []
    for model in MODELS:
        counts = dict.fromkeys(("runs", "right", "near", "not finite", "refused", "other"), 0)
        for task, runs in record["runs"].items():
            if not task.startswith(f"{model}/"):
                continue
            count_runs(runs, counts)
            failures += [
                f"- `{task}` ({row}): {each['failure']['kind']}: {each['failure']['message'][:200]}"
                for row, seeds in runs.items()
                for each in seeds.values()
                if each["failure"] and "message" in each["failure"]
            ]
        if counts["runs"]:
            lines.append(f"| {model} | {' | '.join(str(count) for count in counts.values())} |")
    return "\n".join([*lines, *(["", "What failed otherwise:", "", *failures] if failures else [])])
