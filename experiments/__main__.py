"""Trains the rows of the paper's table 3 and the usual recipes, on the same batches.

    python -m experiments gpt2                      # all rows; also: llama
    python -m experiments gpt2 --rows=f32,compiler-4 --seeds=0,1,2
    python -m experiments zoo --help                # many kinds of models, in every precision
    python -m experiments optimisers --help         # every optimiser of optax

Writes results after every run, and goes on where it was interrupted: runs that the output file already has, with the
same settings, text and versions, are not repeated. Losses are in nats per byte, training loss is the mean of the last
20 steps.
"""

import dataclasses
import pathlib
import sys
from typing import Any

import click
from scalify_hlo.tools.command_line import flags_of

from benchmarks.records import comparable, environment, read_json, write_json
from examples import text
from experiments import optimisers, zoo
from experiments.chosen import chosen
from experiments.recipes import RECIPES
from experiments.report import picture, table
from experiments.train import Settings, run

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
    corpus, held_out = text.load(text_path, "train"), text.load(text_path, "valid")
    tokens = settings.steps * settings.batch * settings.context
    click.echo(f"trained on: {corpus.description}; {tokens:,} tokens, {tokens / len(corpus.tokens):.2f} epochs")
    click.echo(f"evaluated on: {held_out.description}")
    record: dict[str, Any] = {
        "model": model,
        "settings": dataclasses.asdict(settings),
        "text": corpus.description,
        "held_out_text": held_out.description,
        "tokens": tokens,
        "environment": environment(),
        "runs": {},
    }
    earlier = None if fresh else read_json(out)
    keys = ("model", "settings", "text")
    if earlier and comparable(earlier, keys) == comparable(record, keys):
        record["runs"] = earlier["runs"]
    for row in rows:
        for seed in seeds:
            found = record["runs"].setdefault(row, {})
            if str(seed) not in found:
                found[str(seed)] = run(settings, model, row, seed, corpus, held_out, diagnose=diagnose)
                write_json(out, record)
    click.echo(f"\n{table(record)}\n")
    if "f32" in record["runs"]:
        picture(record, picture_path)
        click.echo(f"written to {out} and {picture_path}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["zoo"]:
        zoo.main(sys.argv[2:], prog_name="python -m experiments zoo")
    if sys.argv[1:2] == ["optimisers"]:
        optimisers.main(sys.argv[2:], prog_name="python -m experiments optimisers")
    main()
