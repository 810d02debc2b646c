"""Trains the rows of the paper's table 3 and the usual recipes, on the same batches.

    python -m experiments gpt2                      # all rows; also: llama
    python -m experiments gpt2 --rows=f32,compiler-4 --seeds=0,1,2
    python -m experiments rates --help              # several learning rates
    python -m experiments overnight                 # both models at width 256, 2,000 steps, three seeds; and rates
    python -m experiments zoo --help                # many kinds of models, in every precision
    python -m experiments optimisers --help         # every optimiser of optax

Writes results after every run, and goes on where it was interrupted: runs that the output file already has, with the
same settings, text and versions, are not repeated. Losses are in nats per byte, training loss is the mean of the last
20 steps.
"""

import pathlib
import sys
from typing import Any

import click
from scalify_hlo.tools.command_line import flags_of

from examples import text
from experiments import optimisers, overnight, rates, zoo
from experiments.chosen import chosen
from experiments.recipes import RECIPES
from experiments.report import picture, table
from experiments.runs import Texts, record_of, train_missing
from experiments.train import Settings

_ROOT = pathlib.Path(__file__).resolve().parents[1]


def _numbers(_context: Any, _parameter: Any, value: str) -> list[int]:
    try:
        return [int(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"'{value}' is not a comma-separated list of integers") from None


@click.command("experiments", help=__doc__)
@click.argument("model", type=click.Choice(["gpt2", "llama"]))
@click.option(
    "--rows", default=",".join(RECIPES), callback=chosen(RECIPES, "row"), help="Rows to train.  [default: all]"
)
@click.option("--seeds", default="0", show_default=True, callback=_numbers, help="Of the weights and of the batches.")
@flags_of(Settings, "settings")
@click.option("--text", "text_path", type=click.Path(path_type=pathlib.Path, exists=True), help="See examples/text.py.")
@click.option("--out", type=click.Path(path_type=pathlib.Path), help="JSON file.  [default: experiments/results/MODEL]")
@click.option("--picture", "picture_path", type=click.Path(path_type=pathlib.Path), help="[default: docs/MODEL.svg]")
@click.option(
    "--diagnose/--no-diagnose",
    default=True,
    help="Find the tensors that break where a run does, which takes minutes.  [default: diagnose]",
)
@click.option("--fresh", is_flag=True, help="Repeat every run.")
def main(
    model: Any,
    rows: list[str],
    seeds: list[int],
    settings: Settings,
    text_path: pathlib.Path | None,
    out: pathlib.Path | None,
    picture_path: pathlib.Path | None,
    diagnose: bool,
    fresh: bool,
) -> None:
    out = out or _ROOT / "experiments" / "results" / f"{model}.json"
    picture_path = picture_path or _ROOT / "docs" / f"experiments_{model}.svg"
    texts = Texts(text.load(text_path, "train"), text.load(text_path, "valid"))
    record = record_of(out, model, settings, texts, fresh=fresh)
    share = record["tokens"] / len(texts.corpus.tokens)
    click.echo(f"trained on: {texts.corpus.description}; {record['tokens']:,} tokens, {share:.2f} epochs")
    click.echo(f"evaluated on: {texts.held_out.description}")
    for row in rows:
        for seed in seeds:
            train_missing(record, record["runs"], settings, [row], seed, texts, out, diagnose=diagnose)
    click.echo(f"\n{table(record)}\n")
    if "f32" in record["runs"]:
        picture(record, picture_path)
        click.echo(f"written to {out} and {picture_path}")


if __name__ == "__main__":
    others = {"zoo": zoo.main, "optimisers": optimisers.main, "rates": rates.main, "overnight": overnight.main}
    other = others.get(sys.argv[1]) if len(sys.argv) > 1 else None
    if other is not None:
        other(sys.argv[2:], prog_name=f"python -m experiments {sys.argv[1]}")
    main(prog_name="python -m experiments")
