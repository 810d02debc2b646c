"""The experiments at a size that convinces: both models at width 256, 4 layers, 2,000 steps, three seeds, all rows.

    python -m experiments overnight --document

The learning rate falls to zero over the last 400 steps. After the first seed of both models their learning rates are
swept, then come the other seeds. Every run is written when it ends, with tables and curves of what there is so far, and
the same command goes on where it was stopped. About 45 hours of CPU time: a run takes 20 to 40 minutes of a core.
`--models`, `--rows` and `--seeds` choose less.
"""

import pathlib
from typing import Any

import click

from examples import text
from experiments import rates
from experiments.chosen import chosen
from experiments.recipes import RECIPES
from experiments.report import TITLES, picture, table
from experiments.runs import Texts, record_of, train_missing
from experiments.train import Settings
from experiments.zoo import write_into_document

_ROOT = pathlib.Path(__file__).resolve().parents[1]
SETTINGS = Settings(
    layers=4, width=256, heads=4, groups=2, steps=2000, warm_up=100, cooldown=400, evaluation_batches=64
)


@click.command("overnight", help=__doc__)
@click.option("--models", default=",".join(TITLES), callback=chosen(TITLES, "model"), show_default=True)
@click.option("--rows", default=",".join(RECIPES), callback=chosen(RECIPES, "row"), help="[default: all]")
@click.option("--seeds", default="0,1,2", show_default=True, callback=rates.numbers)
@click.option("--rates", "peaks", default="5e-4,1e-3,2e-3,4e-3", show_default=True, callback=rates.numbers)
@click.option("--steps", default=SETTINGS.steps, show_default=True, help="Fewer to try the command out.")
@click.option("--width", default=SETTINGS.width, show_default=True)
@click.option("--layers", default=SETTINGS.layers, show_default=True)
@click.option("--text", "text_path", type=click.Path(path_type=pathlib.Path, exists=True), help="See examples/text.py.")
@click.option(
    "--folder",
    type=click.Path(path_type=pathlib.Path),
    help="For results and curves.  [default: experiments/results and docs]",
)
@click.option("--document", is_flag=True, help="Write tables into docs/experiments.md after every run.")
def main(
    models: list[Any],
    rows: list[str],
    seeds: list[float],
    peaks: list[float],
    steps: int,
    width: int,
    layers: int,
    text_path: pathlib.Path | None,
    folder: pathlib.Path | None,
    document: bool,
) -> None:
    results, docs = (folder, folder) if folder else (_ROOT / "experiments" / "results", _ROOT / "docs")
    share = steps / SETTINGS.steps
    settings = Settings(
        layers, width, SETTINGS.heads, SETTINGS.groups, steps=steps, warm_up=max(round(SETTINGS.warm_up * share), 1),
        cooldown=round(SETTINGS.cooldown * share), evaluation_batches=SETTINGS.evaluation_batches,
    )  # fmt: skip
    texts = Texts(text.load(text_path, "train"), text.load(text_path, "valid"))
    files = {model: results / f"overnight_{model}.json" for model in models}
    sweeps = {model: results / f"overnight_rates_{model}.json" for model in models}
    records = {model: record_of(files[model], model, settings, texts, fresh=False) for model in models}
    swept: dict[str, Any] = {}

    def written() -> None:
        parts: list[str] = []
        for model, record in records.items():
            if "f32" not in record["runs"]:
                continue
            curves = docs / f"experiments_overnight_{model}.svg"
            picture(record, curves)
            parts += [f"### {TITLES[model]}, {size(settings)}", table(record), f"![loss curves]({curves.name})"]
            if model in swept:
                parts += ["Learning rates:", rates.tables(swept[model])]
        if document:
            write_into_document("overnight", "\n\n".join(parts))

    for i, seed in enumerate(map(int, seeds)):
        for model in models:
            record = records[model]
            train_missing(record, record["runs"], settings, rows, seed, texts, files[model], after_each=written)
        for model in models if i == 0 else []:
            some = [row for row in rates.ROWS if row in rows]
            swept[model] = rates.sweep(sweeps[model], model, settings, some, peaks, seed, texts)
            written()
    for model, record in records.items():
        click.echo(f"\n{TITLES[model]}, {size(settings)}\n\n{table(record)}")


def size(settings: Settings) -> str:
    """The sizes of a table's title."""
    return (
        f"{settings.layers} layers of width {settings.width}, {settings.steps:,} steps, "
        f"the rate falls to zero over the last {settings.cooldown:,}"
    )
