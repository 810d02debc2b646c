"""Trains tasks of many kinds in every precision, beside f32: `python -m experiments zoo`.

    python -m experiments zoo                                     # everything; hours on one core
    python -m experiments zoo --tasks=vae,flow --rows=f32,fp8 --steps=60 --out=few.json

Rows are f32; f32 with weights changed by 5e-4 ("noise": what a run may differ by for no reason); all floats cast to f16
or bf16 and nothing else done; f32 with linear products by the usual FP8 recipe (values in E4M3, gradients in E5M2, each
scaled by its largest magnitude); and the presets of `scalify(step, precision=...)`. Every task x row x seed starts from
the same weights and sees the same batches. Results are written after every run, and what the file has is not repeated
(`--fresh` repeats the rows that are asked for). The final loss is the mean of the last 20 steps.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import click

from benchmarks.models.tasks import TASKS
from benchmarks.records import environment, read_json, write_json
from experiments.chosen import chosen
from experiments.zoo_report import by_row, summary, table
from experiments.zoo_run import ROWS

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_DOCUMENT = _ROOT / "docs" / "experiments.md"


@click.command("zoo", help=__doc__)
@click.option("--tasks", default=",".join(TASKS), callback=chosen(TASKS), help="[default: all]")
@click.option("--rows", default=",".join(ROWS), callback=chosen(ROWS), help="[default: all]")
@click.option("--seeds", default="0,1", show_default=True, help="Of weights and batches.")
@click.option("--steps", default=200, show_default=True)
@click.option("--limit", default=600.0, show_default=True, help="Seconds for a row of a task, all seeds.")
@click.option("--out", type=click.Path(path_type=pathlib.Path), default=_ROOT / "experiments" / "results" / "zoo.json")
@click.option("--fresh", is_flag=True, help="Repeat what the file has.")
@click.option("--document", is_flag=True, help="Write the table into docs/experiments.md.")
def main(
    tasks: list[str],
    rows: list[str],
    seeds: str,
    steps: int,
    limit: float,
    out: pathlib.Path,
    fresh: bool,
    document: bool,
) -> None:
    record = trained(tasks, rows, seeds.split(","), steps, limit, out, fresh=fresh)
    text = f"{table(record)}\n\n{by_row(record)}\n\n{summary(record)}"
    click.echo(f"\n{text}")
    if document:
        write_into_document("zoo", text)


def trained(
    tasks: Iterable[str], rows: list[str], seeds: list[str], steps: int, limit: float, out: pathlib.Path, *, fresh: bool
) -> dict[str, Any]:
    """The record of a file of results, with the rows of the tasks that it has not, or all if `fresh`, trained.

    It is written after each run. Raises click.UsageError if the file is of runs of another length.
    """
    record: dict[str, Any] = {"steps": steps, "environment": environment(), "runs": {}}
    earlier = read_json(out)
    if earlier:
        if earlier["steps"] != steps:
            raise click.UsageError(f"{out} has runs of {earlier['steps']} steps, not {steps}; give another --out")
        record["runs"] = earlier["runs"]
    for task in tasks:
        found = record["runs"].setdefault(task, {})
        missing = [row for row in rows if fresh or any(seed not in found.get(row, {}) for seed in seeds)]
        for result in run(task, missing, seeds, steps, limit):
            click.echo(f"{task}: {result}", err=True)
            found.setdefault(result.pop("row"), {})[str(result.pop("seed"))] = result
            write_json(out, record)
    return record


def write_into_document(name: str, text: str) -> None:
    """Put a text between the marks of a name in docs/experiments.md."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = _DOCUMENT.read_text().split(begin)
    _, after = rest.split(end)
    _DOCUMENT.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")


def run(task: str, rows: list[str], seeds: list[str], steps: int, limit: float) -> Iterator[dict[str, Any]]:
    """The results of rows of a task from all seeds, as they come. They are trained in another process, and where that
    dies or takes longer than `limit` seconds for a row, this is the result of the row, and the next process goes on."""
    # Products are so small here that more threads only wait for each other.
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false"
    variables = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    left = list(rows)
    while left:
        command = [sys.executable, "-m", "experiments.zoo_run", task, ",".join(left), f"--seeds={','.join(seeds)}"]
        command += [f"--steps={steps}", f"--limit={limit}"]
        row, done = left[0], set[str]()
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(command, cwd=_ROOT, env=variables, stdout=subprocess.PIPE, stderr=errors, text=True) as p,
        ):
            assert p.stdout is not None
            for line in p.stdout:
                if line.startswith("{"):
                    result = json.loads(line)
                    row, done = result["row"], (done if result["row"] == row else set()) | {str(result["seed"])}
                    if done == set(seeds):
                        left.remove(row)
                        row, done = (left or [""])[0], set()
                    yield result
            status = p.wait()
            errors.seek(0)
            reason = errors.read()
        if not left:
            return
        kind = "timeout" if "Timeout (" in reason else "crash"
        message = f"{limit} s" if kind == "timeout" else f"exit status {status}: {_last_line(reason)}"
        for seed in sorted(set(seeds) - done):
            failure = {"kind": kind, "message": message}
            yield {"row": row, "seed": int(seed), "first_loss": None, "final_loss": None, "failure": failure}
        left.remove(row)


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""
