"""The zoo's results as a Markdown table, and how many of the runs are as near to f32 as they should be."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.models.tasks import TASKS
from experiments.zoo_run import ROWS

# A run is right when its final loss differs from f32's by at most the largest of these: in the loss's units (nats, or a
# share of what predicting the mean would have), a share of f32's own loss, and so many times the noise.
ABSOLUTE, RELATIVE, NOISES = 0.01, 0.01, 3
_JUDGED = [name for name, row in ROWS.items() if row.precision is not None]


def tolerance(runs: dict[str, Any], seed: str) -> float | None:
    """How far the final loss of a task may be from f32's on the same seed; None without a f32 run.

    The noise is the largest over the seeds.
    """
    reference = final_loss(runs, "f32", seed)
    if reference is None:
        return None
    noise = max((found for found in (_noise(runs, s) for s in runs["f32"]) if found is not None), default=0.0)
    return max(ABSOLUTE, RELATIVE * abs(reference), NOISES * noise)


def _noise(runs: dict[str, Any], seed: str) -> float | None:
    """The root mean square of how far f32 comes out when it starts from weights that are changed a little."""
    run, reference = runs.get("noise", {}).get(seed), final_loss(runs, "f32", seed)
    if not run or run["failure"] or reference is None:
        return None
    ends: list[float] = run.get("final_losses", [run["final_loss"]])
    return math.sqrt(sum((end - reference) ** 2 for end in ends) / len(ends))


def table(record: dict[str, Any]) -> str:
    """One line for each task: f32's final loss, then of each row the distance from it, averaged over the seeds.

    Bold: outside of the tolerance. A step number: of the first loss that is not finite.
    """
    titles = [row.title for name, row in ROWS.items() if name != "f32"]
    lines = [f"| task | library, optimiser | f32 | {' | '.join(titles)} |", "|:-|:-|-:|" + "-:|" * len(titles)]
    for name, task in TASKS.items():
        runs = record["runs"].get(name)
        if not runs:
            continue
        losses = [loss for seed in runs.get("f32", {}) if (loss := final_loss(runs, "f32", seed)) is not None]
        cells = [cell(runs, row) for row in ROWS if row != "f32"]
        title = f"{task.title} (`{name}`{', held out' if task.held_out else ''})"
        f32 = f"{np.mean(losses):.3f}" if losses else "-"
        lines.append(f"| {title} | {task.library}, {task.optimiser} | {f32} | {' | '.join(cells)} |")
    return "\n".join(lines)


def summary(record: dict[str, Any]) -> str:
    """How many runs of the presets are right, of all tasks and of those held out, and the other runs' failures."""
    lines = ["| tasks | runs | within tolerance | within twice that | not finite | refused | other failures |"]
    lines.append("|:-|-:|-:|-:|-:|-:|-:|")
    for title, wanted in (("tuned on", False), ("held out", True)):
        counts = dict.fromkeys(("runs", "right", "near", "not finite", "refused", "other"), 0)
        for name, runs in record["runs"].items():
            if TASKS[name].held_out is wanted:
                count_runs(runs, counts)
        if counts["runs"]:
            lines.append(f"| {title} | {' | '.join(str(count) for count in counts.values())} |")
    messages = sorted(_messages(record))
    if messages:
        lines += ["", "What was refused or failed otherwise:", "", *(f"- {message}" for message in messages)]
    return "\n".join(lines)


def by_row(record: dict[str, Any]) -> str:
    """How many runs of each row are right, those of plain casts and of the usual FP8 recipe among them."""
    lines = ["| row | runs | within tolerance | within twice that | not finite | refused, or another failure |"]
    lines.append("|:-|-:|-:|-:|-:|-:|")
    for name, row in ROWS.items():
        if name == "f32" or row.noise:
            continue
        counts = dict.fromkeys(("runs", "right", "near", "not finite", "refused", "other"), 0)
        for runs in record["runs"].values():
            count_runs(runs, counts, (name,))
        failed = counts.pop("refused") + counts.pop("other")
        if counts["runs"]:
            lines.append(f"| {row.title} | {' | '.join(str(count) for count in (*counts.values(), failed))} |")
    return "\n".join(lines)


def count_runs(runs: dict[str, Any], counts: dict[str, int], rows: Sequence[str] = _JUDGED) -> None:
    """Adds a task's runs of some rows to the counts, by how near to f32 they are or what they failed with."""
    for row in rows:
        for seed, run in runs.get(row, {}).items():
            counts["runs"] += 1
            if run["failure"]:
                kind = run["failure"]["kind"]
                counts[kind if kind in counts else "other"] += 1
                continue
            distance, allowed = gap(runs, row, seed), tolerance(runs, seed)
            if distance is not None and allowed is not None:
                counts["right"] += abs(distance) <= allowed
                counts["near"] += abs(distance) <= 2 * allowed


def _messages(record: dict[str, Any]) -> set[str]:
    found: dict[tuple[str, str], set[str]] = {}
    for name, runs in record["runs"].items():
        for row, seeds in runs.items():
            for run in seeds.values():
                if run["failure"] and "message" in run["failure"]:
                    message = f"{run['failure']['kind']}: {run['failure']['message']}"
                    found.setdefault((name, message), set()).add(row)
    return {
        f"`{name}` ({', '.join(row for row in ROWS if row in rows)}): {message[:300]}"
        for (name, message), rows in found.items()
    }


def cell(runs: dict[str, Any], row: str) -> str:
    """A row of a task for a table: its distance from f32 or its failure, bold if out of tolerance; "" if not run."""
    seeds = runs.get(row)
    if not seeds:
        return ""
    failures = [run["failure"] for run in seeds.values() if run["failure"]]
    if failures:
        worst = min(failures, key=lambda f: f.get("step", 0))
        if worst["kind"] == "not finite":
            return f"**NaN, {worst['step']}**"
        return f"**{worst['kind']}**"
    if row == "noise":
        noises = [found for found in (_noise(runs, seed) for seed in seeds) if found is not None]
        return f"{max(noises):.3f}" if noises else ""
    gaps = {seed: gap(runs, row, seed) for seed in seeds}
    known = [distance for distance in gaps.values() if distance is not None]
    if not known:
        return f"({np.mean([run['final_loss'] for run in seeds.values()]):.3f})"
    text = f"{np.mean(known):+.3f}"
    limits = {seed: tolerance(runs, seed) for seed in seeds}
    bad = any(distance is not None and abs(distance) > (limits[seed] or 0) for seed, distance in gaps.items())
    return f"**{text}**" if bad else text


def final_loss(runs: dict[str, Any], row: str, seed: str) -> float | None:
    """The mean of a run's last losses; None where it failed or was not run."""
    run = runs.get(row, {}).get(seed)
    return run["final_loss"] if run else None


def gap(runs: dict[str, Any], row: str, seed: str) -> float | None:
    """A row's final loss minus f32's on the same seed; None where one of them has none."""
    loss, reference = final_loss(runs, row, seed), final_loss(runs, "f32", seed)
    return None if loss is None or reference is None else loss - reference
